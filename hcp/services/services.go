// Package services reads Services and EndpointSlices of the control plane namespace. A copy is a Service that
// KubeVirt's cloud provider creates there for a Service of the hosted cluster. The package decides which Services stand
// for load balancers of the hosted cluster, and which fields the operator's cache keeps.
package services

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// PassthroughService is the name prefix of HyperShift's Service for base domain passthrough. The cluster's generateID
// follows. HyperShift writes the VMs' addresses to its EndpointSlices.
const PassthroughService = "default-ingress-passthrough-service-"

// HostedNamespaceLabel is the label of a copy that has the namespace of the original Service.
// settings.LabelHostedService has its name.
const HostedNamespaceLabel = "cluster.x-k8s.io/tenant-service-namespace"

// HasManualEndpoints reports whether something other than Kubernetes writes the EndpointSlices of svc. It is false for
// Services that stand for Services of the hosted cluster, because edges reach the VMs behind them through the network.
func HasManualEndpoints(svc corev1.Service) bool {
	if _, copied := svc.Labels[settings.LabelHostedService]; copied {
		return false
	}
	return len(svc.Spec.Selector) == 0 && svc.Spec.Type != corev1.ServiceTypeExternalName && !strings.HasPrefix(svc.Name, PassthroughService)
}

// PortNumber returns port if it is from 1 to 65535, else 0. Objects in files may have any number.
func PortNumber(port int32) uint16 {
	if port < 1 || port > math.MaxUint16 {
		return 0
	}
	return uint16(port)
}

// Address returns the address in s, or a zero Addr if s is not an address.
func Address(s string) netip.Addr {
	a, _ := netip.ParseAddr(s)
	return a.Unmap()
}

// NodePortRange returns the node ports of the hosted cluster's Services: those of
// spec.configuration.network.serviceNodePortRange, here as text, or Kubernetes' default. ok is false if text is invalid.
func NodePortRange(text string) (least, most int64, ok bool) {
	if text == "" {
		return 30000, 32767, true
	}
	first, last, _ := strings.Cut(text, "-")
	least, err := strconv.ParseInt(first, 10, 32)
	most, err2 := strconv.ParseInt(last, 10, 32)
	return least, most, err == nil && err2 == nil && least <= most
}

// Named returns the Service of all with this name.
func Named(all []corev1.Service, name string) (svc corev1.Service, ok bool) {
	for _, s := range all {
		if s.Name == name {
			return s, true
		}
	}
	return corev1.Service{}, false
}

// BackendAt returns the backend for svc at one of its ports.
func BackendAt(svc corev1.Service, port corev1.ServicePort) network.Backend {
	b := network.Backend{Name: fmt.Sprintf("%s:%d", svc.Name, port.Port), Service: svc.Name, Port: PortNumber(port.Port), PortName: port.Name}
	for _, ip := range append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...) {
		if a := Address(ip); a.Is4() && !b.ClusterIP.IsValid() {
			b.ClusterIP = a
		}
	}
	return b
}

// LoadBalancerAddress returns the host name, IPv4 address or IPv6 address in the status of svc, in this order of preference.
// A dual-stack load balancer may list its addresses in any order. It is empty until the load balancer is provisioned.
func LoadBalancerAddress(svc corev1.Service) string {
	var name, four, six string
	for _, i := range svc.Status.LoadBalancer.Ingress {
		name = cmp.Or(name, i.Hostname)
		if Address(i.IP).Is4() {
			four = cmp.Or(four, i.IP)
		} else {
			six = cmp.Or(six, i.IP)
		}
	}
	return cmp.Or(name, four, six)
}

// OfPod reports whether e refers to a pod.
func OfPod(e discoveryv1.Endpoint) bool { return isPod(e.TargetRef) }

func isPod(r *corev1.ObjectReference) bool { return r != nil && r.Kind == "Pod" }
