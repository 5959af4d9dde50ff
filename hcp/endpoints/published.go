// This file decides which published endpoints VMs must reach, and finds the Service behind each one. It implements
// this table of services and publishing strategies:
//
//	service        strategy            address and port                  read from
//	APIServer      any                 status.controlPlaneEndpoint       HostedCluster
//	Ignition       Route               status.ignitionEndpoint : 443     HostedCluster, else Route ignition-server
//	               NodePort            status.ignitionEndpoint           HostedCluster
//	OAuth          Route               .spec.host : 443                  Route oauth
//	               NodePort            nodePort.address : its nodePort   spec, Service oauth-openshift
//	Konnectivity   Route               .spec.host : 443                  Route konnectivity-server
//	               NodePort            nodePort.address : its nodePort   spec, Service konnectivity-server
//	               LoadBalancer        hostname or status : 8091         spec, Service konnectivity-server
//	others         Route               .spec.host : 443                  every passthrough Route
//
// An endpoint that is not published yet is Waiting.

package endpoints

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func publishedEndpoints(o objects.Objects) Reachable {
	var r Reachable
	for _, p := range objects.PublishedServices(o.HostedCluster) {
		strategy := strategyOf(o.HostedCluster, hyperv1.ServiceType(p.Type))
		if refused := unsupportedStrategy(p, strategy); refused != nil {
			r.Problems = append(r.Problems, *refused)
			continue
		}
		e, fault := publishedEndpoint(o, p, strategy)
		e.Name = p.Endpoint
		r.add(e, fault)
	}
	routeEndpoints(o, &r)
	r.Problems = append(r.Problems, ignitionRoute(o)...)
	return r
}

// strategyOf returns the strategy in spec.services, else the default of HyperShift's webhook for KubeVirt.
func strategyOf(hc *hyperv1.HostedCluster, s hyperv1.ServiceType) hyperv1.ServicePublishingStrategy {
	for _, m := range hc.Spec.Services {
		if m.Service == s {
			return m.ServicePublishingStrategy
		}
	}
	if s == hyperv1.APIServer {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
	}
	return hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}
}

func publishedEndpoint(o objects.Objects, p network.PublishedService, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *problem.Problem) {
	var e network.Endpoint
	var port *routev1.RoutePort
	var fault *problem.Problem
	switch {
	case s.Type == hyperv1.NodePort && services.Address(s.NodePort.Address).Is6():
		return e, atIPv6(p)
	case p.Service == network.APIService:
		e, fault = apiServer(o, s)
	case s.Type == hyperv1.Route:
		e, port, fault = byRoute(o, p, s)
	case p.Service == network.IgnitionService:
		e, fault = ignitionByNodePort(o, p, s)
	case s.Type == hyperv1.LoadBalancer:
		e, fault = byLoadBalancer(o, p, s)
	default:
		e, fault = byNodePort(o, p, s)
	}
	if fault != nil {
		return e, fault
	}
	if len(e.Hosts) == 0 && len(e.Addresses) == 0 {
		return e, atIPv6(p)
	}
	e.Backend, fault = backend(o, p.Service, port)
	if fault != nil && p.Service == network.APIService {
		return e, problemOf(problem.APIServiceMissing, problem.Args{"object": {p.Service}})
	}
	return e, fault
}

// atIPv6 returns the problem of an endpoint at an IPv6 address. It is an Error if nodes need the endpoint.
func atIPv6(p network.PublishedService) *problem.Problem {
	at6 := newProblem(problem.EndpointAtIPv6, endpoint(p.Endpoint), problem.Args{"service": {p.Type}}, network.KeyPublishing)
	if !(network.Endpoint{Name: p.Endpoint}).NeededByNodes() {
		at6.Severity = problem.SeverityWarning
	}
	return at6
}

// apiServer returns the endpoint in status.controlPlaneEndpoint, where every strategy publishes the address for nodes.
// Clients send the host name, an in-cluster name or no TLS server name, so the endpoint matches all connections. Users
// connect to kubeAPIServerDNSName, so it is one of the endpoint's hosts.
func apiServer(o objects.Objects, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *problem.Problem) {
	ep := o.HostedCluster.Status.ControlPlaneEndpoint
	if ep.Host == "" || ep.Port == 0 {
		return network.Endpoint{}, problemOf(problem.APIEndpointUnknown, announced(s, problem.Args{"object": {"status.controlPlaneEndpoint"}}))
	}
	e := endpointAt(ep.Host, services.PortNumber(ep.Port), network.MatchAny)
	if name := o.HostedCluster.Spec.KubeAPIServerDNSName; name != "" && len(e.Hosts)+len(e.Addresses) > 0 {
		e.Hosts = append(e.Hosts, name)
	}
	return e, nil
}

