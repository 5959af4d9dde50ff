// This file renders what a change interrupts, in one or two sentences for each network or edge.

package explain

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// NetworkRemoved returns a text about what ends with the network on attachment.
func NetworkRemoved(attachment network.Attachment) string {
	return fmt.Sprintf("Network %s is removed. Connections through its edges are closed.", attachment)
}

// NetworkChanged returns texts about what VMs notice when a network changes from state was to state will. One is about
// changed addresses and one about closed ports, if there are any.
func NetworkChanged(was, will network.Network) []string {
	var out []string
	if changes := changedAddresses(was, will); len(changes) > 0 {
		out = append(out, fmt.Sprintf("Network %s changes: %s. Connections through its edges are closed. VMs receive the new addresses when they renew their lease, within %s.",
			will.Attachment, strings.Join(changes, ", "), was.DHCP.LeaseTime/2))
	}
	if closed := closedListeners(was, will); len(closed) > 0 {
		out = append(out, fmt.Sprintf("Network %s no longer answers at %s. Connections to there are closed.", will.Attachment, strings.Join(closed, ", ")))
	}
	return out
}

// EdgeRecreated returns a text about what VMs notice while the Deployment edge is replaced. peer is the edge that takes
// over. It is empty if no other edge is available.
func EdgeRecreated(edge, peer string) string {
	if peer == "" {
		return fmt.Sprintf("Recreating edge %s, the only available edge of its network. VMs get no answer until it is ready again.", edge)
	}
	return fmt.Sprintf("Recreating edge %s. Edge %s takes over its traffic first; open connections through %s are reset once.", edge, peer, edge)
}

// EdgeRemoved returns a text about what VMs notice when the second edge of a network is removed.
func EdgeRemoved(edge string) string {
	return fmt.Sprintf("Removing edge %s, because one edge is requested. The other edge takes over its traffic first; open connections through %s are reset once.", edge, edge)
}

// RestoredEdgeRemoved returns a text about what VMs notice when an edge that a backup tool restored is removed.
func RestoredEdgeRemoved(edge string) string {
	return fmt.Sprintf("Removing edge %s, because it was restored from a backup: other hosts may have its addresses. Open connections through %s are reset.", edge, edge)
}

func changedAddresses(was, will network.Network) []string {
	var out []string
	for _, x := range []struct {
		name      string
		was, will any
	}{{"CIDR", was.CIDR, will.CIDR}, {"next-hop VIP", was.NextHopVIP, will.NextHopVIP}, {"service VIP", was.ServiceVIP, will.ServiceVIP}} {
		if x.was != x.will {
			out = append(out, fmt.Sprintf("%s %v becomes %v", x.name, x.was, x.will))
		}
	}
	return out
}

// closedListeners returns the listeners that close when a network changes from state was to state will, as
// "address:port".
func closedListeners(was, will network.Network) []string {
	var out []string
	for _, l := range was.Listeners {
		stillHeld := l.Address == was.ServiceVIP && l.Address == will.ServiceVIP || slices.Contains(will.PublishedAddresses, l.Address)
		if (stillHeld || slices.Contains(was.PublishedAddresses, l.Address)) && !slices.ContainsFunc(will.Listeners, func(x network.Listener) bool { return sameSocket(x, l) }) {
			out = append(out, l.Name())
		}
	}
	return out
}

func sameSocket(a, b network.Listener) bool {
	return netip.AddrPortFrom(a.Address, a.Port) == netip.AddrPortFrom(b.Address, b.Port)
}
