// This file decides whether a host that accepts a connection is the VM that holds the lease on its address, from the kernel's
// neighbor table. Another VM may have configured the address, too.

package edge

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/cldmnky/oooi/edge/device"
)

// errOtherHost is why a connection to a VM is not used.
var errOtherHost = errors.New("another host has the address of the VM")

// VMHosts are the hosts on one interface. Make it with NewVMHosts. It is safe for concurrent use.
type VMHosts struct {
	names *LeaseNames

	mu    sync.Mutex
	meter *device.Meter
}

// NewVMHosts reads the neighbor table of the named interface, in the network namespace of the calling thread.
func NewVMHosts(name string, names *LeaseNames) (*VMHosts, error) {
	m, err := device.OpenMeter(name)
	if err != nil {
		return nil, err
	}
	return &VMHosts{names: names, meter: m}, nil
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
	vm := h.names.VMAt(a)
	for _, n := range all {
		if n.Address == a && h.names.vmHasMAC(vm, n.MAC) {
			return nil
		}
	}
	return errOtherHost
}
