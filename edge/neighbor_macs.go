// This file knows the MACs of the hosts that send to an edge, from the kernel's neighbor table. It waits for nothing:
// the table is read in the background.

package edge

import (
	"context"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge/device"
)

const (
	// macsEvery is how often the neighbor table is read while addresses are not in it, at most. macsFor is how old
	// a reading may become.
	macsEvery, macsFor = time.Second, 10 * time.Second
)

// NeighborMACs are the MACs of the hosts on one interface. Make it with NewNeighborMACs. It is safe for concurrent
// use.
type NeighborMACs struct {
	meter *device.Meter
	table atomic.Pointer[map[netip.Addr]string]
	// wanted has a value if the table must be read.
	wanted chan struct{}
}

// NewNeighborMACs reads the table of the named interface, in the network namespace of the calling thread.
func NewNeighborMACs(name string) (*NeighborMACs, error) {
	m, err := device.OpenMeter(name)
	if err != nil {
		return nil, err
	}
	n := &NeighborMACs{meter: m, wanted: make(chan struct{}, 1)}
	n.table.Store(&map[netip.Addr]string{})
	n.read()
	return n, nil
}

// MACOf returns the MAC that the kernel has for an address. Empty: none, or it became known a moment ago.
func (n *NeighborMACs) MACOf(a netip.Addr) string {
	mac := (*n.table.Load())[a]
	if mac == "" {
		select {
		case n.wanted <- struct{}{}:
		default:
		}
	}
	return mac
}

// Run reads the table again when it must, until ctx ends.
func (n *NeighborMACs) Run(ctx context.Context) {
	defer n.meter.Close()
	old := time.NewTicker(macsFor)
	defer old.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-old.C:
		case <-n.wanted:
		}
		n.read()
		select {
		case <-ctx.Done():
			return
		case <-time.After(macsEvery):
		}
	}
}

// read replaces the table. If the kernel does not answer, the former one stays.
func (n *NeighborMACs) read() {
	if table, err := macs(n.meter); err == nil {
		n.table.Store(&table)
	}
}

// macs returns the hosts of the neighbor table by address, without those that have not answered.
func macs(m *device.Meter) (map[netip.Addr]string, error) {
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
