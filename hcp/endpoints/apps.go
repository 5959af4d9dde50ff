// This file decides the address or the backend of *.apps of the hosted cluster, and what prevents VMs from using it. An
// address that the user sets comes first: annotation apps-address, or a record in dns-records. The backends of package
// ingress come next. If the copy of router-default has a load balancer with an address on the network, names resolve to
// that address. A cluster without the ingress capability has no *.apps, and no problem is reported.

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

	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const appsEndpoint = "apps"

// apps returns the record of *.apps if the user set its address, else the ingress's endpoints.
func apps(o objects.Objects, in network.Request, s settings.Values, last network.Plan) Reachable {
	var r Reachable
	hc := o.HostedCluster
	if !reach.HasPrimary(in) || !objects.Enabled(hc, hyperv1.IngressCapability) {
		return r
	}
	if field := ingress.PassthroughIneffective(o); field != "" {
		r.Problems = append(r.Problems, problem.New(problem.PassthroughIneffective, problem.Subject{}, problem.Args{"field": {field}}, field))
	}
	if route, refused := ingress.RouteRefused(o); refused {
		r.Problems = append(r.Problems, problem.New(problem.PassthroughRouteRefused, problem.Subject{Kind: "Route", Name: route}, problem.Args{"route": {route}}))
	}
	e := network.Endpoint{Name: appsEndpoint, Origin: network.OriginApps, Port: network.PortHTTPS, Match: network.MatchServerName}
	name := ingress.Name(hc)
	if name == "" {
		cause := problem.BaseDomainMissing
		if ingress.PassesThrough(hc) {
			cause = problem.BaseDomainPending
		}
		r.add(e, newProblem(cause, endpoint(e.Name), problem.Args{"object": {"spec.dns.baseDomain"}}))
		return r
	}
	further := furtherApps(hc, s)
	e.Hosts = append([]string{name}, further...)
	switch i, found := ingress.Hosted(o); {
	case s.AppsAddress.IsValid():
		r.Apps = network.Record{Name: name, Addresses: []netip.Addr{s.AppsAddress}}
		r.FurtherApps = further
	case slices.ContainsFunc(s.Records, func(r network.Record) bool { return strings.EqualFold(r.Name, name) }):
		if len(further) > 0 {
			r.Problems = append(r.Problems, problem.New(problem.IngressNameUnresolved, endpoint(e.Name), problem.Args{"names": further, "name": {name}}, network.KeyRecords))
		}
	case found:
		for _, e := range i.Endpoints(e) {
			r.add(e, nil)
		}
		if i.Pending {
			r.Waiting = append(r.Waiting, e.Name)
			if had := func(x network.Endpoint) bool { return isCopy(x) && x.LoadBalancer.IsValid() }; !slices.ContainsFunc(last.Endpoints, had) {
				r.Problems = append(r.Problems, problem.New(problem.IngressLoadBalancerPending, endpoint(e.Name), problem.Args{"name": e.Hosts}))
			}
		}
		nodePort := func(p problem.Problem) bool { return ingress.HasPassthrough(o) && p.Cause != problem.IngressWantsPROXY }
		if fault := ingressClosed(o, in, e); fault != nil && ingress.Router(o).HTTPS == (network.Backend{}) && !nodePort(*fault) {
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
	switch of := ingress.Strategy(o); {
	case ingress.SpeaksPROXY(of):
		cause = problem.IngressWantsPROXY
	case of.Type == operatorv1.PrivateStrategyType:
		cause = problem.IngressPrivate
	case of.Type == operatorv1.NodePortServiceStrategyType:
		return noNodePort(o, e)
	default:
		return hostNetworkClosed(o, e)
	}
	p := newProblem(cause, endpoint(e.Name), problem.Args{"name": e.Hosts, "field": {ingress.StrategySource(o)}}, network.KeyAppsAddress)
	if !slices.ContainsFunc(in.Networks, reach.OwnNamesOnly) {
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
	args := problem.Args{"name": e.Hosts, "service": {objects.ControlPlaneNamespace(hc) + "/" + ingress.ServiceName(hc)}}
	closed := ingressClosed(o, in, e)
	switch {
	case ingress.Strategy(o).Type == operatorv1.LoadBalancerServiceStrategyType, slices.ContainsFunc(last.Endpoints, isCopy):
		return newProblem(problem.IngressCopyPending, subject, args, network.KeyAppsAddress)
	case closed != nil:
		return closed
	case ingress.PassesThrough(hc):
		expected := "Service " + services.PassthroughService + hc.Spec.Platform.Kubevirt.GenerateID
		return newProblem(problem.IngressServicePending, subject, problem.Args{"name": e.Hosts, "object": {expected}})
	}
	isolated := slices.ContainsFunc(in.Networks, reach.OwnNamesOnly)
	if release, ignored := ingress.TypeIgnored(o); ignored {
		args["release"] = problem.Values{release.String()}
		p := newProblem(problem.IngressTypeIgnored, subject, args, "spec.operatorConfiguration.ingressOperator", network.KeyAppsAddress)
		if !isolated {
			p.Severity = problem.SeverityInfo
		}
		return p
	}
	if isolated {
		return newProblem(problem.IngressAddressMissing, subject, args, network.KeyAppsAddress)
	}
	return newProblem(problem.IngressAddressUnknown, subject, args, network.KeyAppsAddress)
}

// isCopy reports whether e is an ingress behind a copy of the Service router-default.
func isCopy(e network.Endpoint) bool {
	return e.Origin == network.OriginApps && e.Backend.Service != "" && !strings.HasPrefix(e.Backend.Service, services.PassthroughService)
}

// noNodePort returns the problem that the user's Service has no node port of the ingress as target, although the ingress
// has one. It is a hint if that is only HyperShift's default, because an administrator may have changed the ingress. Or nil.
func noNodePort(o objects.Objects, e network.Endpoint) *problem.Problem {
	served, _ := ingress.Hosted(o)
	port, own, text := served.HTTPS.Port, ingress.Documented(o).HTTPS, ""
	if c := o.HostedCluster.Spec.Configuration; c != nil && c.Network != nil {
		text = c.Network.ServiceNodePortRange
	}
	least, most, valid := services.NodePortRange(text)
	if !valid || own == (network.Backend{}) || served.HTTPS != own || int64(port) >= least && int64(port) <= most {
		return nil
	}
	p := newProblem(problem.IngressPortIsNoNodePort, endpoint(e.Name), problem.Args{"service": {objects.ControlPlaneNamespace(o.HostedCluster) + "/" + ingress.ServiceName(o.HostedCluster)},
		"port": {strconv.Itoa(int(port))}, "range": {fmt.Sprintf("%d-%d", least, most)}, "name": e.Hosts})
	if o.HostedIngress == nil || o.HostedIngress.Type == "" {
		p.Severity = problem.SeverityInfo
	}
	return p
}

// hostNetworkClosed returns the problem that a router of type HostNetwork may not be at its port. The user's Service has
// another port, or kube-apiserver-proxy, a static pod of each node, has that port (apiserver-haproxy/haproxy.go). Or nil.
func hostNetworkClosed(o objects.Objects, e network.Endpoint) *problem.Problem {
	const field = "spec.operatorConfiguration.ingressOperator"
	own, api := ingress.HostNetwork(ingress.Strategy(o)), cmp.Or(o.HostedCluster.Spec.Networking.APIServer, &hyperv1.APIServerNetworking{})
	if own.HTTPS == (network.Backend{}) {
		return nil
	}
	served, _ := ingress.Hosted(o)
	switch port := services.PortNumber(*cmp.Or(api.Port, new(int32(6443)))); {
	case served.HTTPS == ingress.Documented(o).HTTPS && served.HTTPS != own.HTTPS:
		return newProblem(problem.IngressPortsDiffer, endpoint(e.Name), problem.Args{"service": {objects.ControlPlaneNamespace(o.HostedCluster) + "/" + ingress.ServiceName(o.HostedCluster)},
			"port": {strconv.Itoa(int(served.HTTPS.Port))}, "otherPort": {strconv.Itoa(int(own.HTTPS.Port))}}, field)
	case own.HTTPS.Port == port || own.HTTP.Port == port:
		return newProblem(problem.IngressPortInUse, endpoint(e.Name), problem.Args{"name": e.Hosts, "port": {strconv.Itoa(int(port))}}, field, "spec.networking.apiServer.port")
	}
	return nil
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
	wildcard := strings.ToLower(ingress.Name(hc))
	known := func(name string) bool {
		return reach.AnsweredByUser(s.Settings, name) || slices.Contains(out, name) || network.MatchesHost(wildcard, name)
	}
	var names []string
	if domain := c.Ingress.Domain; domain != "" && domain != ingress.Domain(hc) {
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
