// Package hcp says in our words what HyperShift's objects say in theirs: from a
// HostedCluster, its NodePools, its Routes, Services and network attachment
// definitions to a network.Request and network.Facts. It is the only package that knows
// HyperShift's types, so when HyperShift changes, only this package changes.
//
// It is pure: objects in, values out. What can be read is never computed, and
// what is not there yet is waited for, not guessed.
package hcp

import (
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Objects are everything that is read about one hosted cluster.
type Objects struct {
	HostedCluster *hyperv1.HostedCluster
	// GuestIngress is what the function of that name reads of HostedCluster.
	GuestIngress *operatorv1.EndpointPublishingStrategy
	// NodePools of this cluster, in any order; deleting ones count.
	NodePools []hyperv1.NodePool
	// NetworkAttachmentDefinitions that the NodePools name, as far as they exist.
	NetworkAttachmentDefinitions []nadv1.NetworkAttachmentDefinition
	// Routes and Services of the control plane namespace.
	Routes   []routev1.Route
	Services []corev1.Service
	// Machines are the virtual machine instances of the control plane namespace.
	Machines []kubevirtv1.VirtualMachineInstance
	// Nodes of the management cluster. Empty where they were not read.
	Nodes []corev1.Node
	// Management is what else is known of the management cluster.
	Management Management
	// MultusIsolates says that Multus was seen to keep namespaces apart.
	MultusIsolates bool
	// Proxy is how the management cluster reaches what is outside of it.
	Proxy httpproxy.Config
	// Partial says that the objects are not all there is (they were read from
	// files), so what is missing may well exist.
	Partial bool
}

// ControlPlaneNamespace is where the control plane of hc runs: upstream's
// manifests.HostedControlPlaneNamespace.
func ControlPlaneNamespace(hc *hyperv1.HostedCluster) string {
	return hc.Namespace + "-" + strings.ReplaceAll(hc.Name, ".", "-")
}

// OptedIn says whether hc asks for a network of ours. An empty value asks for
// one, and is refused: what a template forgot to fill in must not remove what
// runs.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	v, there := hc.Annotations[settings.Prefix+settings.KeyNetwork]
	return there && strings.TrimSpace(v) != "none"
}

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
	return settings.Over(settings.Values{}, settings.OnHostedCluster, hc.Name, hc.Annotations)
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
