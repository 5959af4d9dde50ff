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

// Steady is in, with what last, the plan in force, has of addresses for the
// networks in use (by name) whose CIDR or own addresses would be others now. What
// would come is said, and comes once no machine is on the network.
func (in Intent) Steady(last Plan, inUse map[string]bool) (Intent, Problems) {
	var problems Problems
	out := in
	out.Segments = slices.Clone(in.Segments)
	for i, s := range out.Segments {
		if s.CIDR.IsValid() && !s.CIDR.Contains(s.Gateway) && last.hasInUse(s.Gateway, inUse) {
			// It was said for a network that says nothing of its CIDR any more.
			out.Segments[i].Gateway, s.Gateway = netip.Addr{}, netip.Addr{}
		}
		at := slices.IndexFunc(last.Networks, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
		if at < 0 || !inUse[last.Networks[at].Name] {
			continue
		}
		n := last.Networks[at]
		held := n.byRole()
		would, ps := allocate(s, len(n.Edges))
		if s.CIDR.IsValid() && s.CIDR.Masked() == n.CIDR && slices.Equal(would.byRole(), held) || len(held) != 4 {
			continue
		}
		problems = append(problems, n.stays(s, would, ps))
		out.Segments[i] = n.steadies(s, held)
	}
	return out, problems
}

// hasInUse says whether a lies in a network of p that is in use.
func (p Plan) hasInUse(a netip.Addr, inUse map[string]bool) bool {
	return slices.ContainsFunc(p.Networks, func(n Network) bool { return inUse[n.Name] && n.CIDR.Contains(a) })
}

// steadies is s with n's addresses, of which held are our own.
func (n Network) steadies(s Segment, held []netip.Addr) Segment {
	s.CIDR = n.CIDR
	s.Settings.EdgeAddresses = held
	switch router := n.DHCP.Router; {
	case n.Primary && router != n.NextHop:
		s.Gateway = router
	case n.Primary || !inside(n.CIDR, s.Gateway) || slices.Contains(held, s.Gateway):
		s.Gateway = netip.Addr{}
	}
	s.Settings.DHCPRange, s.Settings.DHCPExclude, s.Settings.Reservations = n.DHCP.Range, n.DHCP.Exclude, n.DHCP.Reservations
	return s
}

// stays says that n keeps its addresses, and what s would make of them.
func (n Network) stays(s Segment, would addresses, ps Problems) Problem {
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
