// This file decides the address or the backend of *.apps of the hosted cluster. Its ingress runs on the VMs. The first match wins:
//
//	annotation apps-address, or a record in dns-records   that address
//	spec.platform.kubevirt.baseDomainPassthrough          the VMs, at the node port of HyperShift's passthrough Service
//	the cluster's ingress, type LoadBalancerService       the VMs, at the node ports in the cloud provider's copy of its
//	                                                      Service
//	Service <cluster>-apps of type LoadBalancer           the VMs, at its target ports
//	the cluster's ingress, type HostNetwork               the VMs, at its ports
//	otherwise                                             a problem
//
// If one of these Services has a load balancer with an address on the network, names resolve to that address.
//
// Port 443 is served, and port 80 if one of these matches has a backend for it. A cluster without the ingress
// capability has no *.apps, and no problem is reported.

package endpoints

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	operatorv1 "github.com/openshift/api/operator/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// routerNamespace and routerService name the Service of the default ingress of type LoadBalancerService in the
	// hosted cluster, as OpenShift defines. The cloud provider copies this Service into the control plane namespace.
	// HyperShift also writes the VMs' addresses to the EndpointSlices of the copy.
	routerNamespace, routerService = "openshift-ingress", "router-default"
	appsEndpoint                   = "apps"
)

// apps returns the record of *.apps if the user set its address, else the ingress's endpoints.
func apps(o objects.Objects, in network.Request, s settings.Values, last network.Plan) Reachable {
	var r Reachable
	hc := o.HostedCluster
	if !hasPrimary(in) || !enabled(hc, hyperv1.IngressCapability) {
		return r
	}
	if field := passthroughField(o); field != "" {
		r.Problems = append(r.Problems, problem.New(problem.PassthroughIneffective, problem.Subject{}, problem.Args{"field": {field}}, field))
	}
	e := network.Endpoint{Name: appsEndpoint, Origin: network.OriginApps, Port: network.PortHTTPS, Match: network.MatchServerName}
	name := AppsName(hc)
	if name == "" {
		cause := problem.BaseDomainMissing
		if passesThrough(hc) {
			cause = problem.BaseDomainPending
		}
		r.add(e, newProblem(cause, endpoint(e.Name), problem.Args{"object": {"spec.dns.baseDomain"}}))
		return r
	}
	further := furtherApps(hc, s)
	e.Hosts = append([]string{name}, further...)
	switch i, found := hostedIngress(o); {
	case s.AppsAddress.IsValid():
		r.Apps = network.Record{Name: name, Addresses: []netip.Addr{s.AppsAddress}}
		r.FurtherApps = further
	case slices.ContainsFunc(s.Records, func(r network.Record) bool { return strings.EqualFold(r.Name, name) }):
		if len(further) > 0 {
			r.Problems = append(r.Problems, problem.New(problem.IngressNameUnresolved, endpoint(e.Name), problem.Args{"names": further, "name": {name}}, network.KeyRecords))
		}
	case found:
		for _, e := range i.endpoints(e) {
			r.add(e, nil)
		}
		if i.pending {
			r.Waiting = append(r.Waiting, e.Name)
		}
		if fault := ingressClosed(o, in, e); fault != nil && routerIngress(o).https == (network.Backend{}) {
			r.Problems = append(r.Problems, *fault)
		}
	default:
		r.add(e, ingressMissing(o, in, e, last))
	}
	return r
}

// ingressClosed returns a problem if the HostedCluster asks for an ingress router that edges cannot connect to, else nil.
// HyperShift applies these settings only when it creates the IngressController. An administrator may change them later, so a
// published ingress is still served. The problem has severity Info if other DNS servers may resolve the name.
func ingressClosed(o objects.Objects, in network.Request, e network.Endpoint) *problem.Problem {
	var cause problem.Cause
	switch of := strategy(o); {
	case speaksPROXY(of):
		cause = problem.IngressWantsPROXY
	case of.Type == operatorv1.PrivateStrategyType:
		cause = problem.IngressPrivate
	default:
		return hostNetworkClosed(o, e)
	}
	p := newProblem(cause, endpoint(e.Name), problem.Args{"name": e.Hosts}, network.KeyAppsAddress)
	if !slices.ContainsFunc(in.Networks, ownNamesOnly) {
		p.Severity = problem.SeverityInfo
	}
	return p
}

