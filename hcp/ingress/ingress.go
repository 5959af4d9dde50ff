// Package ingress describes the ingress of a hosted cluster, which runs on its VMs: its domain, how HyperShift publishes
// it, and the ports of the VMs behind it. The backend comes from the first of these that exists:
//
//	spec.platform.kubevirt.baseDomainPassthrough          the VMs, at the node port of HyperShift's passthrough Service
//	the cluster's ingress, type LoadBalancerService       the VMs, at the node ports in the cloud provider's copy of its
//	                                                      Service
//	Service <cluster>-apps of type LoadBalancer           the VMs, at its target ports
//	the cluster's ingress, type HostNetwork               the VMs, at its ports
//
// Port 80 has a backend if one of them has one for it.
package ingress

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// routerNamespace and routerService name the Service of the default ingress of type LoadBalancerService in the hosted
// cluster, as OpenShift defines. The cloud provider copies this Service into the control plane namespace. HyperShift
// also writes the VMs' addresses to the EndpointSlices of the copy.
const routerNamespace, routerService = "openshift-ingress", "router-default"

// An Ingress is where the VMs serve an ingress.
type Ingress struct {
	// HTTPS and HTTP are the backends of ports 443 and 80. The zero Backend is unknown.
	HTTPS, HTTP network.Backend
	// LoadBalancer is the address of the ingress's own load balancer. Zero: none.
	LoadBalancer netip.Addr
	// Pending is true while the load balancer has no address.
	Pending bool
}

// Endpoints returns https with its backend, and an endpoint for port 80 if i has a backend for it. Clients of port 80
// send no TLS server name, so that endpoint matches all connections.
func (i Ingress) Endpoints(https network.Endpoint) []network.Endpoint {
	https.Backend, https.LoadBalancer = i.HTTPS, i.LoadBalancer
	out := []network.Endpoint{https}
	if i.HTTP != (network.Backend{}) {
		http := https
		http.Port, http.Match, http.Backend = network.PortHTTP, network.MatchAny, i.HTTP
		out = append(out, http)
	}
	return out
}

// Hosted returns the ingress on the VMs. The backend of each port comes from the first row of the package
// doc that has one. ok is false if port 443 has no backend.
func Hosted(o objects.Objects) (i Ingress, ok bool) {
	for _, x := range []Ingress{passthrough(o), Router(o), Documented(o), HostNetwork(Strategy(o))} {
		if i.HTTPS == (network.Backend{}) {
			i.HTTPS, i.LoadBalancer, i.Pending = x.HTTPS, x.LoadBalancer, x.Pending
		}
		if i.HTTP == (network.Backend{}) {
			i.HTTP = x.HTTP
		}
	}
	return i, i.HTTPS != (network.Backend{})
}

// passthrough returns the VMs behind HyperShift's Service for base domain passthrough, for port 443 only.
func passthrough(o objects.Objects) Ingress {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	if k == nil || k.GenerateID == "" {
		return Ingress{}
	}
	svc, ok := services.Named(o.Services, services.PassthroughService+k.GenerateID)
	if !ok || len(svc.Spec.Ports) == 0 {
		return Ingress{}
	}
	return Ingress{HTTPS: vmsBehind(svc, svc.Spec.Ports[0])}
}

// HasPassthrough reports whether HyperShift's Service for base domain passthrough exists. Its port is a node port of the
// ingress, so the ingress has one, whatever the HostedCluster sets by now.
func HasPassthrough(o objects.Objects) bool { return passthrough(o).HTTPS != (network.Backend{}) }

// Router returns the VMs behind the copy of the Service router-default.
func Router(o objects.Objects) Ingress {
	copies := slices.DeleteFunc(slices.Clone(o.Services), func(s corev1.Service) bool {
		return s.Labels[settings.LabelHostedService] != routerService || s.Labels[services.HostedNamespaceLabel] != routerNamespace
	})
	if len(copies) == 0 {
		return Ingress{}
	}
	// If the Service was created again, the newest copy counts. A copy that is being deleted counts only if there is no other.
	if stay := slices.DeleteFunc(slices.Clone(copies), func(s corev1.Service) bool { return s.DeletionTimestamp != nil }); len(stay) > 0 {
		copies = stay
	}
	svc := slices.MaxFunc(copies, func(a, b corev1.Service) int { return objects.CompareAge(&a, &b) })
	out, address := behind(svc, vmsBehind), services.LoadBalancerAddress(svc)
	if out.Pending = address == ""; services.Address(address).Is4() {
		out.LoadBalancer = services.Address(address)
	}
	return out
}

// Documented returns the VMs at the target ports of the Service <cluster>-apps. Names do not resolve to its load balancer:
// the Service has no endpoints, or its selector matches the pods of the VMs, which do not answer.
func Documented(o objects.Objects) Ingress {
	svc, ok := services.Named(o.Services, ServiceName(o.HostedCluster))
	if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return Ingress{}
	}
	return behind(svc, func(_ corev1.Service, p corev1.ServicePort) network.Backend {
		return allVMs(services.PortNumber(p.TargetPort.IntVal))
	})
}

// behind returns the ingress at the ports of svc, without a load balancer. Function of returns the backend for a port. A port
// without a numeric target port is left out.
func behind(svc corev1.Service, of func(corev1.Service, corev1.ServicePort) network.Backend) (out Ingress) {
	for _, p := range svc.Spec.Ports {
		switch {
		case services.PortNumber(p.TargetPort.IntVal) == 0 || p.Protocol != corev1.ProtocolTCP && p.Protocol != "":
		case p.Port == network.PortHTTPS:
			out.HTTPS = of(svc, p)
		case p.Port == network.PortHTTP:
			out.HTTP = of(svc, p)
		}
	}
	return out
}

func vmsBehind(svc corev1.Service, p corev1.ServicePort) network.Backend {
	b := services.BackendAt(svc, p)
	b.Kind, b.ClusterIP = network.BackendVMs, netip.Addr{}
	b.TargetPort = services.PortNumber(p.TargetPort.IntVal)
	return b
}

// allVMs returns the backend of all VMs at port, or the zero Backend if port is 0.
func allVMs(port uint16) network.Backend {
	if port == 0 {
		return network.Backend{}
	}
	return network.Backend{Kind: network.BackendVMs, Name: fmt.Sprintf("vms:%d", port), Port: port}
}

// HostNetwork returns all VMs at the ports of s, or the zero Ingress if s has another type.
func HostNetwork(s operatorv1.EndpointPublishingStrategy) Ingress {
	if s.Type != operatorv1.HostNetworkStrategyType {
		return Ingress{}
	}
	ports := cmp.Or(s.HostNetwork, &operatorv1.HostNetworkStrategy{})
	return Ingress{
		HTTPS: allVMs(services.PortNumber(cmp.Or(ports.HTTPSPort, network.PortHTTPS))),
		HTTP:  allVMs(services.PortNumber(cmp.Or(ports.HTTPPort, network.PortHTTP))),
	}
}

// ServiceName returns the name of the Service for *.apps of hc, as HyperShift's documentation has it (docs/content/how-to/kubevirt/ingress-and-dns.md).
func ServiceName(hc *hyperv1.HostedCluster) string { return hc.Name + "-apps" }
