// This file decides that addresses in use never change. While VMs are on a network, it keeps its addresses and its
// layer-2 network (pinned_nad.go), and a changed setting is a problem. All other changes take effect.

package derive

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// keepInUse returns a copy of in. In it, networks in use have the NADs and the addresses of last, the plan in force. A
// change that this prevents is a problem, and takes effect when no VM is on the network.
func keepInUse(in served.Input, last network.Plan) (served.Input, problem.Problems) {
	var problems problem.Problems
	var pinned []network.Attachment
	var booted []string
	out := in
	out.Networks = slices.Clone(in.Networks)
	for i, s := range out.Networks {
		if s.CIDR.IsValid() && leftBy(in, last, s) {
			out.Networks[i].Gateway, s.Gateway = netip.Addr{}, netip.Addr{}
		}
		at := slices.IndexFunc(last.Networks, func(n network.Network) bool { return n.Name == s.Attachment.NetworkName() })
		if at < 0 || !slices.Contains(in.InUse, last.Networks[at].Name) {
			continue
		}
		n := last.Networks[at]
		if changedFrom(s.Attachment, n.Attachment) {
			problems = append(problems, pinnedProblem(n.Attachment, s.Attachment))
			s.Attachment, out.Networks[i].Attachment = n.Attachment, n.Attachment
			pinned = append(pinned, n.Attachment)
		}
		if keepsRole(in, n, s) {
			args := problem.Args{"nodePools": slices.Sorted(slices.Values(s.NodePools))}
			problems = append(problems, n.Problem(problem.PinnedRole, args, network.FieldAdditionalNetworks))
			booted = append(booted, n.Name)
			continue
		}
		held := n.HeldAddresses()
		would, ps := served.Allocate(s, len(n.Edges))
		if s.CIDR.IsValid() && s.CIDR.Masked() == n.CIDR && slices.Equal(would.ByRole(), held) || len(held) != 4 {
			continue
		}
		problems = append(problems, pinnedProblems(n, s, would, ps)...)
		out.Networks[i] = pin(n, s, held)
	}
	out.Networks = slices.DeleteFunc(out.Networks, func(s network.NetworkRequest) bool { return slices.Contains(booted, s.Attachment.NetworkName()) })
	out, doubles := without(out, pinned)
	return out, append(problems, doubles...)
}

// leftBy reports whether the gateway of s belongs to another network in use: it is the router of that network, and no
// requested CIDR contains it. A mistyped gateway belongs to none.
func leftBy(in served.Input, last network.Plan, s network.NetworkRequest) bool {
	contains := func(x network.NetworkRequest) bool { return x.CIDR.IsValid() && x.CIDR.Contains(s.Gateway) }
	return !slices.ContainsFunc(in.Networks, contains) && slices.ContainsFunc(last.Networks, func(n network.Network) bool {
		return n.Name != s.Attachment.NetworkName() && n.DHCP.Router == s.Gateway && slices.Contains(in.InUse, n.Name)
	})
}

func pin(n network.Network, s network.NetworkRequest, held []netip.Addr) network.NetworkRequest {
	s.CIDR = n.CIDR
	s.Settings.EdgeAddresses = held
	switch router, stays := n.DHCP.Router, n.Primary && s.Primary; {
	case stays && router != n.NextHopVIP:
		s.Gateway = router
	case stays || !network.Inside(n.CIDR, s.Gateway) || slices.Contains(held, s.Gateway):
		s.Gateway = netip.Addr{}
	}
	s.Settings.DHCPRange, s.Settings.DHCPExclude, s.Settings.Reservations = n.DHCP.Range, n.DHCP.Exclude, n.DHCP.Reservations
	return s
}

// pinnedProblems returns the problem that n keeps its addresses although s requests others. problems are about the
// requested addresses.
func pinnedProblems(n network.Network, s network.NetworkRequest, would served.Addresses, problems problem.Problems) problem.Problems {
	addresses := network.InOrder(n.HeldAddresses())
	args := problem.Args{"cidr": {n.CIDR.String()}, "addresses": {addresses}, "where": {s.CIDRField}}
	switch {
	case !s.CIDR.IsValid():
		return problem.Problems{n.Problem(problem.PinnedCIDRRemoved, args, s.CIDRKeys...)}
	case s.CIDR.Masked() != n.CIDR:
		args["wanted"] = []string{s.CIDR.String()}
		return problem.Problems{n.Problem(problem.PinnedCIDRChanged, args, s.CIDRKeys...)}
	case problems.Blocking():
		p := n.Problem(problem.PinnedSettingsRefused, problem.Args{"cidr": {n.CIDR.String()}, "addresses": {addresses}}, problems[0].Keys...)
		return append(problem.Problems{p}, problems.NotBlocking()...)
	}
	return problem.Problems{n.Problem(problem.PinnedAddressesChanged, problem.Args{"addresses": {addresses}, "wanted": {network.InOrder(would.ByRole())}}, network.KeyEdgeAddresses)}
}
