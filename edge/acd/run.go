// This file runs the check: it reads the kernel's neighbour table, sends datagrams that
// make the kernel probe, and passes verdicts on. It decides nothing.

package acd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
)

// Options of a run.
type Options struct {
	// Device is the network interface. Every socket is bound to it.
	Device string
	// Addresses of the device. It is an error where there is no carrier.
	Addresses func() ([]netip.Addr, error)
	// Network is the plan's, which may change.
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
		if err := edge.Solicit(o.Device, do.Probe...); err != nil {
			s, do = Next(s, n, Look{Err: err}, time.Now())
		}
		if do.Verdict != nil {
			o.Verdict(*do.Verdict)
		}
		timer := time.NewTimer(do.Again)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look reads what the kernel knows, once the device has an address of n.
func (o Options) look(n network.Network) Look {
	held, err := o.Addresses()
	if err != nil {
		return Look{Err: err}
	}
	if !slices.ContainsFunc(held, n.CIDR.Contains) {
		return Look{Err: fmt.Errorf("waiting for an address of %s on interface %s", n.CIDR, o.Device)}
	}
	for _, a := range n.ProbedAddresses() {
		if slices.Contains(held, a) {
			return Look{Err: fmt.Errorf("interface %s has %s already, so other hosts that have it cannot be found", o.Device, a)}
		}
	}
	table, err := neighbours(o.Device)
	return Look{Table: table, Err: err}
}

// neighbours are the kernel's entries of a device.
func neighbours(device string) (map[netip.Addr]Neighbour, error) {
	link, err := net.InterfaceByName(device)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", device, err)
	}
	all, err := netlink.NeighList(link.Index, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("neighbours of %s: %w", device, err)
	}
	const answered = netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE | netlink.NUD_PERMANENT
	out := map[netip.Addr]Neighbour{}
	for _, e := range all {
		a, ok := netip.AddrFromSlice(e.IP.To4())
		if !ok {
			continue
		}
		entry := Neighbour{Failed: e.State&netlink.NUD_FAILED != 0}
		if e.State&answered != 0 {
			entry.MAC = e.HardwareAddr.String()
		}
		out[a] = entry
	}
	return out, nil
}
