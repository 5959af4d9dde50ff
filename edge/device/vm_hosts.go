// This file decides whether a host that accepts a connection is the VM that holds the lease on its address, from the kernel's
// neighbor table. Another VM may have configured the address, too.

package device

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
)

// errOtherHost is why a connection to a VM is not used.
var errOtherHost = errors.New("another host has the address of the VM")

// VMHosts are the hosts on one interface. Make it with NewVMHosts. It is safe for concurrent use.
type VMHosts struct {
	holds func(address netip.Addr, mac string) bool

	mu    sync.Mutex
	meter *Meter
}

// NewVMHosts reads the neighbor table of the named interface, in the network namespace of the calling thread. Holds reports whether
// the VM that holds the lease on an address has a MAC, in lower case with colons.
func NewVMHosts(name string, holds func(address netip.Addr, mac string) bool) (*VMHosts, error) {
	m, err := OpenMeter(name)
	if err != nil {
		return nil, err
	}
	return &VMHosts{holds: holds, meter: m}, nil
}

// Check returns nil if the VM that holds the lease on a has the MAC to which the kernel sends packets for a. A VM may have several
// MACs. It is for an address that has just accepted a connection: the kernel knows its MAC. Hosts that forge the MAC pass, too, unless
// the network checks it.
func (h *VMHosts) Check(a netip.Addr) error {
	h.mu.Lock()
	all, err := h.meter.Neighbors()
	h.mu.Unlock()
	if err != nil {
		return fmt.Errorf("the neighbor table cannot be read: %w", err)
	}
	for _, n := range all {
		if n.Address == a && h.holds(a, n.MAC) {
			return nil
		}
	}
	return errOtherHost
}
