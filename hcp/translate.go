// This file translates the objects of one hosted cluster into the request and
// the facts that package network derives a plan from.

package hcp

import (
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Translate says what o asks for and what is seen of it. What can't be read is among
// the problems of the facts.
func Translate(o Objects) (network.Request, network.Facts) {
	set, problems := clusterSettings(o.HostedCluster)
	r := network.Request{Cluster: cluster(o.HostedCluster), Edges: edgeCount(o.HostedCluster, set), Wanted: wanted(o), Placement: placement(o, set)}
	f := network.Facts{InUse: inUse(o), VMAddresses: vmAddresses(o)}
	if ps := unsupported(o.HostedCluster); ps.Blocking() {
		f.Problems = ps
		return r, f
	}
	var ps network.Problems
	r.Networks, ps = segments(o, set)
	problems = append(problems, ps...)
	for _, x := range everythingReachable(o, r, set) {
		f.Endpoints = append(f.Endpoints, x.endpoints...)
		f.Waiting = append(f.Waiting, x.waiting...)
		problems = append(problems, x.problems...)
		if x.apps.Name != "" {
			r.Apps = x.apps
		}
	}
	slices.Sort(f.Waiting)
	f.Reserved = elsewhere(o, f.Endpoints)
	f.Guest = guestNetworks(o.HostedCluster)
	if dials(r) {
		f.Announced = announcedAddresses(o.HostedCluster)
	}
	f.Problems = append(problems, notServed(o, r, f.Endpoints)...)
	return r, f
}

// clusterSettings reads the annotations of hc that are for the whole cluster.
func clusterSettings(hc *hyperv1.HostedCluster) (settings.Values, network.Problems) {
	return settings.Overlay(settings.Values{}, settings.OnHostedCluster, hc.Name, hc.Annotations)
}

// everythingReachable is what machines on the networks of in must reach: nothing
// where none of them boots by one, as they reach it by the pod network.
func everythingReachable(o Objects, in network.Request, s settings.Values) []reachable {
	if !dials(in) {
		return nil
	}
	return []reachable{publishedEndpoints(o), publications(o), apps(o, in, s), registryEndpoints(o, in, s)}
}

// dials says whether machines reach their control plane by a network of in, as
// far as is known: one without networks may yet get some.
func dials(in network.Request) bool { return len(in.Networks) == 0 || hasPrimary(in) }

func cluster(hc *hyperv1.HostedCluster) network.Cluster {
	return network.Cluster{
		Namespace:             hc.Namespace,
		Name:                  hc.Name,
		ControlPlaneNamespace: ControlPlaneNamespace(hc),
		Domain:                domain(hc),
	}
}

// domain is upstream's globalconfig.BaseDomain. Empty while HyperShift has not
// filled in the base domain.
func domain(hc *hyperv1.HostedCluster) string {
	base := hc.Spec.DNS.BaseDomain
	if base == "" {
		return ""
	}
	prefix := hc.Name
	if p := hc.Spec.DNS.BaseDomainPrefix; p != nil {
		prefix = *p
	}
	if prefix == "" {
		return base
	}
	return prefix + "." + base
}

// appsDomain is upstream's globalconfig.IngressDomain.
func appsDomain(hc *hyperv1.HostedCluster) string {
	if c := hc.Spec.Configuration; c != nil && c.Ingress != nil {
		if c.Ingress.AppsDomain != "" {
			return c.Ingress.AppsDomain
		}
		if c.Ingress.Domain != "" {
			return c.Ingress.Domain
		}
	}
	if d := domain(hc); d != "" {
		return "apps." + d
	}
	return ""
}

// unsupported are the clusters that can't be served at all.
func unsupported(hc *hyperv1.HostedCluster) network.Problems {
	p := hc.Spec.Platform
	if p.Type != hyperv1.KubevirtPlatform {
		return network.Problems{network.NewProblem(network.NotKubeVirt, network.Subject{}, network.Args{"platform": string(p.Type)}, "spec.platform.type", settings.KeyNetwork)}
	}
	if p.Kubevirt != nil && p.Kubevirt.Credentials != nil {
		return network.Problems{network.NewProblem(network.VMsOnOtherCluster, network.Subject{}, nil, "spec.platform.kubevirt.credentials", settings.KeyNetwork)}
	}
	return nil
}
