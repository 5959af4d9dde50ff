// This file decides which further passthrough Routes VMs can reach. Nodes do not need them, so a Route that cannot be
// served is only a hint: a problem with severity Info.

package endpoints

import (
	"cmp"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// routeEndpoints adds to r the passthrough Routes that belong to no published service. HyperShift might create such
// Routes. It also adds a hint about each served Route that has further Services.
func routeEndpoints(o objects.Objects, r *Reachable) {
	byName := func(a, b routev1.Route) int { return strings.Compare(a.Name, b.Name) }
	for _, route := range slices.SortedFunc(slices.Values(o.Routes), byName) {
		known := slices.IndexFunc(r.Endpoints, func(e network.Endpoint) bool {
			return e.Name == route.Name || slices.Contains(e.Hosts, route.Spec.Host)
		})
		if known >= 0 && r.Endpoints[known].Name == route.Name {
			r.alternates(route, r.Endpoints[known].Backend.Service)
		}
		if known < 0 && forVMs(route) {
			r.addRoute(o, route)
		}
	}
}

// addRoute adds the endpoint of route to r, or a hint that says why the endpoint is not served.
func (r *Reachable) addRoute(o objects.Objects, route routev1.Route) {
	e := endpointAt(route.Spec.Host, 443, network.MatchServerName)
	e.Name = route.Name
	if len(e.Hosts) == 0 {
		r.add(e, newProblem(problem.RouteHostIsAddress, problem.Subject{Kind: "Route", Name: route.Name}, problem.Args{"route": {route.Name}, "address": {route.Spec.Host}}))
		return
	}
	target := routeTargets(route)[0]
	b, missing := backend(o, target, route.Spec.Port)
	if missing == nil {
		e.Backend = b
		r.add(e, nil)
		r.alternates(route, target)
		return
	}
	hint := problem.RouteServiceMissing
	if missing.Cause == problem.EndpointPortMissing {
		hint = problem.RoutePortMissing
	}
	missing.Args["route"] = []string{route.Name}
	r.Problems = append(r.Problems, problem.New(hint, endpoint(e.Name), missing.Args))
	// The last known good state of the endpoint is served.
	r.Waiting = append(r.Waiting, e.Name)
}

func (r *Reachable) alternates(route routev1.Route, served string) {
	others := slices.DeleteFunc(routeTargets(route), func(s string) bool { return s == served })
	if len(others) > 0 && len(route.Spec.AlternateBackends) > 0 {
		args := problem.Args{"route": {route.Name}, "object": {"Service " + served}, "services": others}
		r.Problems = append(r.Problems, problem.New(problem.RouteAlternatesUnused, endpoint(route.Name), args))
	}
}

// routeTargets returns the Services of route that get connections, by weight, descending. If all weights are 0, it
// returns the main Service.
func routeTargets(route routev1.Route) []string {
	weight := func(t routev1.RouteTargetReference) int32 { return *cmp.Or(t.Weight, new(int32(100))) }
	all := append([]routev1.RouteTargetReference{route.Spec.To}, route.Spec.AlternateBackends...)
	all = slices.DeleteFunc(all, func(t routev1.RouteTargetReference) bool { return weight(t) <= 0 })
	slices.SortStableFunc(all, func(a, b routev1.RouteTargetReference) int { return cmp.Compare(weight(b), weight(a)) })
	var names []string
	for _, t := range all {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return []string{route.Spec.To.Name}
	}
	return names
}

// forVMs reports whether VMs can use r: it must be a passthrough Route for one exact host. HyperShift's internal
// Routes, and the Routes of published services, are excluded.
func forVMs(r routev1.Route) bool {
	if r.Spec.Host == "" || r.Spec.TLS == nil || r.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
		return false
	}
	if r.Spec.WildcardPolicy == routev1.WildcardPolicySubdomain || r.Labels["hypershift.openshift.io/internal-route"] == "true" {
		return false
	}
	return network.PublishedAt(r.Name) == network.PublishedService{}
}

// ignitionRoute returns a problem if Ignition is published by a Route that no router has admitted, or with another host
// than VMs dial. HyperShift takes the name in Ignition's certificate from the first entry in the status of the Route
// (adaptServingCertSecret in v2/ignitionserver/pki.go).
func ignitionRoute(o objects.Objects) problem.Problems {
	if strategyOf(o.HostedCluster, hyperv1.Ignition).Type != hyperv1.Route {
		return nil
	}
	i := slices.IndexFunc(o.Routes, func(r routev1.Route) bool { return r.Name == "ignition-server" && r.Spec.Host != "" })
	if i < 0 {
		return nil
	}
	args, signed := problem.Args{"object": {"Route ignition-server"}}, ""
	if all := o.Routes[i].Status.Ingress; len(all) > 0 {
		signed = all[0].Host
	}
	if signed == "" {
		return problem.Problems{problem.New(problem.IgnitionRouteNotAdmitted, endpoint("ignition-server"), args)}
	}
	dialed := endpointAt(ignitionHost(o, o.Routes[i].Spec.Host), network.PortHTTPS, network.MatchServerName).Hosts
	if len(dialed) == 0 || strings.EqualFold(dialed[0], signed) {
		return nil
	}
	args["host"], args["otherHost"] = problem.Values{signed}, dialed
	return problem.Problems{problem.New(problem.IgnitionHostDiffers, endpoint("ignition-server"), args)}
}
