// This file translates the objects of one hosted cluster into the request and
// the facts that package network derives a plan from.

package hcp

import (
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Translate returns the request of the user and the observed facts. Problems with the
// objects of o are in Facts.Problems. The order of the objects does not matter. last is
// the plan in force, zero if there is none: a network that runs keeps its CIDR.
func Translate(o Objects, last network.Plan) (network.Request, network.Facts) {
	set, problems := clusterSettings(o.HostedCluster)
	problems, ofNodePools := byNodePool(problems)
	r := network.Request{Cluster: cluster(o.HostedCluster), Edges: edgeCount(o.HostedCluster, set), Wanted: wanted(o), Unselected: unselected(o), Placement: placement(o, set), Permissions: o.Permissions, ManagementDNS: set.ManagementDNS, AccessLog: set.AccessLog}
	f := network.Facts{InUse: NetworksInUse(o), BootedFrom: networkNames(bootedFrom(o)), VMAddresses: vmAddresses(o)}
	problems = slices.Concat(o.Unreadable, problems)
	if ps := unsupported(o.HostedCluster, set); ps.Blocking() {
		f.Problems = slices.Concat(o.Unreadable, ps)
		return r, f
	}
	named := networks(o, set, ofNodePools, last)
	r.Networks, f.Refused = withUnserved(o, named.networks), named.refused
	problems = slices.Concat(problems, named.problems, edgeNodesNotPermitted(o, set))
	for _, x := range allEndpoints(o, r, set, last) {
		f.Endpoints = append(f.Endpoints, x.endpoints...)
		f.Waiting = append(f.Waiting, x.waiting...)
		problems = append(problems, x.problems...)
		if x.apps.Name != "" {
			r.Apps = x.apps
		}
	}
	slices.Sort(f.Waiting)
	r.Access = access(o.HostedCluster, set)
	if usesNetworks(r) {
		f.LoadBalancers = loadBalancers(o)
	}
	problems = append(problems, recordProblems(set.Records, f.Endpoints)...)
	f.Reserved = reservedDestinations(o, f.Endpoints)
	f.InHostedCluster, f.NodeAPI = guestNetworks(o.HostedCluster), nodeAPI(o.HostedCluster)
	if usesNetworks(r) {
		f.Announced = announcedAddresses(o.HostedCluster)
	}
	f.Problems = append(problems, limitations(o, r, f.Endpoints)...)
	return r, f
}

// clusterSettings reads the annotations of hc that apply to the whole cluster.
func clusterSettings(hc *hyperv1.HostedCluster) (settings.Values, network.Problems) {
	return settings.Overlay(settings.Values{}, settings.OnHostedCluster, hc.Name, hc.Annotations)
}

// byNodePool returns the problems of the HostedCluster's annotations that apply to the whole
// cluster, and those of annotations for one NodePool by its name.
func byNodePool(ps network.Problems) (of network.Problems, ofNodePools map[string]network.Problems) {
	ofNodePools = map[string]network.Problems{}
	for _, p := range ps {
		name, ok := "", false
		if len(p.Keys) > 0 {
			name, ok = settings.NodePoolOf(settings.Prefix + p.Keys[0])
		}
		if ok {
			ofNodePools[name] = append(ofNodePools[name], p)
		} else {
			of = append(of, p)
		}
	}
	return of, ofNodePools
}

// allEndpoints returns the endpoints that VMs on the networks of in must reach. There
// are none if no VM boots from a network: then VMs use the pod network. last is the plan in force.
func allEndpoints(o Objects, in network.Request, s settings.Values, last network.Plan) []reachable {
	if !usesNetworks(in) {
		return nil
	}
	return []reachable{publishedEndpoints(o), publications(o), apps(o, in, s, last), registryEndpoints(o, in, s)}
}

// usesNetworks reports whether VMs reach their control plane through a network of in.
// It is true for a cluster without networks, because it might get some.
func usesNetworks(in network.Request) bool { return len(in.Networks) == 0 || hasPrimary(in) }

func cluster(hc *hyperv1.HostedCluster) network.Cluster {
	return network.Cluster{
		Namespace:             hc.Namespace,
		Name:                  hc.Name,
		ControlPlaneNamespace: ControlPlaneNamespace(hc),
		Domain:                domain(hc),
	}
}

// domain returns the domain of the hosted cluster, as HyperShift's
// globalconfig.BaseDomain does. It is empty while spec.dns.baseDomain is empty.
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

// appsDomain returns the ingress domain, as HyperShift's globalconfig.IngressDomain
// does. It is empty while the base domain is unknown.
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

// unsupported returns a problem if oooi does not support the platform of hc.
func unsupported(hc *hyperv1.HostedCluster, set settings.Values) network.Problems {
	p := hc.Spec.Platform
	if p.Type != hyperv1.KubevirtPlatform {
		return network.Problems{network.NewProblem(network.NotKubeVirt, network.Subject{}, network.Args{"platform": string(p.Type)}, "spec.platform.type", settings.KeyNetwork)}
	}
	if p.Kubevirt == nil || p.Kubevirt.Credentials == nil {
		return nil
	}
	const field = "spec.platform.kubevirt.credentials"
	of, own := p.Kubevirt.Credentials.InfraNamespace, ControlPlaneNamespace(hc)
	switch {
	case !set.VMsHere:
		return network.Problems{network.NewProblem(network.VMsOnOtherCluster, network.Subject{}, nil, field, settings.KeyNetwork, settings.KeyInfra)}
	case of != own:
		return network.Problems{network.NewProblem(network.VMsInOtherNamespace, network.Subject{}, network.Args{"namespace": of, "controlPlane": own}, field+".infraNamespace", settings.KeyInfra)}
	}
	return nil
}
