// This file decides that addresses in use never move: while machines are on a
// network, it keeps what its plan in force says of addresses, whatever is said of
// them since, and who says it is told. It never holds back anything else.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// withPinned is in, with the addresses of last, the plan in force, for the networks
// in use whose CIDR or own addresses would change. Each change is a problem, and
// takes effect when no VM is on the network.
func (in input) withPinned(last Plan) (input, Problems) {
	var problems Problems
	out := in
	out.Networks = slices.Clone(in.Networks)
	for i, s := range out.Networks {
		if s.CIDR.IsValid() && !s.CIDR.Contains(s.Gateway) && last.hasInUse(s.Gateway, in.InUse) {
			// It was said for a network that says nothing of its CIDR any more.
			out.Networks[i].Gateway, s.Gateway = netip.Addr{}, netip.Addr{}
		}
		at := slices.IndexFunc(last.Networks, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
		if at < 0 || !slices.Contains(in.InUse, last.Networks[at].Name) {
			continue
		}
		n := last.Networks[at]
		held := n.byRole()
		would, ps := allocate(s, len(n.Edges))
		if s.CIDR.IsValid() && s.CIDR.Masked() == n.CIDR && slices.Equal(would.byRole(), held) || len(held) != 4 {
			continue
		}
		problems = append(problems, n.stays(s, would, ps))
		out.Networks[i] = n.pin(s, held)
	}
	return out, problems
}

// hasInUse says whether a lies in a network of p that is in use.
func (p Plan) hasInUse(a netip.Addr, inUse []string) bool {
	return slices.ContainsFunc(p.Networks, func(n Network) bool { return slices.Contains(inUse, n.Name) && n.CIDR.Contains(a) })
}

// pin is s with n's addresses, of which held are our own.
func (n Network) pin(s NetworkRequest, held []netip.Addr) NetworkRequest {
	s.CIDR = n.CIDR
	s.Settings.EdgeAddresses = held
	switch router, stays := n.DHCP.Router, n.Primary && s.Primary; {
	case stays && router != n.NextHop:
		s.Gateway = router
	case stays || !inside(n.CIDR, s.Gateway) || slices.Contains(held, s.Gateway):
		s.Gateway = netip.Addr{}
	}
	s.Settings.DHCPRange, s.Settings.DHCPExclude, s.Settings.Reservations = n.DHCP.Range, n.DHCP.Exclude, n.DHCP.Reservations
	return s
}

// stays says that n keeps its addresses, and what s would make of them.
func (n Network) stays(s NetworkRequest, would addresses, ps Problems) Problem {
	p := Problem{Reason: AddressConflict, Field: s.CIDRField}
	var wish, back string
	switch {
	case !s.CIDR.IsValid():
		wish, back = "nobody says its CIDR any more", fmt.Sprintf("say %s again", n.CIDR)
	case s.CIDR.Masked() != n.CIDR:
		wish, back = fmt.Sprintf("its CIDR would become %s", s.CIDR), fmt.Sprintf("say %s again", n.CIDR)
	case ps.Blocking():
		p.Field = cmp.Or(ps[0].Field, fieldEdgeAddresses)
		wish, back = "what is said now can't be served ("+strings.TrimSuffix(ps[0].Detail, ".")+")", "say what was said"
	default:
		p.Field = fieldEdgeAddresses
		wish, back = fmt.Sprintf("they would become %s", inOrder(would.byRole())), fmt.Sprintf("set %s to %s", fieldEdgeAddresses, inOrder(n.byRole()))
	}
	p.Detail = fmt.Sprintf("machines are on network %s, so its addresses stay: our own %s in %s, and what it gives out. Otherwise %s: that comes once no machine is on the network. To keep what is there, %s (%s).",
		n.Attachment, inOrder(n.byRole()), n.CIDR, wish, back, p.Field)
	return p
}

// byRole are n's own addresses as edge-addresses lists them: next hop, service
// address, and those of the edges by number.
func (n Network) byRole() []netip.Addr {
	return addresses{nextHop: n.NextHop, service: n.ServiceAddress, edges: n.Edges, reserved: n.ReservedAddresses}.byRole()
}

func (a addresses) byRole() []netip.Addr {
	out := []netip.Addr{a.nextHop, a.service}
	for _, e := range a.edges {
		out = append(out, e.Address)
	}
	return append(out, a.reserved...)
}

func inOrder(all []netip.Addr) string {
	var out []string
	for _, a := range all {
		out = append(out, a.String())
	}
	return strings.Join(out, ",")
}
