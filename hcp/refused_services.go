// This file finds entries of spec.services, port ranges, certificate names and ingress domains of a HostedCluster that
// HyperShift or Kubernetes refuses.

package hcp

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refusedServices returns the problems for which HyperShift or Kubernetes refuses spec.services. A service is missing
// (infra.go of the control plane operator), or a node port is out of range. Or two services have the same host name
// (validatePublishingStrategyMapping) or the same node port. Or the host name of a Route has capital letters. A
// HostedCluster that does not exist yet may lack services, because HyperShift's webhook adds them where it is installed.
// An empty list is not reported, because the API server refuses it. A node port that a Service already has is not out of
// range.
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
			if host := m.Route.Hostname; host != strings.ToLower(host) && isPublished(m.Service) { // library-go, pkg/route/validation
				add(problem.RouteHostCapital, problem.Args{"service": {string(m.Service)}, "host": {host}})
			}
		}
	}
	for _, at := range fixedNodePorts(hc) {
		port := strconv.Itoa(int(at.port))
		ports[port] = append(ports[port], at.service)
		if !hasNodePort(o.Services, at.port) && (at.port < 30000 || at.port > 32767) {
			add(problem.NodePortOutOfRange, problem.Args{"service": {at.service}, "port": {port}})
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
	return append(ps, refusedPortRange(hc)...)
}

// A fixedNodePort is a node port that spec.services sets for a service.
type fixedNodePort struct {
	service string
	port    int32
}

// fixedNodePorts returns the node ports in spec.services of hc at which HyperShift publishes services. The list has at most 6 entries.
func fixedNodePorts(hc *hyperv1.HostedCluster) (out []fixedNodePort) {
	published := objects.PublishedServices(hc)
	for _, m := range hc.Spec.Services {
		is := func(s network.PublishedService) bool { return s.Type == string(m.Service) }
		if m.Type == hyperv1.NodePort && m.NodePort != nil && m.NodePort.Port != 0 && slices.ContainsFunc(published, is) {
			out = append(out, fixedNodePort{string(m.Service), m.NodePort.Port})
		}
	}
	return out
}

// NodePortsOfOther returns a problem for each node port that both o's cluster and another one set, unless a Service of o has
// it. Only one cluster can have it, whatever networks they use.
func NodePortsOfOther(o objects.Objects, other *hyperv1.HostedCluster) (ps problem.Problems) {
	theirs := fixedNodePorts(other)
	for _, at := range fixedNodePorts(o.HostedCluster) {
		i := slices.IndexFunc(theirs, func(x fixedNodePort) bool { return x.port == at.port })
		if i >= 0 && !hasNodePort(o.Services, at.port) {
			services := problem.Values{at.service, theirs[i].service + " of HostedCluster " + other.Namespace + "/" + other.Name}
			ps = append(ps, problem.New(problem.NodePortRepeated, problem.Subject{}, problem.Args{"services": services, "port": {strconv.Itoa(int(at.port))}}, "spec.services"))
		}
	}
	return ps
}

// refusedPortRange returns a problem if the NodePort range of the Services of hc is invalid, or lacks the node port of
// the API server. HyperShift 0.1.74 compares the range with that node port (validateNodePortPortRange in its
// hostedcluster_controller.go), although they are ports of two clusters.
func refusedPortRange(hc *hyperv1.HostedCluster) problem.Problems {
	const field = "spec.configuration.network.serviceNodePortRange"
	c := hc.Spec.Configuration
	if c == nil || c.Network == nil || c.Network.ServiceNodePortRange == "" {
		return nil
	}
	text := c.Network.ServiceNodePortRange
	least, most, valid := services.NodePortRange(text)
	if !valid {
		return problem.Problems{problem.New(problem.NodePortRangeInvalid, problem.Subject{}, problem.Args{"range": {text}}, field)}
	}
	if hc.Status.ControlPlaneEndpoint.Host != "" { // The HyperShift that created the control plane did not compare.
		return nil
	}
	for _, m := range hc.Spec.Services {
		if m.Service != hyperv1.APIServer || m.Type != hyperv1.NodePort || m.NodePort == nil || m.NodePort.Port <= 0 {
			continue
		}
		if port := int64(m.NodePort.Port); port < least || port > most {
			return problem.Problems{problem.New(problem.NodePortNotInRange, problem.Subject{}, problem.Args{"service": {string(m.Service)}, "port": {strconv.FormatInt(port, 10)}, "range": {text}}, field, "spec.services")}
		}
	}
	return nil
}

// refusedCertificates returns a problem if servingCerts of hc lists names that HyperShift's own certificate of the API
// server covers. HyperShift refuses these names, some only once its own certificate exists (ValidateOCPAPIServerSANs in
// validations/ocpapiserver.go). The certificates themselves are not read.
func refusedCertificates(hc *hyperv1.HostedCluster) problem.Problems {
	_, skips := hc.Annotations[hyperv1.SkipKASConflicSANValidation]
	_, ofUser := hc.Annotations[hyperv1.DisablePKIReconciliationAnnotation]
	c := hc.Spec.Configuration
	if skips || ofUser || c == nil || c.APIServer == nil {
		return nil
	}
	own := []string{"localhost", "api." + hc.Name + ".hypershift.local", "kube-apiserver"}
	for _, domain := range []string{"", ".default", ".default.svc", ".default.svc.cluster.local"} {
		own = append(own, "kubernetes"+domain, "openshift"+domain)
	}
	for _, domain := range []string{".svc", ".svc.cluster.local"} {
		own = append(own, "kube-apiserver."+objects.ControlPlaneNamespace(hc)+domain)
	}
	for _, m := range hc.Spec.Services {
		switch {
		case m.Service != hyperv1.APIServer:
		case m.LoadBalancer != nil:
			own = append(own, m.LoadBalancer.Hostname)
		case m.Route != nil:
			own = append(own, m.Route.Hostname)
		case m.NodePort != nil && net.ParseIP(m.NodePort.Address) == nil:
			own = append(own, m.NodePort.Address)
		}
	}
	covers := func(wildcard, name string) bool {
		_, parent, ok := strings.Cut(name, ".")
		return ok && wildcard == "*."+parent
	}
	var refused []string
	for _, certificate := range c.APIServer.ServingCerts.NamedCertificates {
		for _, name := range certificate.Names {
			if name != "" && slices.ContainsFunc(own, func(o string) bool { return name == o || covers(name, o) || covers(o, name) }) {
				refused = append(refused, name)
			}
		}
	}
	if len(refused) == 0 {
		return nil
	}
	slices.Sort(refused)
	return problem.Problems{problem.New(problem.CertificateNamesRefused, problem.Subject{}, problem.Args{"names": slices.Compact(refused)}, "spec.configuration.apiServer.servingCerts")}
}

// refusedDomain returns a problem if the domain of the ingress of hc is below the domain of Services, or has capital
// letters. HyperShift sets it in the configuration of the OpenShift API server (v2/oapi/config.go), which refuses capital
// letters (library-go, pkg/route/hostassignment).
func refusedDomain(hc *hyperv1.HostedCluster) problem.Problems {
	domain, cause := ingress.Domain(hc), problem.IngressDomainCapital
	switch lower := strings.ToLower(domain); {
	case strings.HasSuffix(lower, ".cluster.local"):
		cause = problem.IngressDomainInside
	case domain == lower:
		return nil
	}
	return problem.Problems{problem.New(cause, problem.Subject{}, problem.Args{"domain": {domain}}, "spec.dns", "spec.configuration.ingress")}
}

func hasNodePort(all []corev1.Service, port int32) bool {
	return slices.ContainsFunc(all, func(s corev1.Service) bool {
		return slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.NodePort == port })
	})
}
