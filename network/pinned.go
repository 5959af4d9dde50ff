// This file decides that addresses in use never change. While VMs are on a network, it
// keeps the addresses and the layer-2 network (pinned_nad.go) of the plan in force, and a
// changed setting is a problem. All other changes take effect.

package network

import (
	"net/netip"
	"slices"
	"strings"
)

// keepInUse is in, with the NADs and the addresses of last, the plan in force, for the
// networks in use where they would change. Each change is a problem, and takes effect
// when no VM is on the network.
func (in input) keepInUse(last Plan) (input, Problems) {
	var problems Problems
	var pinned []Attachment
	var booted []string
	out := in
	out.Networks = slices.Clone(in.Networks)
	for i, s := range out.Networks {
		if s.CIDR.IsValid() && in.leftBy(last, s) {
			out.Networks[i].Gateway, s.Gateway = netip.Addr{}, netip.Addr{}
		}
		at := slices.IndexFunc(last.Networks, func(n Network) bool { return n.Name == s.Attachment.NetworkName() })
		if at < 0 || !slices.Contains(in.InUse, last.Networks[at].Name) {
			continue
		}
		n := last.Networks[at]
		if s.Attachment.changedFrom(n.Attachment) {
			problems = append(problems, n.Attachment.pinnedProblem(s.Attachment))
			s.Attachment, out.Networks[i].Attachment = n.Attachment, n.Attachment
			pinned = append(pinned, n.Attachment)
		}
		if in.keepsRole(n, s) {
			problems = append(problems, n.pinnedRole(s))
			booted = append(booted, n.Name)
			continue
		}
		held := n.byRole()
		would, ps := allocate(s, len(n.Edges))
		if s.CIDR.IsValid() && s.CIDR.Masked() == n.CIDR && slices.Equal(would.byRole(), held) || len(held) != 4 {
			continue
		}
		problems = append(problems, n.pinnedProblems(s, would, ps)...)
		out.Networks[i] = n.pin(s, held)
	}
	out.Networks = slices.DeleteFunc(out.Networks, func(s NetworkRequest) bool { return slices.Contains(booted, s.Attachment.NetworkName()) })
	out, doubles := out.without(pinned)
	return out, append(problems, doubles...)
}

// leftBy reports whether the gateway of s is the router of another network in use whose CIDR is
// no longer requested: a gateway of the HostedCluster that no requested CIDR contains. A gateway
// that was mistyped is not one.
func (in input) leftBy(last Plan, s NetworkRequest) bool {
	contains := func(x NetworkRequest) bool { return x.CIDR.IsValid() && x.CIDR.Contains(s.Gateway) }
	return !slices.ContainsFunc(in.Networks, contains) && slices.ContainsFunc(last.Networks, func(n Network) bool {
		return n.Name != s.Attachment.NetworkName() && n.DHCP.Router == s.Gateway && slices.Contains(in.InUse, n.Name)
	})
}

// pin is s with n's addresses. held are those of n's edges, in the order of
// edge-addresses.
func (n Network) pin(s NetworkRequest, held []netip.Addr) NetworkRequest {
	s.CIDR = n.CIDR
	s.Settings.EdgeAddresses = held
	switch router, stays := n.DHCP.Router, n.Primary && s.Primary; {
	case stays && router != n.NextHopVIP:
		s.Gateway = router
	case stays || !inside(n.CIDR, s.Gateway) || slices.Contains(held, s.Gateway):
		s.Gateway = netip.Addr{}
	}
	s.Settings.DHCPRange, s.Settings.DHCPExclude, s.Settings.Reservations = n.DHCP.Range, n.DHCP.Exclude, n.DHCP.Reservations
	return s
}

// pinnedProblems returns the problem that n keeps its addresses, though s requests
// others. problems are those of the requested addresses.
func (n Network) pinnedProblems(s NetworkRequest, would addresses, problems Problems) Problems {
	addresses := inOrder(n.byRole())
	args := Args{"cidr": n.CIDR.String(), "addresses": addresses, "where": s.CIDRField}
	switch {
	case !s.CIDR.IsValid():
		return Problems{n.problem(PinnedCIDRRemoved, args, s.CIDRKeys...)}
	case s.CIDR.Masked() != n.CIDR:
		args["wanted"] = s.CIDR.String()
		return Problems{n.problem(PinnedCIDRChanged, args, s.CIDRKeys...)}
	case problems.Blocking():
		p := n.problem(PinnedSettingsRefused, Args{"cidr": n.CIDR.String(), "addresses": addresses}, problems[0].Keys...)
		return append(Problems{p}, problems.NotBlocking()...)
	}
	return Problems{n.problem(PinnedAddressesChanged, Args{"addresses": addresses, "wanted": inOrder(would.byRole())}, keyEdgeAddresses)}
}

// byRole are n's edge addresses in the order of edge-addresses: the next-hop VIP, the
// service VIP, and those of the edges by number.
func (n Network) byRole() []netip.Addr {
	return addresses{nextHopVIP: n.NextHopVIP, serviceVIP: n.ServiceVIP, edges: n.Edges, reserved: n.ReservedAddresses}.byRole()
}

func (a addresses) byRole() []netip.Addr {
	out := []netip.Addr{a.nextHopVIP, a.serviceVIP}
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
