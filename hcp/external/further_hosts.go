// This file finds hosts that nodes might need for images, and that no object names. A registry may redirect to them, or
// a network plugin that users install may have images there. The problems are hints: their severity is Info.

package external

import (
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// furtherHosts returns hints about hosts that nodes might need for images. It returns none if the user set
// allowed-hosts. Parameter own says what nodes reach without external hosts, parameter all what they reach with them.
func furtherHosts(o objects.Objects, s settings.Values, registries []string, own, all reach.Set) problem.Problems {
	if s.AllowedHosts != nil && (s.AllowedHosts.None || len(s.AllowedHosts.Hosts) > 0) {
		return nil
	}
	carried := func(registry string) bool { return !own.Reaches(registry) && all.Directly(registry) }
	// Nodes that reach a registry through a proxy also reach further hosts.
	onlyTLS := func(registry string) bool {
		return !own.Proxied(registry) && all.Directly(registry) && !all.Directly(imageref.PlainHTTP+registry)
	}
	var ps problem.Problems
	hint := func(c problem.Cause, hosts []string, keys ...string) {
		if len(hosts) > 0 {
			ps = append(ps, problem.New(c, problem.Subject{}, problem.Args{"hosts": hosts}, keys...))
		}
	}
	hint(problem.RegistryMayRedirect, unknownOf(registries, carried), network.KeyAllowedHosts)
	hint(problem.RegistryMayLackTLS, insecureOf(o.HostedCluster, registries, onlyTLS), network.KeyAllowedHosts, "spec.configuration.image.registrySources")
	if t := o.HostedCluster.Spec.Networking.NetworkType; (t == hyperv1.Calico || t == hyperv1.Other) && !own.ProxiesOthers() {
		ps = append(ps, problem.New(problem.NetworkPluginMayNameOthers, problem.Subject{}, problem.Args{"type": {string(t)}}, network.KeyAllowedHosts, "spec.networking.networkType"))
	}
	return ps
}

// insecureOf returns the registries, sorted, that nodes may dial over plain HTTP (insecureRegistries in OpenShift's
// config/v1/types_image.go), although edges forward only TLS to them.
func insecureOf(hc *hyperv1.HostedCluster, registries []string, onlyTLS func(string) bool) []string {
	c := hc.Spec.Configuration
	if c == nil || c.Image == nil {
		return nil
	}
	insecure := func(r string) bool {
		return onlyTLS(r) && slices.ContainsFunc(c.Image.RegistrySources.InsecureRegistries, func(scope string) bool { return imageref.Covers(scope, r) || imageref.Dialed(scope) == r })
	}
	out := network.Without(registries, func(r string) bool { return !insecure(r) })
	slices.Sort(out)
	return out
}

// unknownOf returns the registries that nodes reach and that may redirect to unknown hosts. The result is sorted,
// without duplicates.
func unknownOf(registries []string, reached func(string) bool) []string {
	var out []string
	for _, r := range registries {
		if h, _ := byServerName(r); reached(r) && len(imageref.Redirects(h.Host)) == 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}

// registriesThroughProxy returns a problem for the first network without a gateway if nodes ask the HTTP proxy for
// registries that have their names from edges: records of the user, or published Services.
func registriesThroughProxy(in network.Request, registries []string, own reach.Set) problem.Problems {
	hosts := network.Without(registries, func(at string) bool { return !own.Proxied(at) || !own.Recorded(at) && !own.Published(at) })
	for i, at := range hosts {
		hosts[i], _ = reach.HostPort(at)
	}
	if len(hosts) == 0 {
		return nil
	}
	i := slices.IndexFunc(in.Networks, reach.IsIsolated)
	return problem.Problems{in.Networks[i].Attachment.Problem(problem.RegistryThroughProxy, problem.Args{"hosts": hosts}, "spec.configuration.proxy.noProxy")}
}
