// This file shows that nothing forwards packets of the network to a host of the management cluster. Only a packet that
// a VM would send, and that a router receives, proves something.

package trial

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"syscall"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// isolated tries to reach a host that VMs must not reach, through the router that they use.
func (w tool) isolated(ctx context.Context, a netip.AddrPort, n network.Network) network.TrialResult {
	return network.TrialResult{Name: "no way to " + a.String(), Problems: w.reaches(ctx, a, n)}
}

func (w tool) reaches(ctx context.Context, a netip.AddrPort, n network.Network) problem.Problems {
	via, leads := w.kernel.NextHop(a.Addr())
	switch of := n.NextHop(a.Addr()); {
	case !leads || !via.IsValid() && of.IsValid():
		return elsewhere(a.Addr())
	case via != of:
		return found(problem.PathDiffers, problem.Args{"address": {a.Addr().String()}, "router": {of.String()}, "other": {via.String()}})
	}
	ctx, cancel := context.WithTimeout(ctx, isolatedAfter)
	defer cancel()
	c, err := w.dialer.DialContext(ctx, "tcp4", a.String())
	switch {
	case err == nil:
		_ = c.Close()
		return found(problem.HostReached, nil)
	case errors.Is(err, syscall.ECONNREFUSED) && slices.Contains(n.PublishedAddresses, a.Addr()):
		return nil // The edge refuses it: the address is its own on this network.
	case errors.Is(err, syscall.ECONNREFUSED):
		return found(problem.HostRefuses, nil)
	case via.IsValid() && w.kernel.MACOf(via) == "":
		return found(problem.RouterUnanswered, problem.Args{"router": {via.String()}})
	}
	return nil
}

// elsewhere returns the problem that the pod reaches an address through another interface.
func elsewhere(a netip.Addr) problem.Problems {
	return found(problem.PathElsewhere, problem.Args{"address": {a.String()}})
}