// ingressMissing returns the problem that nothing serves e. The problem is Waiting if HyperShift or its cloud provider
// will create a Service, or if a copy of router-default serves e in last, the plan in force. The hosted cluster's
// administrator can create that Service again at any time. If other DNS servers may resolve the name, the severity is
// Info. For a router that edges cannot use, the problem is that of ingressClosed.
func ingressMissing(o objects.Objects, in network.Request, e network.Endpoint, last network.Plan) *problem.Problem {
	subject, hc := endpoint(e.Name), o.HostedCluster
	args := problem.Args{"name": e.Hosts, "service": {objects.ControlPlaneNamespace(hc) + "/" + AppsServiceName(hc)}}
	closed := ingressClosed(o, in, e)
	switch {
	case strategy(o).Type == operatorv1.LoadBalancerServiceStrategyType, slices.ContainsFunc(last.Endpoints, isCopy):
		return newProblem(problem.IngressCopyPending, subject, args, network.KeyAppsAddress)
	case closed != nil:
		return closed
	case passesThrough(hc):
		expected := "Service " + services.PassthroughService + hc.Spec.Platform.Kubevirt.GenerateID
		return newProblem(problem.IngressServicePending, subject, problem.Args{"name": e.Hosts, "object": {expected}})
	case slices.ContainsFunc(in.Networks, ownNamesOnly):
		return newProblem(problem.IngressAddressMissing, subject, args, network.KeyAppsAddress)
	}
	return newProblem(problem.IngressAddressUnknown, subject, args, network.KeyAppsAddress)
}

// isCopy reports whether e is an ingress behind a copy of the Service router-default.
func isCopy(e network.Endpoint) bool {
	return e.Origin == network.OriginApps && e.Backend.Service != "" && !strings.HasPrefix(e.Backend.Service, services.PassthroughService)
}

// ownNamesOnly reports whether VMs that boot from s use only its edges as DNS servers, and these edges ask no other DNS
// server. Then nothing else can resolve *.apps.
func ownNamesOnly(s network.NetworkRequest) bool {
	if !s.Primary || s.Settings.Services != nil && !slices.Contains(s.Settings.Services, network.ServiceDNS) {
		return false
	}
	if up := s.Settings.Upstreams; up != nil {
		return up.Mode == network.UpstreamNone
	}
	return !s.Gateway.IsValid()
}

// passesThrough reports whether hc uses base domain passthrough: its names are below a domain of the management
// cluster, whose router forwards connections to hc's ingress. HyperShift's webhook, if it is installed, sets the field
// of a new object without a base domain.
func passesThrough(hc *hyperv1.HostedCluster) bool {
	if k := hc.Spec.Platform.Kubevirt; k != nil && k.BaseDomainPassthrough != nil {
		return *k.BaseDomainPassthrough
	}
	return hc.Spec.DNS.BaseDomain == "" && hc.CreationTimestamp.IsZero()
}

// passthroughField returns the field of o with which base domain passthrough has no effect, or "" if there is none. The Route
// is for the default domain of the ingress, and its Service has a node port of the ingress
// (hostedclusterconfigoperator/controllers/resources/ingress/reconcile.go).
func passthroughField(o objects.Objects) string {
	hc, set := o.HostedCluster, ""
	if c := hc.Spec.Configuration; c != nil && c.Ingress != nil {
		set = cmp.Or(c.Ingress.AppsDomain, c.Ingress.Domain)
	}
	switch dns := hc.Spec.DNS; {
	case !passesThrough(hc):
		return ""
	case set != "" && dns.BaseDomain != "" && set != "apps."+hc.Name+"."+dns.BaseDomain:
		return "spec.configuration.ingress"
	case set == "" && dns.BaseDomainPrefix != nil && *dns.BaseDomainPrefix != hc.Name:
		return "spec.dns.baseDomainPrefix"
	case strategy(o).Type == operatorv1.HostNetworkStrategyType && passthroughIngress(o).https == (network.Backend{}):
		return "spec.operatorConfiguration.ingressOperator"
	}
	return ""
}

type ingress struct {
	// https and http are the backends of ports 443 and 80. The zero Backend is unknown.
	https, http network.Backend
	// loadBalancer is the address of the ingress's own load balancer. Zero: none.
	loadBalancer netip.Addr
	// pending is true while the load balancer has no address.
	pending bool
}

// endpoints returns https with its backend, and an endpoint for port 80 if i has a backend for it. Clients of port 80
// send no TLS server name, so that endpoint matches all connections.
func (i ingress) endpoints(https network.Endpoint) []network.Endpoint {
	https.Backend, https.LoadBalancer = i.https, i.loadBalancer
	out := []network.Endpoint{https}
	if i.http != (network.Backend{}) {
		http := https
		http.Port, http.Match, http.Backend = network.PortHTTP, network.MatchAny, i.http
		out = append(out, http)
	}
	return out
}

