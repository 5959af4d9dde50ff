// This file translates the objects of one hosted cluster into a Request and Facts for package derive.

package hcp

import (
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/endpoints"
	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Translate returns the user's request and the observed facts, with the problems of o in Facts.Problems. The order of
// objects does not matter. last is the plan in force, or the zero Plan: networks in use keep the CIDR that they have in
// that plan.
func Translate(o objects.Objects, last network.Plan) (network.Request, network.Facts) {
	o = networks.Lasting(o)
	set, problems := clusterSettings(o.HostedCluster)
	problems, ofNodePools := byNodePool(problems)
	r := network.Request{Cluster: cluster(o.HostedCluster), Edges: edgeCount(o.HostedCluster, set), Wanted: networks.Wanted(o, last), Unselected: networks.Unselected(o), Placement: placement(o, set), Permissions: o.Permissions, ManagementDNS: set.ManagementDNS, AccessLog: set.AccessLog}
	f := network.Facts{InUse: networks.InUse(o, last), BootedFrom: networks.BootedFrom(o, last), VMAddresses: networks.VMAddresses(o)}
	problems = slices.Concat(o.Unreadable, o.Misnamed, problems)
	if ps := slices.Concat(unsupported(o.HostedCluster, set), objects.TooMany(o)); ps.Blocking() {
		f.Problems = slices.Concat(o.Unreadable, ps)
		return r, f
	}
	named := networks.Of(o, set, ofNodePools, last)
	r.Networks, f.Refused = named.Networks, named.Refused
	problems = slices.Concat(problems, named.Problems, joinSubnetsDiffer(o), overlapping(o, named.Networks), ovnMTU(o, named.Networks, last), refusedHostPrefix(o), podSubnets(o), refusedAdvertiseAddress(o.HostedCluster), mixedFamilies(o.HostedCluster), edgeNodesNotPermitted(o, set), stopped(o), refusedServices(o), refusedCertificates(o.HostedCluster), refusedDomain(o.HostedCluster), refusedNetworks(o), unreadableRegistries(o.HostedCluster), refusedProxy(o), allTainted(o))
	problems = append(problems, networks.Unnamed(o, attachmentsOf(r, last))...)
	problems = append(problems, networks.SharedMACs(o)...)
	r.ManagementDomain, r.Passthrough = ingress.ManagementDomain(o)
	f.NodeAPI = nodeAPI(o.HostedCluster)
	reach := endpoints.Of(o, r, set, last, f.NodeAPI)
	f.Endpoints, f.Waiting, f.LoadBalancers, f.Announced = reach.Endpoints, reach.Waiting, reach.LoadBalancers, reach.Announced
	f.Balanced, f.ImageHosts, f.ProviderHosts = reach.Balanced, reach.ImageHosts, reach.ProviderHosts
	r.Apps, r.FurtherApps, r.Access = reach.Apps, reach.FurtherApps, access(o.HostedCluster, set)
	f.Reserved = o.Management.Reserved(o.Nodes, o.Pods, f.Endpoints)
	f.InHostedCluster = hostedNetworks(o)
	f.Problems = slices.Concat(problems, reach.Problems, unusableProxy(o.HostedCluster, f))
	return r, f
}

func attachmentsOf(r network.Request, last network.Plan) []network.Attachment {
	out := last.Attachments()
	for _, s := range r.Networks {
		out = append(out, s.Attachment)
	}
	return out
}

func clusterSettings(hc *hyperv1.HostedCluster) (settings.Values, problem.Problems) {
	return settings.Overlay(settings.Values{}, settings.OnHostedCluster, hc.Name, hc.Annotations)
}

// byNodePool splits problems of the HostedCluster's annotations. Result of has the problems of the whole cluster, and
// ofNodePools those of one NodePool, by its name.
func byNodePool(ps problem.Problems) (of problem.Problems, ofNodePools map[string]problem.Problems) {
	ofNodePools = map[string]problem.Problems{}
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

func cluster(hc *hyperv1.HostedCluster) network.Cluster {
	return network.Cluster{
		Namespace:             hc.Namespace,
		Name:                  hc.Name,
		ControlPlaneNamespace: objects.ControlPlaneNamespace(hc),
		Domain:                objects.Domain(hc),
		UID:                   string(hc.UID),
	}
}

func unsupported(hc *hyperv1.HostedCluster, set settings.Values) problem.Problems {
	p := hc.Spec.Platform
	if p.Type != hyperv1.KubevirtPlatform {
		return problem.Problems{problem.New(problem.NotKubeVirt, problem.Subject{}, problem.Args{"platform": {string(p.Type)}}, "spec.platform.type", network.KeyNetwork)}
	}
	if p.Kubevirt == nil || p.Kubevirt.Credentials == nil {
		return nil
	}
	const field = "spec.platform.kubevirt.credentials"
	of, own := p.Kubevirt.Credentials.InfraNamespace, objects.ControlPlaneNamespace(hc)
	switch {
	case !set.VMsHere:
		return problem.Problems{problem.New(problem.VMsOnOtherCluster, problem.Subject{}, nil, field, network.KeyNetwork, network.KeyInfra)}
	case of != own:
		return problem.Problems{problem.New(problem.VMsInOtherNamespace, problem.Subject{}, problem.Args{"namespace": {of}, "controlPlane": {own}}, field+".infraNamespace", network.KeyInfra)}
	}
	return nil
}
