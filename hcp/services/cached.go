// This file decides which fields of Services and EndpointSlices the operator's cache keeps. A management cluster has
// tens of thousands of these objects, and most have nothing to do with oooi.

package services

import (
	"maps"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// CachedService returns s with only the fields that oooi reads. An administrator of the hosted cluster writes the
// ports, source ranges and annotations of a copy. So CachedService keeps only the first ports and ranges of a copy, and
// whether annotation publish is set.
func CachedService(s *corev1.Service) *corev1.Service {
	_, copied := s.Labels[settings.LabelHostedService]
	ports, ranges := s.Spec.Ports, s.Spec.LoadBalancerSourceRanges
	if copied {
		ports, ranges = slices.Clone(ports[:min(len(ports), maxCopied)]), slices.Clone(ranges[:min(len(ranges), maxCopied)])
	}
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: interned(s.Namespace), Name: s.Name, ResourceVersion: s.ResourceVersion,
			CreationTimestamp: s.CreationTimestamp, DeletionTimestamp: s.DeletionTimestamp,
			Labels:      keys(s.Labels, func(key string) bool { return key == settings.LabelHostedService || key == HostedNamespaceLabel }),
			Annotations: annotations(s.Annotations, copied),
		},
		Spec: corev1.ServiceSpec{
			Type: interned(s.Spec.Type), Selector: keys(s.Spec.Selector, func(string) bool { return true }),
			ClusterIP: s.Spec.ClusterIP, ExternalIPs: slices.Clone(s.Spec.ExternalIPs[:min(len(s.Spec.ExternalIPs), MaxExternalIPs+1)]),
		},
	}
	if IsLoadBalancer(s) {
		out.UID = s.UID // Writes of the Service have its UID as a precondition.
		out.Spec.LoadBalancerSourceRanges, out.Spec.ExternalTrafficPolicy = ranges, interned(s.Spec.ExternalTrafficPolicy)
	}
	if !slices.Equal(s.Spec.ClusterIPs, []string{s.Spec.ClusterIP}) {
		out.Spec.ClusterIPs = s.Spec.ClusterIPs
	}
	for _, p := range ports {
		p.TargetPort.StrVal = interned(p.TargetPort.StrVal)
		out.Spec.Ports = append(out.Spec.Ports, corev1.ServicePort{
			Name: interned(p.Name), Protocol: interned(p.Protocol), Port: p.Port, TargetPort: p.TargetPort, NodePort: p.NodePort})
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		out.Status.LoadBalancer.Ingress = append(out.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: i.IP, Hostname: i.Hostname})
	}
	return out
}

const (
	// maxCopied limits the ports and source ranges that are kept of a copy. No edge serves a copy with that many.
	maxCopied = network.MaxBalancedPorts + 1
	// MaxExternalIPs limits the external IPs of the Services in a namespace. If there are more, plans contain none of
	// them. Otherwise one user could make the plans of all clusters too large.
	MaxExternalIPs = 256
)

// CachedSlice returns an EndpointSlice with the addresses of the pods in s, all in one endpoint that refers to pod, an
// object of kind Pod. A slice of a load balancer keeps its UID and the labels that mark it.
func CachedSlice(s *discoveryv1.EndpointSlice, pod *corev1.ObjectReference) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: interned(s.Namespace), Name: s.Name, ResourceVersion: s.ResourceVersion}}
	if IsLoadBalancerSlice(s) {
		out.UID, out.Labels = s.UID, keys(s.Labels, func(key string) bool {
			return key == discoveryv1.LabelServiceName || key == discoveryv1.LabelManagedBy || key == settings.LabelHostedService
		})
		if ofEdges(s) {
			out.Annotations = map[string]string{ofEdgesAnnotation: "true"}
		}
	}
	count := 0
	for _, e := range s.Endpoints {
		if OfPod(e) {
			count += len(e.Addresses)
		}
	}
	if count == 0 {
		return out
	}
	all := make([]string, 0, count)
	for _, e := range s.Endpoints {
		if OfPod(e) {
			all = append(all, e.Addresses...)
		}
	}
	out.Endpoints = []discoveryv1.Endpoint{{Addresses: all, TargetRef: pod}}
	return out
}

const (
	// maxAnnotations limits the annotations of oooi on a Service. Only keyPublish has an effect.
	maxAnnotations = 32
	keyPublish     = settings.Prefix + network.KeyPublish
)

// annotations selects the annotations of oooi: keyPublish, and the first maxAnnotations by name. For a copy, it returns
// only keyPublish, with an empty value.
func annotations(all map[string]string, copied bool) map[string]string {
	if _, set := all[keyPublish]; copied && set {
		return map[string]string{keyPublish: ""}
	}
	if copied {
		return nil
	}
	ours := keys(all, func(key string) bool { return strings.HasPrefix(key, settings.Prefix) })
	if len(ours) <= maxAnnotations {
		return ours
	}
	beyond := slices.Sorted(maps.Keys(ours))[maxAnnotations]
	return keys(ours, func(key string) bool { return key == keyPublish || key < beyond })
}

// keys returns the entries with kept keys, or nil. Equal keys share their memory.
func keys(all map[string]string, kept func(key string) bool) map[string]string {
	var out map[string]string
	for key, value := range all {
		if !kept(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[interned(key)] = value
	}
	return out
}

// interned returns text. Equal texts share their memory.
func interned[T ~string](text T) T { return unique.Make(text).Value() }
