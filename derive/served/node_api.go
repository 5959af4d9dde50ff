// This file decides whether addresses of a network conflict with the address at which nodes reach the hosted API
// server: 172.20.0.1, unless spec.networking.apiServer sets another one. Each node has this address on its loopback
// interface, so nodes cannot reach another host there.

package served

import (
	"net/netip"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// checkNodeAPI returns problems if addresses of n, or held, its published addresses, conflict with api.
func checkNodeAPI(n network.Network, s network.NetworkRequest, held []netip.Addr, api netip.Addr) problem.Problems {
	var ps problem.Problems
	is := func(a netip.Addr, role string, keys ...string) {
		if a.IsValid() && a == api {
			ps = append(ps, n.Problem(problem.AddressIsNodeAPI, problem.Args{"role": {role}, "address": {a.String()}}, keys...))
		}
	}
	for _, a := range held {
		if a == api {
			ps = append(ps, problem.New(problem.PublishedIsNodeAPI, problem.Subject{}, problem.Args{"address": {a.String()}}, network.KeyPublishing))
		}
	}
	if !api.IsValid() || !n.CIDR.Contains(api) {
		return ps
	}
	for i, a := range n.HeldAddresses() {
		is(a, network.Roles()[min(i, len(network.Roles())-1)], network.KeyEdgeAddresses)
	}
	is(s.Gateway, "gateway", network.KeyGateway)
	for _, r := range s.Settings.Reservations {
		is(r.Address, "reserved address", network.KeyReservations)
	}
	if len(ps) == 0 {
		args := problem.Args{"cidr": {n.CIDR.String()}, "address": {api.String()}, "where": {s.CIDRField}}
		ps = append(ps, n.Problem(problem.CIDRHasNodeAPI, args, s.CIDRKeys...))
	}
	return ps
}
