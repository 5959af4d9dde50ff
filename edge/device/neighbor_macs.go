// This file finds the MACs of the hosts that send to an edge. It never waits: the kernel's neighbor table is read in the
// background.

package device

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
)

const (
	// The neighbor table is read at most every macsEvery while addresses are missing in it. Without missing addresses, it
	// is read every macsFor.
	macsEvery, macsFor = time.Second, 10 * time.Second
	// keptFor is how long a MAC is known after it left the kernel's table. A VM can fill that table: it has 1,024 entries
	// for all pods of a node. kept limits the number of addresses that left the table and are still known (about 1 MiB),
	// and keptOfOne those of one MAC.
	keptFor         = 10 * time.Minute
	kept, keptOfOne = 8192, 8
)

// NeighborMACs are the MACs of the hosts on one interface. It is safe for concurrent use.
type NeighborMACs struct {
	meter *Meter
	vms   func(mac string) bool
	table atomic.Pointer[map[netip.Addr]neighborMAC]
	// wanted has a value if the table must be read.
	wanted chan struct{}
}

// A neighborMAC is what is known about one address.
type neighborMAC struct {
	mac string
	// since is when the address got this MAC, seen when the kernel last had it.
	since, seen time.Time
	// present: the kernel had it at the last reading.
	present bool
}

// NewNeighborMACs returns the NeighborMACs of the named interface, in the network namespace of the calling thread.
// vms reports whether a VM with a lease has a MAC. Such MACs are forgotten last. If vms is nil, no VM is known.
func NewNeighborMACs(name string, vms func(mac string) bool) (*NeighborMACs, error) {
	m, err := OpenMeter(name)
	if err != nil {
		return nil, err
	}
	if vms == nil {
		vms = func(string) bool { return false }
	}
	n := &NeighborMACs{meter: m, vms: vms, wanted: make(chan struct{}, 1)}
	n.table.Store(&map[netip.Addr]neighborMAC{})
	n.read()
	return n, nil
}

// MACOf returns the MAC of the host that has an address. Empty: not known yet. present reports whether the kernel
// has the MAC now. Otherwise the kernel had it within the last ten minutes, and asks for it again before it sends
// to the address.
func (n *NeighborMACs) MACOf(a netip.Addr) (mac string, present bool) {
	x := (*n.table.Load())[a]
	if !x.present {
		select {
		case n.wanted <- struct{}{}:
		default:
		}
	}
	return x.mac, x.present
}

// Run reads the table again every macsFor, and sooner while addresses are missing in it, until ctx ends.
func (n *NeighborMACs) Run(ctx context.Context) {
	defer n.meter.Close()
	old := time.NewTicker(macsFor)
	defer old.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-old.C:
		case <-n.wanted:
		}
		n.read()
		signal.Sleep(ctx, macsEvery)
	}
}

// read replaces the table. If the kernel does not answer, the previous one stays.
func (n *NeighborMACs) read() {
	if now, err := macs(n.meter); err == nil {
		table := withKept(*n.table.Load(), now, time.Now(), n.vms)
		n.table.Store(&table)
	}
}

// withKept returns the entries of parameter kernel, and those of parameter before that the kernel had within keptFor. If
// too many entries of before are left, it prefers addresses of VMs with a lease, and then the oldest. So a flood of new
// addresses does not replace them.
func withKept(before map[netip.Addr]neighborMAC, kernel map[netip.Addr]string, now time.Time, vms func(string) bool) map[netip.Addr]neighborMAC {
	out := make(map[netip.Addr]neighborMAC, max(len(before), len(kernel)))
	for a, mac := range kernel {
		x := neighborMAC{mac: mac, since: now, seen: now, present: true}
		if old := before[a]; old.mac == mac {
			x.since = old.since
		}
		out[a] = x
	}
	type gone struct {
		netip.Addr
		neighborMAC
		vm bool
	}
	var left []gone
	for a, x := range before {
		if _, ok := kernel[a]; !ok && now.Sub(x.seen) < keptFor {
			x.present = false
			left = append(left, gone{a, x, vms(x.mac)})
		}
	}
	slices.SortFunc(left, func(a, b gone) int {
		if a.vm != b.vm {
			if a.vm {
				return -1
			}
			return 1
		}
		return cmp.Or(a.since.Compare(b.since), a.Compare(b.Addr))
	})
	of := map[string]int{}
	for _, x := range left {
		if of[x.mac]++; of[x.mac] <= keptOfOne && len(out)-len(kernel) < kept {
			out[x.Addr] = x.neighborMAC
		}
	}
	return out
}

// macs returns the hosts of the neighbor table by address, without those that have not answered.
func macs(m *Meter) (map[netip.Addr]string, error) {
	all, err := m.Neighbors()
	if err != nil {
		return nil, err
	}
	out := make(map[netip.Addr]string, len(all))
	for _, x := range all {
		if x.MAC != "" {
			out[x.Address] = x.MAC
		}
	}
	return out, nil
}
