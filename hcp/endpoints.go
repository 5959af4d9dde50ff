// This file decides what machines must reach, and which Service answers. It is
// the table of service and strategy, read from where HyperShift wrote it:
//
//	service        strategy            dialled at                        read from
//	APIServer      any                 status.controlPlaneEndpoint       HostedCluster
//	Ignition       Route               .spec.host : 443                  Route ignition-server
//	               NodePort            status.ignitionEndpoint           HostedCluster
//	OAuth          Route               .spec.host : 443                  Route oauth
//	               NodePort            nodePort.address : its nodePort   spec, Service oauth-openshift
//	Konnectivity   Route               .spec.host : 443                  Route konnectivity-server
//	               NodePort            nodePort.address : its nodePort   spec, Service konnectivity-server
//	               LoadBalancer        hostname or status : 8091         spec, Service konnectivity-server
//	others         Route               .spec.host : 443                  every passthrough Route
//
// What is not there yet is waited for.

package hcp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
)

// A published service: what HyperShift calls it, the Route it has under the
// Route strategy, and the Service that answers.
type published struct {
	service hyperv1.ServiceType
	route   string
	backend string
	// strategies that HyperShift carries out on KubeVirt.
	strategies []hyperv1.PublishingStrategyType
}

func publishedServices(hc *hyperv1.HostedCluster) []published {
	all := []published{
		{hyperv1.APIServer, "kube-apiserver", "kube-apiserver", []hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.NodePort, hyperv1.Route}},
		{hyperv1.Ignition, "ignition-server", "ignition-server-proxy", []hyperv1.PublishingStrategyType{hyperv1.NodePort, hyperv1.Route}},
		{hyperv1.Konnectivity, "konnectivity-server", "konnectivity-server", []hyperv1.PublishingStrategyType{hyperv1.LoadBalancer, hyperv1.NodePort, hyperv1.Route}},
		{hyperv1.OAuthServer, "oauth", "oauth-openshift", []hyperv1.PublishingStrategyType{hyperv1.NodePort, hyperv1.Route}},
	}
	c := hc.Spec.Configuration
	if c != nil && c.Authentication != nil && c.Authentication.Type == configv1.AuthenticationTypeOIDC {
		return all[:3]
	}
	return all
}

// endpoints are all that machines must reach, and what is still missing.
func endpoints(o Objects) ([]network.Endpoint, network.Problems) {
	var out []network.Endpoint
	var problems network.Problems
	for _, p := range publishedServices(o.HostedCluster) {
		strategy := strategyOf(o.HostedCluster, p.service)
		if bad := illegal(p, strategy); bad != nil {
			problems = append(problems, *bad)
			continue
		}
		e, problem := publishedEndpoint(o, p, strategy)
		if problem != nil {
			problems = append(problems, *problem)
			continue
		}
		out = append(out, e)
	}
	more, ps := routeEndpoints(o, out)
	return append(out, more...), append(problems, ps...)
}

// strategyOf is what the spec says of s, the zero strategy where it says nothing.
func strategyOf(hc *hyperv1.HostedCluster, s hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, m := range hc.Spec.Services {
		if m.Service == s {
			return m.ServicePublishingStrategy
		}
	}
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
}

func field(s hyperv1.ServiceType, rest string) string {
	return fmt.Sprintf("spec.services[%s].servicePublishingStrategy.%s", s, rest)
}

// illegal is a pair of service and strategy that HyperShift accepts in a
// HostedCluster and then does not carry out.
func illegal(p published, s hyperv1.ServicePublishingStrategy) *network.Problem {
	problem := network.Problem{Reason: network.PublishingUnsupported, Blocking: true}
	switch {
	case !slices.Contains(p.strategies, s.Type):
		problem.Field = field(p.service, "type")
		problem.Detail = fmt.Sprintf("%s: HyperShift does not publish %s by %s on KubeVirt. The strategy can't be changed later: create the cluster with one of %v.", problem.Field, p.service, s.Type, p.strategies)
	case s.Type == hyperv1.NodePort && (s.NodePort == nil || s.NodePort.Address == ""):
		problem.Field = field(p.service, "nodePort.address")
		problem.Detail = fmt.Sprintf("%s is empty: %s is published by NodePort without an address, so machines have nothing to dial. Create the cluster with an address.", problem.Field, p.service)
	case p.service == hyperv1.APIServer && s.Type == hyperv1.Route && (s.Route == nil || s.Route.Hostname == ""):
		problem.Field = field(p.service, "route.hostname")
		problem.Detail = problem.Field + " is empty: HyperShift refuses to publish the API server by a Route without a host name. Create the cluster with one."
	default:
		return nil
	}
	return &problem
}

