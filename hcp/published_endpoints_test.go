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
			g.Expect(found.Waiting()).To(BeTrue(), "the missing object is a problem")
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
				g.Expect(messageOf(problems, network.WaitingForEndpoint)).To(ContainSubstring("metrics-proxy has no port " + c.port.TargetPort.String()))
				return
			}
			g.Expect(endpoint(t, o, "metrics-proxy").Backend.Port).To(Equal(c.want))
		})
	}
}

// TestNodePorts checks addresses and names. The port is always that of the Service.
func TestNodePorts(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	publish(o, hyperv1.OAuthServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "Nodes.example.com", Port: 31000}})
	in, problems := translated(o)
	g.Expect(in.Waiting).To(HaveExactElements("oauth"))
	g.Expect(messageOf(problems, network.WaitingForEndpoint)).To(ContainSubstring("It will be served at Nodes.example.com:31000"))

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
	g.Expect(problems.Has(network.OAuthUnreachable)).To(BeFalse(), "the next hop is the default route")
	annotate(&o, "gateway", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(messageOf(problems, network.OAuthUnreachable)).To(And(ContainSubstring("10.240.0.9"), ContainSubstring("192.168.100.1"), ContainSubstring("routingViaHost")))
	g.Expect(problems.Blocking()).To(BeFalse())
}

// TestTimeServers checks the warning for a network without time servers.
func TestTimeServers(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	_, problems := translated(o)
	g.Expect(messageOf(problems, network.NTPMissing)).To(ContainSubstring("clusters/vlan100"))
	annotate(&o, "ntp-servers", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(problems.Has(network.NTPMissing)).To(BeFalse())
	delete(o.HostedCluster.Annotations, settings.Prefix+"ntp-servers")
	annotate(&o, "gateway", "192.168.100.1")
	_, problems = translated(o)
	g.Expect(problems.Has(network.NTPMissing)).To(BeFalse())
}
