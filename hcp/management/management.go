// Package management reads the facts about the management cluster. Most are addresses that edges never dial for VMs: the
// networks of its Services and pods, and the virtual addresses of its nodes.
package management

import (
	"cmp"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// Cluster holds facts about the management cluster that are not in hcp's Objects. An empty field means unknown.
type Cluster struct {
	// Resolvers are the DNS servers of its pods.
	Resolvers []netip.Addr
	// APIServers are the addresses at which pods reach its API server.
	APIServers []netip.Addr
	// PriorityClass is the constant PriorityClass. Empty: the cluster does not have this class.
	PriorityClass string
	// MultusIsolates is true if the cluster is known to have the kind of OpenShift's network operator.
	MultusIsolates bool
	// Mirrored are the image sources for which the cluster has mirrors. Only files and commands have them.
	Mirrored []string
	// Networks are what function Networks returns.
	Networks []network.ReservedDestination
	// Observed are the results of PodAddresses and ServiceAddresses: addresses in use, of which some may be in no
	// known network.
	Observed []netip.Addr
}

// PriorityClass is HyperShift's priority class for pods that the API of a hosted cluster depends on.
const PriorityClass = "hypershift-api-critical"

// PriorityClassKind returns the kind of PriorityClass.
func PriorityClassKind() schema.GroupVersionKind {
	return schedulingv1.SchemeGroupVersion.WithKind("PriorityClass")
}

// NetworkOperatorKind returns the kind of OpenShift's network operator, which configures Multus to isolate namespaces.
func NetworkOperatorKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "Network"}
}

// Kinds returns the kinds that Add reads. All are cluster-scoped. A cluster may lack any of them.
func Kinds() []schema.GroupVersionKind {
	return append(NetworkKinds(), PriorityClassKind(), NetworkOperatorKind(), mirrorSetKind(), mirrorPolicyKind())
}

// mirrorSetKind and mirrorPolicyKind return the kinds with mirrors of images. HyperShift uses these mirrors for control
// planes, not for nodes (GetAllImageRegistryMirrors in support/globalconfig/imagecontentsource.go).
func mirrorSetKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"}
}

func mirrorPolicyKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"}
}

// Add adds the facts in an object of one of Kinds. A cluster with the network operator's kind has an object of it.
func (c *Cluster) Add(kind schema.GroupVersionKind, object map[string]any) {
	c.Networks = append(c.Networks, Networks(kind, object)...)
	c.MultusIsolates = c.MultusIsolates || kind == NetworkOperatorKind()
	switch kind {
	case mirrorSetKind():
		c.Mirrored = append(c.Mirrored, textsAt(object, []string{"spec", "imageDigestMirrors", "source"})...)
	case mirrorPolicyKind():
		c.Mirrored = append(c.Mirrored, textsAt(object, []string{"spec", "repositoryDigestMirrors", "source"})...)
	}
	if kind == PriorityClassKind() && slices.Contains(textsAt(object, []string{"metadata", "name"}), PriorityClass) {
		c.PriorityClass = PriorityClass
	}
}

// nodeSystemLabel is a label that OpenShift's kubelets set on their nodes: the ID of the operating system, such as "rhcos".
const nodeSystemLabel = "node.openshift.io/os_id"

// Isolates reports whether Multus isolates namespaces. It does if OpenShift's network operator runs Multus, as the
// operator's objects or OpenShift's label on nodes show. shown is false if nothing shows whether that operator runs it.
func (c Cluster) Isolates(nodes []corev1.Node) (isolates, shown bool) {
	for _, n := range nodes {
		isolates = isolates || n.Labels[nodeSystemLabel] != ""
		shown = shown || len(n.Labels) > 0 // A kubelet sets some labels on its node.
	}
	return isolates || c.MultusIsolates, shown || c.MultusIsolates
}

// ofServices is the network of Services, without its prefix.
var ofServices = network.ReservedDestination{What: "the management cluster's Services", OfServices: true}