// hostedIngress returns the ingress on the VMs. The backend of each port comes from the first row of the table in this
// file that has one. ok is false if port 443 has no backend.
func hostedIngress(o objects.Objects) (i ingress, ok bool) {
	for _, x := range []ingress{passthroughIngress(o), routerIngress(o), documentedIngress(o), hostNetworkIngress(strategy(o))} {
		if i.https == (network.Backend{}) {
			i.https, i.loadBalancer, i.pending = x.https, x.loadBalancer, x.pending
		}
		if i.http == (network.Backend{}) {
			i.http = x.http
		}
	}
	return i, i.https != (network.Backend{})
}

// passthroughIngress returns the VMs behind HyperShift's Service for base domain passthrough, for port 443 only.
func passthroughIngress(o objects.Objects) ingress {
	k := o.HostedCluster.Spec.Platform.Kubevirt
	if k == nil || k.GenerateID == "" {
		return ingress{}
	}
	svc, ok := service(o, services.PassthroughService+k.GenerateID)
	if !ok || len(svc.Spec.Ports) == 0 {
		return ingress{}
	}
	return ingress{https: vmsBehind(svc, svc.Spec.Ports[0])}
}

// routerIngress returns the VMs behind the copy of the Service router-default.
func routerIngress(o objects.Objects) ingress {
	copies := slices.DeleteFunc(slices.Clone(o.Services), func(s corev1.Service) bool {
		return s.Labels[settings.LabelHostedService] != routerService || s.Labels[services.HostedNamespaceLabel] != routerNamespace
	})
	if len(copies) == 0 {
		return ingress{}
	}
	// If the Service was created again, the newest copy counts. A copy that is being deleted counts only if there is no other.
	if stay := slices.DeleteFunc(slices.Clone(copies), func(s corev1.Service) bool { return s.DeletionTimestamp != nil }); len(stay) > 0 {
		copies = stay
	}
	svc := slices.MaxFunc(copies, func(a, b corev1.Service) int { return objects.CompareAge(&a, &b) })
	return ingressBehind(svc, vmsBehind)
}

// AppsServiceName returns the name of the Service for *.apps of hc, as HyperShift's documentation has it (docs/content/how-to/kubevirt/ingress-and-dns.md).
func AppsServiceName(hc *hyperv1.HostedCluster) string { return hc.Name + "-apps" }

// documentedIngress returns the VMs at the target ports of the Service <cluster>-apps. Its
// EndpointSlices may have the pods of the VMs instead, because its selector often matches these pods.
func documentedIngress(o objects.Objects) ingress {
	svc, ok := service(o, AppsServiceName(o.HostedCluster))
	if !ok || svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ingress{}
	}
	return ingressBehind(svc, func(_ corev1.Service, p corev1.ServicePort) network.Backend {
		return allVMs(services.PortNumber(p.TargetPort.IntVal))
	})
}

// ingressBehind returns the ingress at the ports of svc, and the address of its load balancer. Function of returns the
// backend for a port. A port without a numeric target port is left out.
func ingressBehind(svc corev1.Service, of func(corev1.Service, corev1.ServicePort) network.Backend) ingress {
	address := loadBalancerAddress(svc)
	out := ingress{pending: address == ""}
	if a := services.Address(address); a.Is4() {
		out.loadBalancer = a
	}
	for _, p := range svc.Spec.Ports {
		switch {
		case services.PortNumber(p.TargetPort.IntVal) == 0 || p.Protocol != corev1.ProtocolTCP && p.Protocol != "":
		case p.Port == network.PortHTTPS:
			out.https = of(svc, p)
		case p.Port == network.PortHTTP:
			out.http = of(svc, p)
		}
	}
	return out
}

