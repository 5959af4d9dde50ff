// This file finds hosts that nodes might need for images, and that no object names: those that
// a registry redirects to, those of images that a release consists of, and those of a network
// plugin that users install. It only gives hints.

package endpoints

import (
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// furtherHosts returns hints about hosts that nodes might need for images. A user who names
// hosts has thought of them. registries are those of the cluster, and forwarded those that
// edges forward to.
func furtherHosts(o objects.Objects, in network.Request, s settings.Values, registries []string, forwarded []network.Endpoint) problem.Problems {
	if s.AllowedHosts != nil && (s.AllowedHosts.None || len(s.AllowedHosts.Hosts) > 0) {
		return nil
	}
	carried := func(registry string) bool { return forwards(forwarded, registry) }
	// A registry that nodes do not reach has a problem of its own.
	reached := func(registry string) bool { return reaches(in, s, forwarded, registry) }
	var releases []string
	for _, image := range releaseImages(o) {
		releases = append(releases, registryOf(image))
	}
	var ps problem.Problems
	hint := func(c problem.Cause, hosts []string, keys ...string) {
		if len(hosts) > 0 {
			ps = append(ps, problem.New(c, problem.Subject{}, problem.Args{"hosts": hosts}, keys...))
		}
	}
	hint(problem.RegistryMayRedirect, unknownOf(registries, carried), network.KeyAllowedHosts)
	if !slices.ContainsFunc(o.HostedCluster.Spec.ImageContentSources, func(x hyperv1.ImageContentSource) bool { return len(x.Mirrors) > 0 }) {
		hint(problem.ReleaseMayNameOthers, unknownOf(releases, reached), network.KeyAllowedHosts, "spec.imageContentSources")
	}
	if t := o.HostedCluster.Spec.Networking.NetworkType; t == hyperv1.Calico || t == hyperv1.Other {
		ps = append(ps, problem.New(problem.NetworkPluginMayNameOthers, problem.Subject{}, problem.Args{"type": {string(t)}}, network.KeyAllowedHosts, "spec.networking.networkType"))
	}
	return ps
}

// reaches reports whether nodes reach registry: through one of forwarded, on their network, or where a record of the user leads.
func reaches(in network.Request, s settings.Values, forwarded []network.Endpoint, registry string) bool {
	h, _ := byServerName(registry)
	return forwards(forwarded, registry) || onNetwork(in, registry) || answeredByUser(s.Settings, h.Host)
}

// forwards reports whether one of forwarded carries connections to registry.
func forwards(forwarded []network.Endpoint, registry string) bool {
	h, cause := byServerName(registry)
	return cause == "" && slices.ContainsFunc(forwarded, func(e network.Endpoint) bool { return slices.Contains(e.Hosts, h.Host) && e.Port == h.Port })
}

// unknownOf returns those of registries that are reached and whose further hosts are not
// known, each once and sorted.
func unknownOf(registries []string, reached func(string) bool) []string {
	var out []string
	for _, r := range registries {
		if h, _ := byServerName(r); reached(r) && len(redirected(h.Host)) == 0 && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return out
}
