// This file finds the Service and the port behind an endpoint.

package hcp

import (
	"fmt"
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/network"
)

// service returns the Service with that name. ok is false if there is none.
func service(o Objects, name string) (svc corev1.Service, ok bool) {
	for _, s := range o.Services {
		if s.Name == name {
			return s, true
		}
	}
	return corev1.Service{}, false
}

// backend returns the port of a Service that a Route names. A nil port means the first
// port of the Service: HyperShift's own Routes name no port.
func backend(o Objects, name string, port *routev1.RoutePort) (network.Backend, *network.Problem) {
	object := "Service " + name
	svc, ok := service(o, name)
	if !ok || len(svc.Spec.Ports) == 0 {
		return network.Backend{}, problemOf(network.EndpointServiceMissing, network.Args{"object": object})
	}
	i := 0
	if port != nil {
		i = slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return routedTo(p, port.TargetPort) })
	}
	if i < 0 {
		return network.Backend{}, problemOf(network.EndpointPortMissing, network.Args{"object": object, "port": port.TargetPort.String()})
	}
	return backendAt(svc, svc.Spec.Ports[i]), nil
}

// routedTo reports whether target, the target port of a Route, selects p. Like
// OpenShift's router, it compares the name of p or the port of its pods.
func routedTo(p corev1.ServicePort, target intstr.IntOrString) bool {
	if target.Type == intstr.String {
		return p.Name == target.StrVal
	}
	return p.TargetPort.IntVal == target.IntVal || p.TargetPort == intstr.IntOrString{} && p.Port == target.IntVal
}

// backendAt returns the backend for one port of svc.
func backendAt(svc corev1.Service, port corev1.ServicePort) network.Backend {
	b := network.Backend{Name: fmt.Sprintf("%s:%d", svc.Name, port.Port), Service: svc.Name, Port: uint16(port.Port), PortName: port.Name}
	for _, ip := range append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...) {
		if a := parsed(ip); a.Is4() && !b.ClusterIP.IsValid() {
			b.ClusterIP = a
		}
	}
	return b
}
