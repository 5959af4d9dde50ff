package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestMissingObjectKeepsPlan checks that the plan in force stays the same, to the byte,
// while an object is missing.
func TestMissingObjectKeepsPlan(t *testing.T) {
	noRoute := func(name string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.Routes = slices.DeleteFunc(slices.Clone(o.Routes), func(r routev1.Route) bool { return r.Name == name })
		}
	}
	noService := func(name string) func(*hcp.Objects) {
		return func(o *hcp.Objects) {
			o.Services = slices.DeleteFunc(slices.Clone(o.Services), func(s corev1.Service) bool { return s.Name == name })
		}
	}
	for name, without := range map[string]func(*hcp.Objects){
		"the API's address": func(o *hcp.Objects) { o.HostedCluster.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{} },
		"the API's Service": noService("kube-apiserver"),
		"oauth's Route":     noRoute("oauth"),
		"oauth's Service":   noService("oauth-openshift"),
		"ignition's Route": func(o *hcp.Objects) {
			o.HostedCluster.Status.IgnitionEndpoint = ""
			noRoute("ignition-server")(o)
		},
		"konnectivity's load balancer": func(o *hcp.Objects) {
			for i := range o.Services {
				o.Services[i].Status.LoadBalancer = corev1.LoadBalancerStatus{}
			}
		},
		"a further Route's Service": noService("metrics-proxy"),
		"the ingress":               noService("default-ingress-passthrough-service-plb4xffbdb"),
		"everything":                func(o *hcp.Objects) { o.Services = nil; o.HostedCluster.Status = hyperv1.HostedClusterStatus{} },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			world := func() hcp.Objects {
				o := served(t)
				publish(o, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
				for i := range o.Services {
					if o.Services[i].Name == "konnectivity-server" {
						o.Services[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "10.240.0.230"}}
					}
				}
				o.Services = append(o.Services, metricsProxy())
				o.Routes = append(o.Routes, passthroughRoute("metrics-proxy", nil))
				passthrough(&o, true)
				return o
			}
			last, problems := plan(world())
			g.Expect(problems.Waiting()).To(BeFalse(), "%v", problems)

			o := world()
			without(&o)
			in, found := translated(o)
			g.Expect(found.Waiting()).To(Equal(name != "a further Route's Service"), "nodes need no further Route")
			g.Expect(in.Waiting).NotTo(BeEmpty())
			plan, _ := after(in, last)
			g.Expect(string(plan.JSON())).To(Equal(string(last.JSON())))
		})
	}
}

func metricsProxy() corev1.Service {
	return corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "metrics-proxy"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "health", Port: 8080, TargetPort: intstr.FromInt32(8080)}, {Name: "https", Port: 443, TargetPort: intstr.FromInt32(9443)},
	}}}
}

func passthroughRoute(name string, port *routev1.RoutePort) routev1.Route {
	return routev1.Route{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: routev1.RouteSpec{
		Host: name + ".example.com", To: routev1.RouteTargetReference{Name: name}, Port: port, TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough}}}
}

// TestRouteTargetPort checks that a target port selects a Service port as in OpenShift's
// router: by name, or by the port of pods.
func TestRouteTargetPort(t *testing.T) {
	for name, c := range map[string]struct {
		port *routev1.RoutePort
		want uint16
	}{
		"not set":            {nil, 8080},
		"by name":            {&routev1.RoutePort{TargetPort: intstr.FromString("https")}, 443},
		"by number":          {&routev1.RoutePort{TargetPort: intstr.FromInt32(9443)}, 443},
		"no such port":       {&routev1.RoutePort{TargetPort: intstr.FromString("grpc")}, 0},
		"not a port of pods": {&routev1.RoutePort{TargetPort: intstr.FromInt32(443)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.Services = append(o.Services, metricsProxy())
			o.Routes = append(o.Routes, passthroughRoute("metrics-proxy", c.port))
			if c.want == 0 {
				in, problems := translated(o)
				g.Expect(in.Waiting).To(HaveExactElements("metrics-proxy"))
				g.Expect(messageOf(problems, problem.PublishingUnsupported)).To(ContainSubstring("metrics-proxy has no port " + c.port.TargetPort.String()))
				g.Expect(problems.Waiting()).To(BeFalse(), "nodes do not need it")
				return
			}
			g.Expect(endpoint(t, o, "metrics-proxy").Backend.Port).To(Equal(c.want))
		})
	}
}