// announced adds to args where HyperShift will publish an endpoint: "at" in words, and "place" as the host or address,
// with the port if it is known. There is no "place" if spec.services names neither a host nor an address.
func announced(s hyperv1.ServicePublishingStrategy, args problem.Args) problem.Args {
	place, rest := "", "the address that its load balancer gets"
	switch {
	case s.Type == hyperv1.Route && s.Route != nil && s.Route.Hostname != "":
		place, rest = s.Route.Hostname+":443", ""
	case s.Type == hyperv1.Route:
		rest = "the host that its Route gets, port 443"
	case s.Type == hyperv1.NodePort && s.NodePort.Port != 0:
		place, rest = fmt.Sprintf("%s:%d", s.NodePort.Address, s.NodePort.Port), ""
	case s.Type == hyperv1.NodePort:
		place, rest = s.NodePort.Address, ", at the node port that its Service gets"
	case s.LoadBalancer != nil && s.LoadBalancer.Hostname != "":
		place, rest = s.LoadBalancer.Hostname, ", once its load balancer is provisioned"
	}
	args["at"] = problem.Values{place + rest}
	if place != "" {
		args["place"] = problem.Values{place}
	}
	return args
}

// byRoute returns the endpoint at the host of p's Route.
func byRoute(o objects.Objects, p network.PublishedService, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *routev1.RoutePort, *problem.Problem) {
	var host string
	var port *routev1.RoutePort
	for _, r := range o.Routes {
		if r.Name == p.Endpoint {
			host, port = r.Spec.Host, r.Spec.Port
		}
	}
	if p.Service == network.IgnitionService {
		host = ignitionHost(o, host)
	}
	if host == "" {
		return network.Endpoint{}, nil, pending(problem.RouteHostPending, p, "Route "+p.Endpoint, s)
	}
	return endpointAt(host, 443, network.MatchServerName), port, nil
}

// ignitionHost returns the host that VMs dial for Ignition: status.ignitionEndpoint, which HyperShift writes to the
// user data of VMs, else route, the host of the Route.
func ignitionHost(o objects.Objects, route string) string {
	host, _ := reach.HostPort(cmp.Or(o.HostedCluster.Status.IgnitionEndpoint, route))
	return host
}

func ignitionByNodePort(o objects.Objects, p network.PublishedService, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *problem.Problem) {
	host, number, _ := net.SplitHostPort(o.HostedCluster.Status.IgnitionEndpoint)
	port := reach.PortNumber(number)
	if port == 0 {
		return network.Endpoint{}, pending(problem.EndpointPending, p, "status.ignitionEndpoint", s)
	}
	return endpointAt(host, port, network.MatchAny), nil
}

func byNodePort(o objects.Objects, p network.PublishedService, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *problem.Problem) {
	svc, ok := services.Named(o.Services, p.Service)
	if !ok || len(svc.Spec.Ports) == 0 || svc.Spec.Ports[0].NodePort == 0 {
		return network.Endpoint{}, pending(problem.NodePortPending, p, "Service "+p.Service, s)
	}
	return endpointAt(s.NodePort.Address, services.PortNumber(svc.Spec.Ports[0].NodePort), network.MatchAny), nil
}

// byLoadBalancer returns the endpoint at a load balancer. A host name in s replaces its address.
func byLoadBalancer(o objects.Objects, p network.PublishedService, s hyperv1.ServicePublishingStrategy) (network.Endpoint, *problem.Problem) {
	svc, ok := services.Named(o.Services, p.Service)
	host := firstIngress(svc)
	if !ok || len(svc.Spec.Ports) == 0 || host == "" {
		return network.Endpoint{}, pending(problem.LoadBalancerPending, p, "Service "+p.Service, s)
	}
	if s.LoadBalancer != nil && s.LoadBalancer.Hostname != "" {
		host = s.LoadBalancer.Hostname
	}
	return endpointAt(host, services.PortNumber(svc.Spec.Ports[0].Port), network.MatchAny), nil
}

// firstIngress returns the address that HyperShift gives to nodes (control-plane-operator, kas/service.go): the host
// name or else the IP address of the first ingress in the status. It is empty until the load balancer is provisioned.
func firstIngress(svc corev1.Service) string {
	for _, i := range svc.Status.LoadBalancer.Ingress {
		return cmp.Or(i.Hostname, i.IP)
	}
	return ""
}

// endpointAt returns an endpoint at a host name or an IPv4 address. For an IPv6 address, the endpoint has neither Hosts nor Addresses.
func endpointAt(host string, port uint16, m network.Match) network.Endpoint {
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

func pending(c problem.Cause, p network.PublishedService, object string, s hyperv1.ServicePublishingStrategy) *problem.Problem {
	return problemOf(c, announced(s, problem.Args{"service": {p.Type}, "object": {object}}))
}
