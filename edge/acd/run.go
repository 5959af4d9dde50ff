// This file runs the check: it reads the kernel's neighbor table, makes the kernel probe,
// and passes verdicts on.

package acd

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// Options of a run.
type Options struct {
	// Device is the network interface. Every socket is bound to it.
	Device string
	// Addresses returns the addresses of the device, or an error if there is no carrier.
	Addresses func() ([]netip.Addr, error)
	// Network returns the network in the plan, which may change.
	Network func() network.Network
	// Verdict gets each verdict. It must return soon.
	Verdict func(Verdict)
}

// Run checks until ctx ends.
func Run(ctx context.Context, o Options) {
	var s State
	for ctx.Err() == nil {
		n := o.Network()
		look := o.look(n)
		var do Actions
		s, do = Next(s, n, look, time.Now())
		if err := device.Solicit(o.Device, netip.Addr{}, do.Probe...); err != nil {
			s, do = Next(s, n, Look{Err: err}, time.Now())
		}
		if do.Verdict != nil {
			o.Verdict(*do.Verdict)
		}
		signal.Sleep(ctx, do.Again)
	}
}

// look reads the kernel's neighbor table, once the device has an address of n.
func (o Options) look(n network.Network) Look {
	held, err := o.Addresses()
	if err != nil {
		return Look{Err: err}
	}
	if !slices.ContainsFunc(held, n.CIDR.Contains) {
		return Look{Err: fmt.Errorf("waiting for an address of %s on interface %s", n.CIDR, o.Device)}
	}
	for _, a := range reported.ProbedAddresses(n) {
		if slices.Contains(held, a) {
			return Look{Err: fmt.Errorf("interface %s has %s already, so other hosts with this address cannot be detected", o.Device, a)}
		}
	}
	all, err := device.Neighbors(o.Device)
	table := map[netip.Addr]device.Neighbor{}
	for _, entry := range all {
		table[entry.Address] = entry
	}
	return Look{Table: table, Err: err}
}
