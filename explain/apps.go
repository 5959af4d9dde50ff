// This file renders where *.apps of a hosted cluster leads on a network.

package explain

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func (v view) apps() []string {
	var out []string
	ingress := slices.DeleteFunc(slices.Clone(v.Plan.Endpoints), func(e network.Endpoint) bool { return e.Origin != network.OriginApps })
	for _, e := range ingress {
		out = append(out, v.ways(e)...)
	}
	if len(ingress) == 1 && slices.Contains(v.n.Services, network.ServiceProxy) {
		out = append(out, strings.Join(ingress[0].Hosts, ", ")+":80 -> NO. Only the HTTPS port of the ingress is published")
	}
	if p, ok := v.problem(v.unreachable(problem.AppsAddressUnreachable)); ok {
		out = append(out, no(p))
	} else if r, ok := v.appsRecord(); ok {
		out = append(out, r.Name+" -> "+network.AddressList(r.Addresses)+v.from(network.KeyAppsAddress))
	}
	if len(out) > 0 {
		return out
	}
	if p, ok := v.problem(func(x problem.Problem) bool { return x.Reason == problem.AppsUnreachable }); ok {
		if p.Cause == problem.IngressAddressUnknown {
			return []string{"resolved as other names, since oooi does not know its address"}
		}
		return []string{no(p)}
	}
	waits := func(x problem.Problem) bool {
		return x.Waits() && x.Subject == problem.Subject{Kind: "Endpoint", Name: "apps"}
	}
	if p, ok := v.problem(waits); ok {
		return []string{"NOT YET. " + Problem(p).Effect}
	}
	if v.gateway() {
		return []string{"resolved as other names, reached through the gateway"}
	}
	return nil
}

func (v view) appsRecord() (network.Record, bool) {
	for _, d := range v.views() {
		for _, r := range d.Records {
			if strings.HasPrefix(r.Name, "*.apps.") && !v.resolves(r) {
				return r, true
			}
		}
	}
	return network.Record{}, false
}

// resolves reports whether r has only one address, which derive chose and not the user: the service VIP, or the load
// balancer of r's endpoint on the network.
func (v view) resolves(r network.Record) bool {
	leadsTo := func(a netip.Addr) bool { return slices.Equal(r.Addresses, []netip.Addr{a}) }
	return leadsTo(v.n.ServiceVIP) || slices.ContainsFunc(v.Plan.Endpoints, func(e network.Endpoint) bool {
		return v.n.HasLoadBalancer(e) && leadsTo(e.LoadBalancer) && slices.Contains(e.Hosts, r.Name)
	})
}