// A networkField is a field with addresses or CIDRs in the objects of a kind.
type networkField struct {
	kind schema.GroupVersionKind
	// Field of describes the destination that a value reserves, without the prefix.
	of network.ReservedDestination
	// path has the names of nested fields. "*" is any name. Each element of a list is searched.
	path []string
}

func networkFields() []networkField {
	openshift := schema.GroupVersion{Group: "config.openshift.io", Version: "v1"}
	ofServiceCIDRs := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "ServiceCIDR"}
	calico := schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: "IPPool"}
	networks, infrastructure := openshift.WithKind("Network"), openshift.WithKind("Infrastructure")
	ofPods := network.ReservedDestination{What: "the management cluster's pods"}
	virtual := network.ReservedDestination{What: "a virtual IP of the management cluster"}
	out := []networkField{{ofServiceCIDRs, ofServices, []string{"spec", "cidrs"}}, {calico, ofPods, []string{"spec", "cidr"}}}
	// Status has the networks in use. spec has those after a migration.
	for _, part := range []string{"status", "spec"} {
		out = append(out, networkField{networks, ofServices, []string{part, "serviceNetwork"}},
			networkField{networks, ofPods, []string{part, "clusterNetwork", "cidr"}})
	}
	for _, name := range []string{"apiServerInternalIP", "apiServerInternalIPs", "ingressIP", "ingressIPs"} {
		virtual.OfIngress = strings.HasPrefix(name, "ingress")
		out = append(out, networkField{infrastructure, virtual, []string{"status", "platformStatus", "*", name}})
	}
	return out
}

// NetworkKinds returns the elements of Kinds that Networks reads.
func NetworkKinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, f := range networkFields() {
		if !slices.Contains(out, f.kind) {
			out = append(out, f.kind)
		}
	}
	return out
}

// Networks returns the networks in an object of one of NetworkKinds. Values that are neither a CIDR nor an address
// are left out.
func Networks(kind schema.GroupVersionKind, object map[string]any) []network.ReservedDestination {
	var out []network.ReservedDestination
	for _, f := range networkFields() {
		if f.kind != kind {
			continue
		}
		for _, text := range textsAt(object, f.path) {
			p, err := netip.ParsePrefix(text)
			if err != nil {
				p = network.Host(services.Address(text))
			}
			if p.IsValid() {
				at := f.of
				at.Prefix = p.Masked()
				if at.OfIngress {
					at.Domain = ingressDomain(object)
				}
				out = append(out, at)
			}
		}
	}
	return out
}

// ingressDomain returns the ingress domain of the cluster with this Infrastructure, or "". The names of its API server and
// of its ingress come from one domain (openshift/installer, pkg/asset/manifests/infrastructure.go and ingress.go).
func ingressDomain(infrastructure map[string]any) string {
	for _, text := range textsAt(infrastructure, []string{"status", "apiServerURL"}) {
		if at, err := url.Parse(text); err == nil {
			if domain, ok := strings.CutPrefix(strings.ToLower(at.Hostname()), "api."); ok {
				return "apps." + domain
			}
		}
	}
	return ""
}

