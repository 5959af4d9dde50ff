// This file shows that nothing forwards packets of the network to a host of the management cluster. A packet that a VM
// would not send, or that no router takes, shows nothing.

package trial

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/cldmnky/oooi/network"
)

// isolated tries to reach a host that VMs must not reach, by the router that they use.
func (w tool) isolated(ctx context.Context, a netip.AddrPort, n network.Network) network.TrialResult {
	out := network.TrialResult{Kind: network.TrialIsolated, Name: "no way to " + a.String(), Verdict: network.TrialUnknown}
	via, leads := w.kernel.NextHop(a.Addr())
	switch of := n.NextHop(a.Addr()); {
	case !leads || !via.IsValid() && of.IsValid():
		out.Why = elsewhere(a.Addr())
		return out
	case via != of:
		out.Why = fmt.Sprintf("VMs reach %s through %s, but this pod through %s, so the path of VMs was not tried.", a.Addr(), of, via)
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, isolatedAfter)
	defer cancel()
	c, err := w.dialer.DialContext(ctx, "tcp4", a.String())
	switch {
	case err == nil:
		_ = c.Close()
		out.Verdict, out.Why = network.TrialFailure, "It is a host of the management cluster, and VMs reach it: this network is not isolated."
	case errors.Is(err, syscall.ECONNREFUSED) && slices.Contains(n.PublishedAddresses, a.Addr()):
		out.Verdict = network.TrialOK // The edge refuses it: the address is its own on this network.
	case errors.Is(err, syscall.ECONNREFUSED):
		out.Verdict, out.Why = network.TrialWarning, "The connection is refused by this host of the management cluster, or by a firewall in its place."
	case via.IsValid() && w.kernel.MACOf(via) == "":
		out.Why = fmt.Sprintf("No host answers ARP requests for the router %s, so nothing was tried.", via)
	default:
		out.Verdict = network.TrialOK
	}
	return out
}

// elsewhere tells that the pod reaches an address by another interface.
func elsewhere(a netip.Addr) string {
	return fmt.Sprintf("This pod reaches %s through another interface, so it cannot act as a VM.", a)
}
