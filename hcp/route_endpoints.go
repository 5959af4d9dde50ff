// This file decides which further passthrough Routes VMs can reach.

package hcp

import (
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"

	"github.com/cldmnky/oooi/network"
)

// routeEndpoints adds the passthrough Routes that belong to no published service.
// HyperShift might add such Routes.
func routeEndpoints(o Objects, r *reachable) {
	byName := func(a, b routev1.Route) int { return strings.Compare(a.Name, b.Name) }
	for _, route := range slices.SortedFunc(slices.Values(o.Routes), byName) {
		known := slices.ContainsFunc(r.endpoints, func(e network.Endpoint) bool {
			return e.Name == route.Name || slices.Contains(e.Hosts, route.Spec.Host)
		})
		if known || !forVMs(route) {
			continue
		}
		e := endpointAt(route.Spec.Host, 443, network.MatchServerName)
		e.Name = route.Name
		if len(e.Hosts) == 0 {
			r.add(e, problem(network.RouteHostIsAddress, network.Subject{Kind: "Route", Name: route.Name}, network.Args{"route": route.Name, "address": route.Spec.Host}))
			continue
		}
		b, problem := backend(o, route.Spec.To.Name, route.Spec.Port)
		e.Backend = b
		r.add(e, problem)
	}
}

// forVMs reports whether VMs can use r: a passthrough Route for one exact host. It is
// false for HyperShift's internal Routes, and for the Routes of published services.
func forVMs(r routev1.Route) bool {
	if r.Spec.Host == "" || r.Spec.TLS == nil || r.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
		return false
	}
	if r.Spec.WildcardPolicy == routev1.WildcardPolicySubdomain || r.Labels["hypershift.openshift.io/internal-route"] == "true" {
		return false
	}
	return !slices.Contains([]string{"kube-apiserver", "ignition-server", "konnectivity-server", "oauth"}, r.Name)
}