func textsAt(value any, path []string) []string {
	var out []string
	switch v := value.(type) {
	case []any:
		for _, x := range v {
			out = append(out, textsAt(x, path)...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(path) > 0 && (path[0] == name || path[0] == "*") {
				out = append(out, textsAt(v[name], path[1:])...)
			}
		}
	case string:
		if len(path) == 0 {
			return []string{v}
		}
	}
	return out
}

// PodAddresses returns the addresses of the pods behind the given EndpointSlices, sorted, whatever assigned the
// addresses.
func PodAddresses(slicesOf []discoveryv1.EndpointSlice) []netip.Addr {
	var out []netip.Addr
	for _, s := range slicesOf {
		for _, e := range s.Endpoints {
			if !services.OfPod(e) {
				continue
			}
			for _, text := range e.Addresses {
				out = append(out, services.Address(text))
			}
		}
	}
	return sortedIPv4(out)
}

// ServiceAddresses returns the addresses of the given Services, sorted: cluster IPs, external IPs, and addresses of
// load balancers, which the cluster's nodes answer themselves. External IPs in the namespaces of tenants are left out,
// because users of a hosted cluster may choose them. So are those of a namespace that has too many.
func ServiceAddresses(all []corev1.Service, tenants map[string]bool) []netip.Addr {
	var out []netip.Addr
	external := map[string][]netip.Addr{}
	for _, s := range all {
		for _, text := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
			out = append(out, services.Address(text))
		}
		for _, at := range s.Status.LoadBalancer.Ingress {
			out = append(out, services.Address(at.IP))
		}
		for _, text := range s.Spec.ExternalIPs {
			external[s.Namespace] = append(external[s.Namespace], services.Address(text))
		}
	}
	for namespace, chosen := range external {
		if chosen = sortedIPv4(chosen); !tenants[namespace] && len(chosen) <= services.MaxExternalIPs {
			out = append(out, chosen...)
		}
	}
	return sortedIPv4(out)
}

// KnowsServices reports whether Networks has the network of Services.
func (c Cluster) KnowsServices() bool {
	return slices.ContainsFunc(c.Networks, func(r network.ReservedDestination) bool { return r.OfServices })
}

// ImpossibleClusterIP is an address that no API server assigns to a Service.
const ImpossibleClusterIP = "0.0.0.1"

// ServiceRange returns the network of Services that refusal names: the error message with which an API server refuses a Service
// with ImpossibleClusterIP. Use it for clusters without objects of Kinds. ok is false if refusal does not name a network.
func ServiceRange(refusal string) (r network.ReservedDestination, ok bool) {
	_, text, _ := strings.Cut(refusal, "range of valid IPs is ")
	p, err := netip.ParsePrefix(strings.TrimSpace(text))
	r = ofServices
	r.Prefix = p
	return r, err == nil
}

func sortedIPv4(all []netip.Addr) []netip.Addr {
	all = slices.DeleteFunc(all, func(a netip.Addr) bool { return !a.Is4() })
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// maxSingle is the maximum number of observed addresses that are reserved one by one. More would make plans and
// NetworkPolicies too large.
const maxSingle = 256

// outsideOf returns the observed addresses that are in no prefix of known, merged. Above maxSingle, it returns their /24
// networks, which may contain other hosts.
func outsideOf(known map[netip.Prefix]network.ReservedDestination, observed []netip.Addr) []netip.Prefix {
	var out []netip.Prefix
	for _, a := range notIn(slices.Collect(maps.Keys(known)), observed) {
		out = append(out, network.Host(a))
	}
	if len(out) > maxSingle {
		for i, p := range out {
			out[i] = netip.PrefixFrom(p.Addr(), 24).Masked()
		}
	}
	return network.MergedPrefixes(out)
}

func notIn(known []netip.Prefix, addresses []netip.Addr) []netip.Addr {
	all := network.MergedPrefixes(known)
	var out []netip.Addr
	for _, a := range addresses {
		// The prefixes do not overlap. So only the last prefix that begins before a can contain a.
		i, _ := slices.BinarySearchFunc(all, a, func(p netip.Prefix, a netip.Addr) int {
			return cmp.Or(p.Addr().Compare(a), -1)
		})
		if i == 0 || !all[i-1].Contains(a) {
			out = append(out, a)
		}
	}
	return out
}

// Unreserved returns the observed addresses that change plans: those in no network of c or of nodes. They are sorted.
func (c Cluster) Unreserved(nodes []corev1.Node) []netip.Addr {
	var known []netip.Prefix
	for _, n := range nodes {
		known = append(known, podNetworks(n)...)
	}
	for _, r := range slices.Concat(c.Networks, hostAddresses(nodes)) {
		known = append(known, r.Prefix)
	}
	known = slices.DeleteFunc(known, func(p netip.Prefix) bool { return !p.Addr().Is4() })
	return notIn(known, sortedIPv4(slices.Clone(c.Observed)))
}