func vmsBehind(svc corev1.Service, p corev1.ServicePort) network.Backend {
	b := backendAt(svc, p)
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

// strategy returns how the ingress is published, by the rules of HyperShift's ReconcileDefaultIngressController: the
// field, then the annotation for a private ingress, then the default on KubeVirt.
func strategy(o objects.Objects) operatorv1.EndpointPublishingStrategy {
	switch {
	case o.HostedIngress != nil && o.HostedIngress.Type != "":
		return *o.HostedIngress
	case o.HostedCluster.Annotations[hyperv1.PrivateIngressControllerAnnotation] == "true":
		return operatorv1.EndpointPublishingStrategy{Type: operatorv1.PrivateStrategyType}
	}
	return operatorv1.EndpointPublishingStrategy{Type: operatorv1.NodePortServiceStrategyType}
}

// speaksPROXY reports whether the router expects a PROXY protocol header, which edges do not send.
func speaksPROXY(s operatorv1.EndpointPublishingStrategy) bool {
	return s.Type == operatorv1.HostNetworkStrategyType && s.HostNetwork != nil && s.HostNetwork.Protocol == operatorv1.ProxyProtocol ||
		s.Type == operatorv1.NodePortServiceStrategyType && s.NodePort != nil && s.NodePort.Protocol == operatorv1.ProxyProtocol
}

func hostNetworkIngress(s operatorv1.EndpointPublishingStrategy) ingress {
	if s.Type != operatorv1.HostNetworkStrategyType {
		return ingress{}
	}
	ports := cmp.Or(s.HostNetwork, &operatorv1.HostNetworkStrategy{})
	return ingress{
		https: allVMs(services.PortNumber(cmp.Or(ports.HTTPSPort, network.PortHTTPS))),
		http:  allVMs(services.PortNumber(cmp.Or(ports.HTTPPort, network.PortHTTP))),
	}
}

// hostNetworkClosed returns the problem that a router of type HostNetwork may not be at its port. The user's Service has
// another port, or kube-apiserver-proxy, a static pod of each node, has that port (apiserver-haproxy/haproxy.go). Or nil.
func hostNetworkClosed(o objects.Objects, e network.Endpoint) *problem.Problem {
	const field = "spec.operatorConfiguration.ingressOperator"
	own, api := hostNetworkIngress(strategy(o)), cmp.Or(o.HostedCluster.Spec.Networking.APIServer, &hyperv1.APIServerNetworking{})
	if own.https == (network.Backend{}) {
		return nil
	}
	served, _ := hostedIngress(o)
	switch port := services.PortNumber(*cmp.Or(api.Port, new(int32(6443)))); {
	case served.https == documentedIngress(o).https && served.https != own.https:
		return newProblem(problem.IngressPortsDiffer, endpoint(e.Name), problem.Args{"service": {objects.ControlPlaneNamespace(o.HostedCluster) + "/" + AppsServiceName(o.HostedCluster)},
			"port": {strconv.Itoa(int(served.https.Port))}, "otherPort": {strconv.Itoa(int(own.https.Port))}}, field)
	case own.https.Port == port || own.http.Port == port:
		return newProblem(problem.IngressPortInUse, endpoint(e.Name), problem.Args{"name": e.Hosts, "port": {strconv.Itoa(int(port))}}, field, "spec.networking.apiServer.port")
	}
	return nil
}

func enabled(hc *hyperv1.HostedCluster, c hyperv1.OptionalCapability) bool {
	return hc.Spec.Capabilities == nil || !slices.Contains(hc.Spec.Capabilities.Disabled, c)
}

// AppsName returns the wildcard name of the ingress. It is empty if hc has no ingress, or if the domain of the ingress
// is not known yet.
func AppsName(hc *hyperv1.HostedCluster) string {
	domain := AppsDomain(hc)
	if domain == "" || !enabled(hc, hyperv1.IngressCapability) {
		return ""
	}
	return "*." + domain
}

// furtherApps returns the other names of the ingress: spec.configuration.ingress.componentRoutes, and the routes of the
// console if domain differs from appsDomain (openshift/console-operator, pkg/console/subresource/route). It leaves out
// names below other names, and names whose address the user set.
func furtherApps(hc *hyperv1.HostedCluster, s settings.Values) []string {
	c := hc.Spec.Configuration
	if c == nil || c.Ingress == nil {
		return nil
	}
	var out []string
	wildcard := strings.ToLower(AppsName(hc))
	known := func(name string) bool {
		return answeredByUser(s.Settings, name) || slices.Contains(out, name) || network.MatchesHost(wildcard, name)
	}
	var names []string
	if domain := c.Ingress.Domain; domain != "" && domain != AppsDomain(hc) {
		names = append(names, "console-openshift-console."+domain, "downloads-openshift-console."+domain)
	}
	for _, route := range c.Ingress.ComponentRoutes {
		names = append(names, string(route.Hostname))
	}
	for _, n := range names {
		if name, err := settings.DomainName(n); err == nil && !known(name) {
			out = append(out, name)
		}
	}
	return out
}

// AppsDomain returns the ingress domain, as HyperShift's globalconfig.IngressDomain does. It is empty while the base domain is unknown.
func AppsDomain(hc *hyperv1.HostedCluster) string {
	domain := objects.Domain(hc)
	if domain != "" {
		domain = "apps." + domain
	}
	if c := hc.Spec.Configuration; c != nil && c.Ingress != nil {
		return cmp.Or(c.Ingress.AppsDomain, c.Ingress.Domain, domain)
	}
	return domain
}