func publishedEndpoint(o Objects, p published, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *network.Problem) {
	var e network.Endpoint
	var problem *network.Problem
	switch {
	case p.service == hyperv1.APIServer:
		e, problem = apiServer(o)
	case s.Type == hyperv1.Route:
		e, problem = byRoute(o, p)
	case p.service == hyperv1.Ignition:
		e, problem = ignitionByNodePort(o, p)
	case s.Type == hyperv1.LoadBalancer:
		e, problem = byLoadBalancer(o, p, s)
	default:
		e, problem = byNodePort(o, p, s)
	}
	if problem != nil {
		return e, problem
	}
	if len(e.Hosts) == 0 && len(e.Addresses) == 0 {
		return e, &network.Problem{Reason: network.IPv6NotServed, Field: field(p.service, "type"), Blocking: p.service == hyperv1.APIServer,
			Detail: fmt.Sprintf("%s is published at an IPv6 address, which is not served. Publish it by a host name or an IPv4 address.", p.service)}
	}
	e.Name = p.route
	e.Backend, problem = backend(o, p.backend)
	if problem != nil && p.service == hyperv1.APIServer {
		problem.Reason = network.WaitingForControlPlane
	}
	return e, problem
}

// apiServer is at status.controlPlaneEndpoint, the one place that says what
// nodes dial for the API, whatever the strategy. Its clients send the host
// name, an in-cluster name or no server name at all.
func apiServer(o Objects) (network.Endpoint, *network.Problem) {
	ep := o.HostedCluster.Status.ControlPlaneEndpoint
	if ep.Host == "" || ep.Port == 0 {
		return network.Endpoint{}, &network.Problem{Reason: network.WaitingForControlPlane, Field: "status.controlPlaneEndpoint",
			Detail: "HyperShift has not yet said where the API server is published. It will be at " + announced(strategyOf(o.HostedCluster, hyperv1.APIServer)) + "."}
	}
	e := dialledAt(ep.Host, uint16(ep.Port), network.MatchAny)
	if name := o.HostedCluster.Spec.KubeAPIServerDNSName; name != "" {
		e.Hosts = append(e.Hosts, name)
	}
	return e, nil
}

// announced is what the spec alone lets one expect. It is told, never served.
func announced(s hyperv1.ServicePublishingStrategy) string {
	switch {
	case s.Type == hyperv1.Route && s.Route != nil && s.Route.Hostname != "":
		return s.Route.Hostname + ":443"
	case s.Type == hyperv1.Route:
		return "the host that its Route gets, port 443"
	case s.Type == hyperv1.NodePort && s.NodePort != nil:
		return s.NodePort.Address + ", at the node port of its Service"
	case s.LoadBalancer != nil && s.LoadBalancer.Hostname != "":
		return s.LoadBalancer.Hostname + ", once its load balancer is provisioned"
	}
	return "the address that its load balancer gets"
}

func byRoute(o Objects, p published) (network.Endpoint, *network.Problem) {
	for _, r := range o.Routes {
		if r.Name == p.route && r.Spec.Host != "" {
			return dialledAt(r.Spec.Host, 443, network.MatchServerName), nil
		}
	}
	return network.Endpoint{}, waiting(p.service, "Route "+p.route, "its Route has no host yet. It will be at "+announced(strategyOf(o.HostedCluster, p.service)))
}

func ignitionByNodePort(o Objects, p published) (network.Endpoint, *network.Problem) {
	ap := o.HostedCluster.Status.IgnitionEndpoint
	host, port, ok := cutPort(ap)
	if !ok {
		return network.Endpoint{}, waiting(p.service, "status.ignitionEndpoint", "HyperShift has not yet said where it is published. It will be at "+announced(strategyOf(o.HostedCluster, p.service)))
	}
	return dialledAt(host, port, network.MatchAny), nil
}

func byNodePort(o Objects, p published, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *network.Problem) {
	svc, ok := service(o, p.backend)
	if !ok || len(svc.Spec.Ports) == 0 || svc.Spec.Ports[0].NodePort == 0 {
		return network.Endpoint{}, waiting(p.service, "Service "+p.backend, "its Service has no node port yet. It will be at "+announced(s))
	}
	return dialledAt(s.NodePort.Address, uint16(svc.Spec.Ports[0].NodePort), network.MatchAny), nil
}

