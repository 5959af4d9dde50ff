// This file asks the kernel where it sends a packet.

package device

import (
	"net/netip"
)

// NextHop returns the router through which the kernel sends to an IPv4 address, and whether that is a host on the interface. No
// router and true: the address is on its link.
func (c *Clients) NextHop(a netip.Addr) (via netip.Addr, leads bool) {
	l, err := c.kernel.LinkByName(c.name)
	if err != nil {
		return via, false
	}
	all, err := c.kernel.RouteGet(a.AsSlice())
	if err != nil || len(all) != 1 {
		return via, false
	}
	via, _ = netip.AddrFromSlice(all[0].Gw.To4())
	return via, all[0].LinkIndex == l.Attrs().Index
}