// TestStrayRoutes: nodes need no further Route, so one without a Service is a hint, and the
// condition is True.
func TestStrayRoutes(t *testing.T) {
	weight := func(w int32) *int32 { return &w }
	to := func(name string, w *int32) routev1.RouteTargetReference {
		return routev1.RouteTargetReference{Kind: "Service", Name: name, Weight: w}
	}
	named := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "named"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromString("https")}}}}
	canary := *named.DeepCopy()
	canary.Name = "canary"
	for name, c := range map[string]struct {
		spec    routev1.RouteSpec
		backend string
		cause   problem.Cause
		says    string
	}{
		"its Service is missing":        {routev1.RouteSpec{To: to("gone", nil)}, "", problem.RouteServiceMissing, "Service gone does not exist"},
		"its port is missing":           {routev1.RouteSpec{To: to("named", nil), Port: &routev1.RoutePort{TargetPort: intstr.FromString("http")}}, "", problem.RoutePortMissing, "no port http"},
		"a number behind a port's name": {routev1.RouteSpec{To: to("named", nil), Port: &routev1.RoutePort{TargetPort: intstr.FromInt32(8443)}}, "named:443", "", ""},
		"two Services":                  {routev1.RouteSpec{To: to("named", weight(80)), AlternateBackends: []routev1.RouteTargetReference{to("canary", weight(20))}}, "named:443", problem.RouteAlternatesUnused, "Service named, and none to canary"},
		"the other has more weight":     {routev1.RouteSpec{To: to("named", weight(20)), AlternateBackends: []routev1.RouteTargetReference{to("canary", nil)}}, "canary:443", problem.RouteAlternatesUnused, "Service canary, and none to named"},
		"the other has no weight":       {routev1.RouteSpec{To: to("named", nil), AlternateBackends: []routev1.RouteTargetReference{to("canary", weight(0))}}, "named:443", "", ""},
		"only the other has a weight":   {routev1.RouteSpec{To: to("named", weight(0)), AlternateBackends: []routev1.RouteTargetReference{to("canary", weight(1))}}, "canary:443", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.Services = append(o.Services, named, canary)
			r := passthroughRoute("stray", nil)
			c.spec.Host, c.spec.TLS = r.Spec.Host, r.Spec.TLS
			r.Spec = c.spec
			o.Routes = append(o.Routes, r)
			if c.backend != "" {
				g.Expect(endpoint(t, o, "stray").Backend.Name).To(Equal(c.backend))
			}
			p, problems := plan(asCached(t, o))
			g.Expect(problems.Waiting()).To(BeFalse(), "%v", problems)
			g.Expect(slices.ContainsFunc(p.Endpoints, func(e network.Endpoint) bool { return e.Name == "stray" })).To(Equal(c.backend != ""))
			i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Subject.Name == "stray" })
			g.Expect(i >= 0).To(Equal(c.cause != ""))
			if i >= 0 {
				g.Expect(problems[i]).To(And(HaveField("Cause", c.cause), HaveField("Severity", problem.SeverityInfo)))
				g.Expect(message(problems[i])).To(ContainSubstring(c.says))
			}
		})
	}
}

