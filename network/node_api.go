// This file decides whether addresses of a network conflict with the one at which nodes reach
// the hosted API server: 172.20.0.1, unless spec.networking.apiServer says otherwise. Each node
// has it on its loopback interface, so no other host can use it towards nodes.

package network

import "net/netip"

// checkNodeAPI returns the problems of api for n, the network of s, and held, its published addresses.
func checkNodeAPI(n Network, s NetworkRequest, held []netip.Addr, api netip.Addr) Problems {
	var ps Problems
	is := func(a netip.Addr, role string, keys ...string) {
		if a.IsValid() && a == api {
			ps = append(ps, n.problem(AddressIsNodeAPI, Args{"role": role, "address": a.String()}, keys...))
		}
	}
	for _, a := range held {
		is(a, "published address", keyPublishing)
	}
	if !api.IsValid() || !n.CIDR.Contains(api) {
		return ps
	}
	for i, a := range n.byRole() {
		is(a, roles()[min(i, len(roles())-1)], keyEdgeAddresses)
	}
	is(s.Gateway, "gateway", keyGateway)
	for _, r := range s.Settings.Reservations {
		is(r.Address, "reserved address", keyReservations)
	}
	if len(ps) == 0 {
		args := Args{"cidr": n.CIDR.String(), "address": api.String(), "where": s.CIDRField}
		ps = append(ps, n.problem(CIDRHasNodeAPI, args, s.CIDRKeys...))
	}
	return ps
}
