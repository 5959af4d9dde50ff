// This file finds out which host has an address, through the kernel's neighbor table, with one ARP request
// for each question. It needs no privilege.

package device

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// tableInterval is how often the neighbor table is read while questions wait.
	tableInterval = 20 * time.Millisecond
	// provenFor is the age from which an entry proves nothing: the kernel keeps entries of hosts that have
	// left.
	provenFor = 2 * time.Second
	// knownFor is how old the answer of Knows may be.
	knownFor = 100 * time.Millisecond
)

// An Asker asks which hosts of a network have addresses. It is safe for concurrent use.
type Asker struct {
	device string
	from   func() netip.Addr
	meter  *Meter

	mu sync.Mutex
	// Field waiting has the questions without an answer. While there are any, one goroutine reads the table.
	waiting map[netip.Addr][]chan Neighbor
	reads   bool

	known known
}

// known holds the hosts that had a MAC in the table when it was last read.
type known struct {
	sync.Mutex
	at    time.Time
	hosts map[netip.Addr]string
}

// NewAsker returns an Asker for the named interface, in the network namespace of the calling thread. Its ARP
// requests come from an edge address of the interface, which function from returns. Requests from a VIP
// would move VMs.
func NewAsker(name string, from func() netip.Addr) (*Asker, error) {
	m, err := OpenMeter(name)
	if err != nil {
		return nil, err
	}
	return &Asker{device: name, from: from, meter: m, waiting: map[netip.Addr][]chan Neighbor{}}, nil
}

// WhoHas returns the MAC of the host that has an address. The MAC is empty if no host answered before ctx
// ended. proven is false if the kernel learned the MAC some time ago. The kernel then checks the MAC again,
// which takes up to ten seconds.
func (a *Asker) WhoHas(ctx context.Context, address netip.Addr) (mac string, proven bool, err error) {
	if err := Solicit(a.device, a.from(), address); err != nil {
		return "", false, err
	}
	answer := make(chan Neighbor, 1)
	a.mu.Lock()
	a.waiting[address] = append(a.waiting[address], answer)
	if !a.reads {
		a.reads = true
		go a.read()
	}
	a.mu.Unlock()
	select {
	case n := <-answer:
		return n.MAC, n.Confirmed < provenFor, nil
	case <-ctx.Done():
		a.leave(address, answer)
		return "", false, nil
	}
}

// Knows reports whether the kernel's table had a MAC for an address within the last knownFor. It is false
// if the table cannot be read.
func (a *Asker) Knows(address netip.Addr) bool {
	a.known.Lock()
	defer a.known.Unlock()
	if now := time.Now(); now.Sub(a.known.at) >= knownFor {
		a.known.at = now
		a.known.hosts, _ = macs(a.meter)
	}
	return a.known.hosts[address] != ""
}

// read reads the table until no question waits. If the table cannot be read, no question is answered.
func (a *Asker) read() {
	tick := time.NewTicker(tableInterval)
	defer tick.Stop()
	for ; ; <-tick.C {
		table, _ := a.meter.Neighbors()
		a.mu.Lock()
		for _, n := range table {
			if n.MAC == "" {
				continue
			}
			for _, answer := range a.waiting[n.Address] {
				answer <- n
			}
			delete(a.waiting, n.Address)
		}
		a.reads = len(a.waiting) > 0
		reads := a.reads
		a.mu.Unlock()
		if !reads {
			return
		}
	}
}

// leave ends a question without an answer.
func (a *Asker) leave(address netip.Addr, answer chan Neighbor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := slices.DeleteFunc(a.waiting[address], func(c chan Neighbor) bool { return c == answer })
	if a.waiting[address] = left; len(left) == 0 {
		delete(a.waiting, address)
	}
}
