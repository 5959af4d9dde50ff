// This file finds the Service and the port behind an endpoint.

package endpoints

import (
	"slices"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// backend returns the backend for a Service at the port of a Route. A nil port is the first port of the Service, as in
// HyperShift's own Routes.
func backend(o objects.Objects, name string, port *routev1.RoutePort) (network.Backend, *problem.Problem) {
	object := "Service " + name
	svc, ok := services.Named(o.Services, name)
	if !ok || len(svc.Spec.Ports) == 0 {
		return network.Backend{}, problemOf(problem.EndpointServiceMissing, problem.Args{"object": {object}})
	}
	i := 0
	if port != nil {
		i = routeTo(svc.Spec.Ports, port.TargetPort)
	}
	if i < 0 {
		return network.Backend{}, problemOf(problem.EndpointPortMissing, problem.Args{"object": {object}, "port": {port.TargetPort.String()}})
	}
	return services.BackendAt(svc, svc.Spec.Ports[i]), nil
}

// routeTo returns the index of the port that target, of a Route, selects, or -1. A number that matches no port may be that of a port of the
// pods that the Service gives by name. Then routeTo returns the only port with a named target port, or -1 if there are none or several.
func routeTo(ports []corev1.ServicePort, target intstr.IntOrString) int {
	if i := slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return routedTo(p, target) }); i >= 0 || target.Type == intstr.String {
		return i
	}
	byName := func(p corev1.ServicePort) bool { return p.TargetPort.Type == intstr.String }
	i := slices.IndexFunc(ports, byName)
	if i >= 0 && slices.ContainsFunc(ports[i+1:], byName) {
		return -1
	}
	return i
}

// routedTo reports whether the name of p, or the port of its pods, is a Route's target port, as OpenShift's router
// compares them.
func routedTo(p corev1.ServicePort, target intstr.IntOrString) bool {
	if target.Type == intstr.String {
		return p.Name == target.StrVal
	}
	return p.TargetPort.IntVal == target.IntVal || p.TargetPort == intstr.IntOrString{} && p.Port == target.IntVal
}

// portInvalid returns the problem that a port of e is not from 1 to 65535. It is an Error if
// nodes need the endpoint.
func portInvalid(e network.Endpoint) *problem.Problem {
	p := newProblem(problem.EndpointPortInvalid, endpoint(e.Name), nil)
	if !e.NeededByNodes() {
		p.Severity = problem.SeverityWarning
	}
	return p
}
