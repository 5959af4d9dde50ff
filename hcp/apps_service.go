// This file makes the Service from which edges learn the ports of a hosted cluster's ingress. The user creates the
// Service if no other object in the management cluster has these ports.

package hcp

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// AppsService returns the Service for *.apps that fixes a problem in ps. It returns nil if no problem needs the
// Service, or if Kubernetes would not accept its name.
//
// Its target ports are the node ports of the ingress. An unknown node port becomes a shell variable, such as
// "$HTTPS_NODE_PORT". The API server refuses the Service if no shell replaces the variable. There is no selector,
// because the pods of VMs that boot from another network do not answer at these ports.
func AppsService(o objects.Objects, ps problem.Problems) *applycorev1.ServiceApplyConfiguration {
	name, namespace := ingress.ServiceName(o.HostedCluster), objects.ControlPlaneNamespace(o.HostedCluster)
	if !needsAppsService(ps) || len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsDNS1123Label(namespace)) > 0 {
		return nil
	}
	https, http := intstr.FromString("$HTTPS_NODE_PORT"), intstr.FromString("$HTTP_NODE_PORT")
	var known []corev1.ServicePort
	if i := slices.IndexFunc(o.Services, func(s corev1.Service) bool { return s.Name == name }); i >= 0 {
		known = o.Services[i].Spec.Ports // The Service may have another type.
	}
	for _, p := range known {
		switch to := p.TargetPort; {
		case to.IntVal == 0 || to.IntVal == p.Port: // If the user sets no target, Kubernetes sets it to the port.
		case p.Port == network.PortHTTPS:
			https = to
		case p.Port == network.PortHTTP:
			http = to
		}
	}
	port := func(name string, number int32, target intstr.IntOrString) *applycorev1.ServicePortApplyConfiguration {
		return applycorev1.ServicePort().WithName(name).WithPort(number).WithTargetPort(target)
	}
	return applycorev1.Service(name, namespace).WithSpec(applycorev1.ServiceSpec().WithType(corev1.ServiceTypeLoadBalancer).
		WithPorts(port("https", network.PortHTTPS, https), port("http", network.PortHTTP, http)))
}

func needsAppsService(ps problem.Problems) bool {
	fixed := []problem.Cause{problem.IngressAddressMissing, problem.IngressAddressUnknown, problem.IngressTypeIgnored, problem.IngressCopyPending, problem.LastGoodIngress}
	return slices.ContainsFunc(ps, func(p problem.Problem) bool { return slices.Contains(fixed, p.Cause) })
}
