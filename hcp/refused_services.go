// This file finds what HyperShift or Kubernetes refuses of spec.services, from the HostedCluster alone.

package hcp

import (
	"maps"
	"slices"
	"strconv"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refusedServices returns the problems of spec.services for which HyperShift or Kubernetes refuses a service: one is
// missing (infra.go of the control plane operator), two have one host name (validatePublishingStrategyMapping) or one
// node port, or a node port is out of range. Where HyperShift's webhook is installed, it adds missing ones. The API
// server refuses an empty list. A Service that exists has its port already.
func refusedServices(o objects.Objects) (ps problem.Problems) {
	hc, hosts, ports, has := o.HostedCluster, map[string][]string{}, map[string][]string{}, map[hyperv1.ServiceType]bool{}
	add := func(c problem.Cause, args problem.Args) {
		ps = append(ps, problem.New(c, problem.Subject{}, args, "spec.services"))
	}
	published := objects.PublishedServices(hc)
	isPublished := func(t hyperv1.ServiceType) bool {
		return slices.ContainsFunc(published, func(s network.PublishedService) bool { return s.Type == string(t) })
	}
	for _, m := range hc.Spec.Services {
		has[m.Service] = true
		switch {
		case m.Type == hyperv1.LoadBalancer && m.LoadBalancer != nil && m.LoadBalancer.Hostname != "":
			hosts[m.LoadBalancer.Hostname] = append(hosts[m.LoadBalancer.Hostname], string(m.Service))
		case m.Type == hyperv1.Route && m.Route != nil && m.Route.Hostname != "":
			hosts[m.Route.Hostname] = append(hosts[m.Route.Hostname], string(m.Service))
		case m.Type == hyperv1.NodePort && m.NodePort != nil && m.NodePort.Port != 0 && isPublished(m.Service):
			port := strconv.Itoa(int(m.NodePort.Port))
			ports[port] = append(ports[port], string(m.Service))
			if !hasNodePort(o.Services, m.NodePort.Port) && (m.NodePort.Port < 30000 || m.NodePort.Port > 32767) {
				add(problem.NodePortOutOfRange, problem.Args{"service": {string(m.Service)}, "port": {port}})
			}
		}
	}
	for _, s := range published {
		if len(has) > 0 && !has[hyperv1.ServiceType(s.Type)] && !hc.CreationTimestamp.IsZero() {
			add(problem.ServiceNotPublished, problem.Args{"service": {s.Type}})
		}
	}
	repeated := func(c problem.Cause, key string, all map[string][]string) {
		for _, at := range slices.Sorted(maps.Keys(all)) {
			if len(all[at]) > 1 {
				add(c, problem.Args{"services": all[at], key: {at}})
			}
		}
	}
	repeated(problem.PublishedHostRepeated, "host", hosts)
	repeated(problem.NodePortRepeated, "port", ports)
	return ps
}

func hasNodePort(all []corev1.Service, port int32) bool {
	return slices.ContainsFunc(all, func(s corev1.Service) bool {
		return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
	})
}
