// This file decides the upstream DNS servers of a network. A server that the user sets and that
// edges must not dial is left out, so that the rest of the network is served.

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// keyUpstreams is the annotation key that problems of this file name.
const keyUpstreams = "dns-upstreams"

// upstreams returns the upstreams of n, and a problem for each server that is left out. Without
// any server left, other names are refused.
func upstreams(n Network, s NetworkRequest, in input) (Upstreams, Problems) {
	up := Upstreams{Mode: UpstreamNone}
	if s.Gateway.IsValid() {
		up.Mode = UpstreamManagement
	}
	if s.Settings.Upstreams != nil {
		up = *s.Settings.Upstreams
	}
	var problems Problems
	servers := up.Servers
	up.Servers = slices.DeleteFunc(slices.Clone(servers), func(server netip.AddrPort) bool {
		p, refused := upstreamRefused(n, server, in)
		if refused {
			problems = append(problems, p)
		}
		return refused
	})
	if len(servers) > 0 && len(up.Servers) == 0 {
		up = Upstreams{Mode: UpstreamNone}
	}
	for _, server := range up.Servers {
		i := slices.IndexFunc(in.VMAddresses, func(v VMAddress) bool { return v.Address == server.Addr() && v.Network == s.Attachment.NetworkName() })
		if i >= 0 {
			args := Args{"server": server.String(), "vm": in.VMAddresses[i].VM}
			problems = append(problems, n.problem(UpstreamIsVM, args, keyUpstreams))
		}
	}
	far := without(up.Servers, func(server netip.AddrPort) bool { return n.Reach().FromEdge(server.Addr()) != ThroughPods })
	if len(far) > 0 && s.Gateway.IsValid() {
		var names []string
		for _, server := range far {
			names = append(names, server.String())
		}
		args := Args{"servers": strings.Join(names, ", "), "gateway": s.Gateway.String()}
		problems = append(problems, n.problem(UpstreamsNotByGateway, args, keyUpstreams))
	}
	return up, problems
}

// upstreamRefused returns the problem of an upstream server that edges of n must not dial. One on
// the network itself, or behind its gateway, is the user's, so that no permission is needed.
func upstreamRefused(n Network, server netip.AddrPort, in input) (Problem, bool) {
	a, args := server.Addr(), Args{"server": server.String()}
	permitted := anyContains(in.Permissions.Destinations, a)
	block, special := SpecialBlock(a)
	reserved := slices.IndexFunc(in.Reserved, func(r ReservedDestination) bool { return r.Prefix.Contains(a) })
	way := n.Reach().FromEdge(a)
	switch {
	case !isDNSPort(server.Port()):
		return n.problem(UpstreamPortRefused, args, keyUpstreams), true
	case special:
		args["other"] = block.String()
		return n.problem(UpstreamIsSpecial, args, keyUpstreams), true
	case way == Unreachable:
		args["cidr"] = n.CIDR.String()
		return n.problem(UpstreamUnreachable, args, keyUpstreams), true
	case way == OnNetwork || way == ThroughGateway:
		return Problem{}, false
	case reserved >= 0 && !permitted:
		r := in.Reserved[reserved]
		args["other"] = fmt.Sprintf("%s (%s)", r.What, place(r.Prefix))
		return n.problem(UpstreamInManagement, args, keyUpstreams), true
	case !in.Permissions.Upstream(a):
		return n.problem(UpstreamNotPermitted, args, keyUpstreams), true
	}
	return Problem{}, false
}
