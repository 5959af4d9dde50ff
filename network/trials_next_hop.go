// This file decides to which router VMs send, so that what plays a VM can tell whether it does the same.

package network

import "net/netip"

// NextHop returns the router to which VMs on n send what is for a. On a network that gives VMs no route, it is the
// next-hop VIP: a VM that looks for another way finds the edges. Zero: a is on the link.
func (n Network) NextHop(a netip.Addr) netip.Addr {
	if n.CIDR.Contains(a) {
		return netip.Addr{}
	}
	via, bits := n.NextHopVIP, -1
	if n.DHCP.Router.IsValid() {
		via = n.DHCP.Router
	}
	for _, r := range n.DHCP.Routes {
		if r.Destination.Contains(a) && r.Destination.Bits() > bits {
			via, bits = r.Via, r.Destination.Bits()
		}
	}
	return via
}
