// This file finds the parts of a picture without edges: hosts behind the gateway, and destinations that VMs reach
// directly. It is pure.

package picture

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

func clientsOf(n network.Network) (out []shown) {
	for _, p := range n.ClientNetworks {
		out = append(out, shown{p.String(), "behind the gateway", fmt.Sprintf("Edges answer hosts of this network through the gateway %s.", n.DHCP.Router), unknown})
	}
	return out
}

// directOf returns the addresses that VMs reach without edges: those in DNS records of n, and the gateway.
func directOf(plan network.Plan, n network.Network) (out []port) {
	add := func(name string, a netip.Addr) {
		what, why := "another host", fmt.Sprintf("DNS resolves this name to %s, which no edge has.", a)
		if slices.ContainsFunc(plan.Endpoints, func(e network.Endpoint) bool { return e.LoadBalancer == a && n.HasLoadBalancer(e) }) {
			what = "load balancer on the network"
		}
		title := a.String() + ", " + what
		i := slices.IndexFunc(out, func(p port) bool { return p.Address == title })
		if i < 0 {
			i, out = len(out), append(out, port{Address: title})
		}
		p := &out[i]
		if len(p.Paths) == 0 {
			p.Paths = []path{{Backend: shown{Name: a.String(), Why: why, State: unknown}, Direct: true}}
		}
		if !slices.Contains(p.Paths[0].Names, name) {
			p.Paths[0].Names = append(p.Paths[0].Names, name)
		}
	}
	held := n.Reach().Held
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			for _, a := range r.Addresses {
				if !slices.Contains(held, a) {
					add(r.Name, a)
				}
			}
		}
	}
	if a := n.Reach().Gateway; a.IsValid() {
		out = append(out, port{Address: a.String() + ", gateway", Paths: []path{{Names: []string{"every other address"}, Direct: true,
			Backend: shown{Name: "the gateway decides", Why: "VMs send all other packets to the gateway, which is not an edge.", State: unknown}}}})
	}
	return out
}
