// This file decides which addresses of a network are probed before its first edge starts, and from which address.
// report.go and peer.go evaluate the answers.

package reported

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// ProbeAddress returns the source address of the probes, since a host cannot probe its own: the last edge address, even
// of an edge that does not run. It returns the zero Addr if n has no edges.
func ProbeAddress(n network.Network) netip.Addr {
	all := n.EdgeAddresses()
	if len(all) == 0 {
		return netip.Addr{}
	}
	return all[len(all)-1]
}

// ProbedAddresses returns the next-hop VIP, the service VIP and the edge addresses, except ProbeAddress. Published
// addresses are outside n's CIDR. Another host, such as a load balancer, may have them until edges answer.
func ProbedAddresses(n network.Network) []netip.Addr {
	return slices.DeleteFunc(n.HeldAddresses(), func(a netip.Addr) bool { return a == ProbeAddress(n) })
}

// SharedByOthers returns the entries of ts with a shared address and a MAC that no edge has, sorted, without
// duplicates. ts must also have the answers for Controls, to leave out hosts with proxy ARP.
func SharedByOthers(n network.Network, ts []UsedAddress, edgeMACs []string) []UsedAddress {
	shared, all := n.SharedAddresses(), answersForAll(n, ts)
	return slices.DeleteFunc(sortedInUse(ts), func(t UsedAddress) bool {
		return !slices.Contains(shared, t.Address) || slices.Contains(edgeMACs, t.MAC) || slices.Contains(all, t.MAC)
	})
}
