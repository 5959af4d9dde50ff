// This file reads the Services of the control plane namespace that stand for Services of the hosted cluster. These are
// copies of its load balancers by KubeVirt's cloud provider, and HyperShift's Service for base domain passthrough.

package services

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// VMSlices is the value of label managed-by on the EndpointSlices in which HyperShift's configuration operator writes
// the addresses of VMs. If a Service gets a selector, the operator neither writes nor deletes them any longer.
const VMSlices = "control-plane-operator.hypershift.openshift.io"

// The values of label managed-by on EndpointSlices that Kubernetes creates from selectors of Services, and from Endpoints.
const (
	SelectorSlices = "endpointslice-controller.k8s.io"
	MirrorSlices   = "endpointslicemirroring-controller.k8s.io"
)

// A Slice is one EndpointSlice of a Service for which IsLoadBalancer holds.
type Slice struct {
	Name string
	UID  types.UID
	// Service is the name of the EndpointSlice's Service, and ManagedBy the value of its label managed-by.
	Service, ManagedBy string
	// OfEdges is true if the EndpointSlice has endpoints, and each is a pod of an edge.
	OfEdges bool
}

const edgePods = wire.NameEdge + "-"

// ofEdgesAnnotation marks a cached EndpointSlice for which OfEdges is true.
const ofEdgesAnnotation = wire.Prefix + "of-edges"

// IsLoadBalancer reports whether o is a Service that stands for a Service of the hosted cluster. It is also true for
// Endpoints of that name, because Kubernetes copies the labels of the Service to them.
func IsLoadBalancer(o metav1.Object) bool {
	_, copied := o.GetLabels()[settings.LabelHostedService]
	return copied || strings.HasPrefix(o.GetName(), PassthroughService)
}

// LeadsToEdges reports whether the selector of s selects pods of edges.
func LeadsToEdges(s *corev1.Service) bool {
	return s.Spec.Selector[wire.LabelName] == wire.NameEdge && s.Spec.Selector[wire.LabelPartOf] == wire.Owner
}

// LoadBalancerSlices returns the EndpointSlices that may belong to a load balancer. The arguments may be results of
// CachedSlice.
func LoadBalancerSlices(all []discoveryv1.EndpointSlice) []Slice {
	var out []Slice
	for i := range all {
		if s := &all[i]; IsLoadBalancerSlice(s) {
			out = append(out, Slice{s.Name, s.UID, s.Labels[discoveryv1.LabelServiceName], s.Labels[discoveryv1.LabelManagedBy], ofEdges(s)})
		}
	}
	return out
}

// ofEdges returns Slice.OfEdges, for an EndpointSlice from the API server or the cache.
func ofEdges(s *discoveryv1.EndpointSlice) bool {
	if _, known := s.Annotations[ofEdgesAnnotation]; known {
		return true
	}
	var refs []*corev1.ObjectReference
	for _, e := range s.Endpoints {
		refs = append(refs, e.TargetRef)
	}
	return OfEdges(refs)
}

// OfEdges reports whether refs are not empty, and each refers to a pod of an edge.
func OfEdges(refs []*corev1.ObjectReference) bool {
	return len(refs) > 0 && !slices.ContainsFunc(refs, func(r *corev1.ObjectReference) bool {
		return !isPod(r) || !strings.HasPrefix(r.Name, edgePods)
	})
}

// IsLoadBalancerSlice reports whether s may belong to a Service for which IsLoadBalancer is true: HyperShift writes
// s, or Kubernetes copied the labels of the Service to s.
func IsLoadBalancerSlice(s *discoveryv1.EndpointSlice) bool {
	_, copied := s.Labels[settings.LabelHostedService]
	return copied || s.Labels[discoveryv1.LabelManagedBy] == VMSlices || strings.HasPrefix(s.Labels[discoveryv1.LabelServiceName], PassthroughService)
}

// LoadBalancers returns the load balancers among the given Services, by name. slicesOf are their EndpointSlices.
func LoadBalancers(all []corev1.Service, slicesOf []Slice) []network.LoadBalancer {
	var out []network.LoadBalancer
	for i := range all {
		if s := &all[i]; IsLoadBalancer(s) {
			out = append(out, loadBalancer(s, slicesOf))
		}
	}
	slices.SortFunc(out, func(a, b network.LoadBalancer) int { return cmp.Compare(a.Service, b.Service) })
	return out
}

// Balanced returns the addresses on networks of in that load balancers of the control plane's own Services have, sorted. It
// leaves out Services for which IsLoadBalancer is true, since users of the hosted cluster may choose their addresses.
func Balanced(all []corev1.Service, in network.Request) (out []network.ServiceAddress) {
	for i := range all {
		for _, at := range all[i].Status.LoadBalancer.Ingress {
			a := Address(at.IP)
			on := func(s network.NetworkRequest) bool { return s.CIDR.IsValid() && s.CIDR.Contains(a) }
			if !IsLoadBalancer(&all[i]) && slices.ContainsFunc(in.Networks, on) {
				out = append(out, network.ServiceAddress{Service: all[i].Name, Address: a})
			}
		}
	}
	slices.SortFunc(out, func(a, b network.ServiceAddress) int {
		return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Service, b.Service))
	})
	return out
}

func loadBalancer(s *corev1.Service, all []Slice) network.LoadBalancer {
	out := network.LoadBalancer{Service: s.Name, Endpoints: slices.ContainsFunc(all, func(x Slice) bool {
		return x.Service == s.Name && x.ManagedBy == VMSlices
	})}
	if name := s.Labels[settings.LabelHostedService]; name != "" {
		out.HostedService = s.Labels[HostedNamespaceLabel] + "/" + name
	}
	switch {
	case LeadsToEdges(s):
		out.Leads = network.LeadsToEdges
	case len(s.Spec.Selector) > 0:
		out.Leads = network.LeadsElsewhere
	}
	out.Sources, out.SourcesHidden = sources(s)
	has4 := false
	for _, ip := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
		a := Address(ip)
		has4, out.IPv6 = has4 || a.Is4(), out.IPv6 || a.Is6()
	}
	out.NoIPv4 = out.IPv6 && !has4
	for _, i := range s.Status.LoadBalancer.Ingress {
		if a := Address(i.IP); a.IsValid() {
			out.Addresses = append(out.Addresses, a)
		}
	}
	slices.SortFunc(out.Addresses, netip.Addr.Compare)
	for _, p := range s.Spec.Ports {
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		out.Ports = append(out.Ports, network.LoadBalancerPort{Protocol: string(protocol), Port: PortNumber(p.Port), Target: PortNumber(p.TargetPort.IntVal)})
	}
	slices.SortFunc(out.Ports, func(a, b network.LoadBalancerPort) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Port, b.Port))
	})
	return out
}

// sources returns network.LoadBalancer.Sources and SourcesHidden of s.
func sources(s *corev1.Service) (ranges []netip.Prefix, hidden bool) {
	for _, text := range s.Spec.LoadBalancerSourceRanges {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err == nil && p.Addr().Is4() && p.Bits() == 0 {
			return nil, false
		}
		if err == nil {
			ranges = append(ranges, p.Masked())
		}
	}
	slices.SortFunc(ranges, netip.Prefix.Compare)
	ranges = slices.Compact(ranges)
	local := s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	if len(s.Spec.LoadBalancerSourceRanges) > 0 && (!local || len(ranges) == 0 || len(ranges) > network.MaxLoadBalancerSources) {
		return nil, true
	}
	return ranges, false
}