// TestIgnitionRouteNotAdmitted: HyperShift makes Ignition's certificate from the Route's status, so
// without it no node boots, nor with the name of another host first. A router's refusal is no matter: VMs do not use the router.
func TestIgnitionRouteNotAdmitted(t *testing.T) {
	at := func(o hcp.Objects, ingress ...routev1.RouteIngress) hcp.Objects {
		o.Routes = slices.Clone(o.Routes)
		for i := range o.Routes {
			if o.Routes[i].Name == "ignition-server" {
				o.Routes[i].Status.Ingress = ingress
			}
		}
		return o
	}
	g := NewWithT(t)
	last, problems := plan(served(t))
	g.Expect(problems.Waiting()).To(BeFalse())
	o := at(served(t))
	in, _ := translated(o)
	p, problems := after(in, last)
	g.Expect(problems.Of(problem.SeverityWaiting)).To(ConsistOf(HaveField("Cause", problem.IgnitionRouteNotAdmitted)))
	g.Expect(string(p.JSON())).To(Equal(string(last.JSON())), "Ignition is served")
	refused := routev1.RouteIngress{Host: "ignition-server-clusters-blue.apps.mgmt.example.com", Conditions: []routev1.RouteIngressCondition{{Type: routev1.RouteAdmitted, Status: corev1.ConditionFalse}}}
	_, problems = plan(at(served(t), refused))
	g.Expect(problems.Waiting()).To(BeFalse())
	other := routev1.RouteIngress{Host: "ignition.shard.example.com"}
	_, problems = plan(at(served(t), refused, other))
	g.Expect(problems.Waiting()).To(BeFalse())
	_, problems = plan(at(served(t), other, refused))
	g.Expect(problems.Of(problem.SeverityWaiting)).To(ConsistOf(HaveField("Cause", problem.IgnitionHostDiffers)))
	g.Expect(message(problems.Of(problem.SeverityWaiting)[0])).To(ContainSubstring("host ignition.shard.example.com. VMs connect to ignition-server-clusters-blue"))
	_, problems = plan(at(served(t), routev1.RouteIngress{}, refused))
	g.Expect(problems.Of(problem.SeverityWaiting)).To(ConsistOf(HaveField("Cause", problem.IgnitionRouteNotAdmitted)))
	publish(o, hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "nodes.example.com"}})
	o.HostedCluster.Status.IgnitionEndpoint = "nodes.example.com:31000"
	_, problems = plan(o)
	g.Expect(problems.Waiting()).To(BeFalse())
}

// TestNodePorts checks addresses and names. The port is always that of the Service.
func TestNodePorts(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	publish(o, hyperv1.OAuthServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "Nodes.example.com", Port: 31000}})
	in, problems := translated(o)
	g.Expect(in.Waiting).To(HaveExactElements("oauth"))
	g.Expect(messageOf(problems, problem.WaitingForEndpoint)).To(ContainSubstring("It will be served at Nodes.example.com:31000"))

	for i := range o.Services {
		if o.Services[i].Name == "oauth-openshift" {
			o.Services[i].Spec.Ports[0].NodePort = 31000
		}
	}
	e := endpoint(t, o, "oauth")
	g.Expect(e.Hosts).To(HaveExactElements("nodes.example.com"))
	g.Expect(e.Port).To(Equal(uint16(31000)))
	g.Expect(e.Match).To(Equal(network.MatchAny))
	g.Expect(e.Backend.Port).To(Equal(uint16(6443)))

	publish(o, hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "10.240.0.9"}})
	o.HostedCluster.Status.IgnitionEndpoint = "10.240.0.9:30409"
	e = endpoint(t, o, "ignition-server")
	g.Expect(e.Addresses[0].String()).To(Equal("10.240.0.9"))
	g.Expect(e.Port).To(Equal(uint16(30409)))
}

// TestIgnitionWithoutPort: with strategy NodePort, an endpoint without a valid port is not published yet.
func TestIgnitionWithoutPort(t *testing.T) {
	for _, at := range []string{"nodes.example.com", "nodes.example.com:", "nodes.example.com:31000x", "nodes.example.com:0", "nodes.example.com:70000"} {
		g := NewWithT(t)
		o := served(t)
		publish(o, hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "nodes.example.com"}})
		o.HostedCluster.Status.IgnitionEndpoint = at
		in, problems := translated(o)
		g.Expect(in.Waiting).To(HaveExactElements("ignition-server"), at)
		g.Expect(messageOf(problems, problem.WaitingForEndpoint)).To(ContainSubstring("status.ignitionEndpoint"), at)
	}
}

