// This file decides the upstream DNS servers of a network. A server that edges must not dial is left out.

package served

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxProblems is the maximum number of problems about the entries of one list on one network.
const maxProblems = 16

// upstreams returns the upstream servers of n, and a problem for each one that is left out, up to maxProblems. If none remains, edges
// answer that other names do not exist.
func upstreams(n network.Network, s network.NetworkRequest, in Input) (network.Upstreams, problem.Problems) {
	up := network.Upstreams{Mode: network.UpstreamNone}
	if s.Gateway.IsValid() {
		up.Mode = network.UpstreamManagement
	}
	if s.Settings.Upstreams != nil {
		up = *s.Settings.Upstreams
	}
	var problems problem.Problems
	add := func(p problem.Problem) {
		if len(problems) < maxProblems {
			problems = append(problems, p)
		}
	}
	servers := up.Servers
	up.Servers = slices.DeleteFunc(slices.Clone(servers), func(server netip.AddrPort) bool {
		p, refused := upstreamRefused(n, server, in)
		if refused {
			add(p)
		}
		return refused
	})
	if len(servers) > 0 && len(up.Servers) == 0 {
		up = network.Upstreams{Mode: network.UpstreamNone}
	}
	for _, server := range up.Servers {
		i := slices.IndexFunc(in.VMAddresses, func(v network.VMAddress) bool {
			return v.Address == server.Addr() && v.Network == s.Attachment.NetworkName()
		})
		if i >= 0 {
			args := problem.Args{"server": {server.String()}, "vm": {in.VMAddresses[i].VM}}
			add(n.Problem(problem.UpstreamIsVM, args, network.KeyUpstreams))
		}
	}
	far := network.Without(up.Servers, func(server netip.AddrPort) bool { return n.Reach().FromEdge(server.Addr()) != network.ThroughPods })
	for _, server := range far {
		i := slices.IndexFunc(in.Networks, func(x network.NetworkRequest) bool { return network.Inside(x.CIDR, server.Addr()) })
		if i >= 0 {
			args := problem.Args{"server": {server.String()}, "otherNetwork": {in.Networks[i].Attachment.String()}}
			add(n.Problem(problem.UpstreamOnOtherNetwork, args, network.KeyUpstreams))
		}
	}
	if len(far) > 0 && s.Gateway.IsValid() {
		args := problem.Args{"servers": network.Texts(far), "gateway": {s.Gateway.String()}}
		problems = append(problems, n.Problem(problem.UpstreamsNotByGateway, args, network.KeyUpstreams))
	}
	return up, problems
}

// upstreamRefused returns the problem that edges of n must not dial server. A server on the network, or behind its
// gateway, belongs to the user and needs no permission.
func upstreamRefused(n network.Network, server netip.AddrPort, in Input) (problem.Problem, bool) {
	a, args := server.Addr(), problem.Args{"server": {server.String()}}
	permitted := network.AnyContains(in.Permissions.Destinations, a)
	block, special := network.SpecialBlock(a)
	reserved := slices.IndexFunc(in.Reserved, func(r network.ReservedDestination) bool { return r.Prefix.Contains(a) })
	way := n.Reach().FromEdge(a)
	switch {
	case !network.IsDNSPort(server.Port()):
		return n.Problem(problem.UpstreamPortRefused, args, network.KeyUpstreams), true
	case special:
		args["other"] = []string{block.String()}
		return n.Problem(problem.UpstreamIsSpecial, args, network.KeyUpstreams), true
	case way == network.Unreachable:
		args["cidr"] = []string{n.CIDR.String()}
		return n.Problem(problem.UpstreamUnreachable, args, network.KeyUpstreams), true
	case way == network.OnNetwork || way == network.ThroughGateway:
		return problem.Problem{}, false
	case reserved >= 0 && !permitted:
		r := in.Reserved[reserved]
		args["other"] = []string{destination(r)}
		return n.Problem(problem.UpstreamInManagement, args, network.KeyUpstreams), true
	case !in.Permissions.Upstream(a):
		return n.Problem(problem.UpstreamNotPermitted, args, network.KeyUpstreams), true
	}
	return problem.Problem{}, false
}