func byLoadBalancer(o Objects, p published, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *network.Problem) {
	svc, ok := service(o, p.backend)
	if !ok || len(svc.Spec.Ports) == 0 || len(svc.Status.LoadBalancer.Ingress) == 0 {
		return network.Endpoint{}, waiting(p.service, "Service "+p.backend, "its load balancer is not provisioned yet")
	}
	ingress := svc.Status.LoadBalancer.Ingress[0]
	host := cmp.Or(ingress.Hostname, ingress.IP)
	if s.LoadBalancer != nil && s.LoadBalancer.Hostname != "" {
		host = s.LoadBalancer.Hostname
	}
	return dialledAt(host, uint16(svc.Spec.Ports[0].Port), network.MatchAny), nil
}

// routeEndpoints are the passthrough Routes that no published service has, as
// HyperShift may add more.
func routeEndpoints(o Objects, have []network.Endpoint) ([]network.Endpoint, network.Problems) {
	var out []network.Endpoint
	var problems network.Problems
	for _, r := range o.Routes {
		known := slices.ContainsFunc(have, func(e network.Endpoint) bool {
			return e.Name == r.Name || slices.Contains(e.Hosts, r.Spec.Host)
		})
		if known || !forMachines(r) {
			continue
		}
		e := dialledAt(r.Spec.Host, 443, network.MatchServerName)
		e.Name = r.Name
		b, problem := backend(o, r.Spec.To.Name)
		if len(e.Hosts) == 0 || problem != nil {
			problems = append(problems, network.Problem{Reason: network.PublishingUnsupported, Field: "Route " + r.Name, Detail: fmt.Sprintf(
				"Route %s is left out: it needs a DNS name as its host (it has %s) and a Service with a port (it names %s).", r.Name, r.Spec.Host, r.Spec.To.Name)})
			continue
		}
		e.Backend = b
		out = append(out, e)
	}
	return out, problems
}

// forMachines says whether a Route is one that machines may dial: passthrough,
// for one exact host, not HyperShift's internal one, and not one of the four
// services, which are read by their strategy.
func forMachines(r routev1.Route) bool {
	if r.Spec.Host == "" || r.Spec.TLS == nil || r.Spec.TLS.Termination != routev1.TLSTerminationPassthrough {
		return false
	}
	if r.Spec.WildcardPolicy == routev1.WildcardPolicySubdomain || r.Labels["hypershift.openshift.io/internal-route"] == "true" {
		return false
	}
	return !slices.Contains([]string{"kube-apiserver", "ignition-server", "konnectivity-server", "oauth"}, r.Name)
}

// dialledAt is an endpoint at a name or a bare IPv4 address. An IPv6 address
// gives neither.
func dialledAt(host string, port uint16, m network.Match) network.Endpoint {
	e := network.Endpoint{Port: port, Match: m}
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		e.Hosts = []string{strings.ToLower(strings.TrimSuffix(host, "."))}
	case a.Unmap().Is4():
		e.Addresses = []netip.Addr{a.Unmap()}
	}
	return e
}

func cutPort(s string) (host string, port uint16, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(s[i+1:], "%d", &port); err != nil || port == 0 {
		return "", 0, false
	}
	return strings.Trim(s[:i], "[]"), port, true
}

func service(o Objects, name string) (corev1.Service, bool) {
	for _, s := range o.Services {
		if s.Name == name {
			return s, true
		}
	}
	return corev1.Service{}, false
}

// backend is a Service's first port: HyperShift's Routes name none.
func backend(o Objects, name string) (network.Backend, *network.Problem) {
	svc, ok := service(o, name)
	if !ok || len(svc.Spec.Ports) == 0 {
		return network.Backend{}, &network.Problem{Reason: network.WaitingForEndpoint, Field: "Service " + name,
			Detail: fmt.Sprintf("Service %s is not there yet.", name)}
	}
	port := svc.Spec.Ports[0]
	b := network.Backend{Name: fmt.Sprintf("%s:%d", name, port.Port), Service: name, Port: uint16(port.Port), PortName: port.Name}
	if a, err := netip.ParseAddr(svc.Spec.ClusterIP); err == nil && a.Is4() {
		b.ClusterIP = a
	}
	return b, nil
}

func waiting(s hyperv1.ServiceType, at, why string) *network.Problem {
	return &network.Problem{Reason: network.WaitingForEndpoint, Field: at, Detail: fmt.Sprintf("%s is not served yet: %s.", s, why)}
}