// TestNeededEndpointAtIPv6: without Ignition or konnectivity no node joins, so the plan is
// refused. Without OAuth the rest is served.
func TestNeededEndpointAtIPv6(t *testing.T) {
	byNodePort := hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "fd00::9"}}
	for name, c := range map[string]struct {
		given  func(*hcp.Objects)
		blocks bool
	}{
		"Ignition by NodePort":     {func(o *hcp.Objects) { publish(*o, hyperv1.Ignition, byNodePort) }, true},
		"konnectivity by NodePort": {func(o *hcp.Objects) { publish(*o, hyperv1.Konnectivity, byNodePort) }, true},
		"OAuth by NodePort":        {func(o *hcp.Objects) { publish(*o, hyperv1.OAuthServer, byNodePort) }, false},
		"the API's endpoint":       {func(o *hcp.Objects) { o.HostedCluster.Status.ControlPlaneEndpoint.Host = "fd00::9" }, true},
		"Ignition's endpoint": {func(o *hcp.Objects) {
			publish(*o, hyperv1.Ignition, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "nodes.example.com"}})
			o.HostedCluster.Status.IgnitionEndpoint = "[fd00::9]:31000"
		}, true},
		"Ignition's endpoint without a port": {func(o *hcp.Objects) { o.HostedCluster.Status.IgnitionEndpoint = "fd00::9" }, true},
		"konnectivity's load balancer": {func(o *hcp.Objects) {
			publish(*o, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
			for i := range o.Services {
				o.Services[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "fd00::9"}}
			}
		}, true},
		"the API's endpoint, with a name for users": {func(o *hcp.Objects) {
			o.HostedCluster.Status.ControlPlaneEndpoint.Host = "fd00::9"
			o.HostedCluster.Spec.KubeAPIServerDNSName = "api.blue.example.org"
		}, true},
		"the first address of konnectivity's load balancer": {func(o *hcp.Objects) {
			publish(*o, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
			for i := range o.Services {
				o.Services[i].Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "fd00::9"}, {IP: "10.240.0.230"}}
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			c.given(&o)
			_, problems := plan(o)
			g.Expect(problems.Has(problem.IPv6NotServed)).To(BeTrue())
			g.Expect(problems.Blocking()).To(Equal(c.blocks), "%v", problems)
		})
	}
}

// TestFirstIngress: HyperShift gives konnectivity agents the first ingress of the load balancer, a name before an address, and no other one.
func TestFirstIngress(t *testing.T) {
	for want, ingress := range map[string][]corev1.LoadBalancerIngress{
		"10.240.0.230":      {{IP: "10.240.0.230"}, {Hostname: "later.example.com"}, {IP: "10.240.0.231"}},
		"first.example.com": {{IP: "10.240.0.230", Hostname: "first.example.com"}, {IP: "10.240.0.231"}},
	} {
		g := NewWithT(t)
		o := served(t)
		publish(o, hyperv1.Konnectivity, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
		for i := range o.Services {
			o.Services[i].Status.LoadBalancer.Ingress = ingress
		}
		p, _ := plan(o)
		var places []string
		for _, e := range p.Endpoints {
			if e.Name == "konnectivity-server" {
				places = append(places, e.Place())
			}
		}
		g.Expect(places).To(HaveExactElements(HavePrefix(want + ":")))
	}
}

// TestDefaultStrategies checks that a missing strategy gets the default of HyperShift's
// webhook.
func TestDefaultStrategies(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Spec.Services = nil
	_, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
}

// TestOAuthBehindAGateway checks the warning: pods do not use the nodes' routes.
func TestOAuthBehindAGateway(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	publish(o, hyperv1.OAuthServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "10.240.0.9"}})
	for i := range o.Services {
		o.Services[i].Spec.Ports[0].NodePort = 31000
	}
	_, problems := translated(o)
	g.Expect(problems.Has(problem.OAuthUnreachable)).To(BeFalse(), "the next hop is the default route")
	annotate(&o, "gateway", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(messageOf(problems, problem.OAuthUnreachable)).To(And(ContainSubstring("10.240.0.9"), ContainSubstring("192.168.100.1"), ContainSubstring("routingViaHost")))
	g.Expect(problems.Blocking()).To(BeFalse())
}

// TestTimeServers checks the warning for a network on which nothing serves the time.
func TestTimeServers(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	_, problems := translated(o)
	g.Expect(problems.Has(problem.NTPMissing)).To(BeFalse(), "edges serve it")
	annotate(&o, "services", "dhcp,dns,proxy")
	_, problems = translated(o)
	g.Expect(messageOf(problems, problem.NTPMissing)).To(ContainSubstring("clusters/vlan100"))
	annotate(&o, "ntp-servers", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(problems.Has(problem.NTPMissing)).To(BeFalse())
	delete(o.HostedCluster.Annotations, settings.Prefix+"ntp-servers")
	annotate(&o, "gateway", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(problems.Has(problem.NTPMissing)).To(BeFalse())
}
