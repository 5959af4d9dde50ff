package controllers

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// theRouter is a pod of the management cluster's ingress.
func theRouter() party {
	return party{namespace: "openshift-ingress", labels: map[string]string{"app": "router"}, address: netip.MustParseAddr("10.128.0.10")}
}

// TestEgressToTheManagementCluster: no Service, pod or node of it is an external host, at no port
// that a HostedCluster asks for. The administrator may permit a mirror on its ingress.
func TestEgressToTheManagementCluster(t *testing.T) {
	const tcp = corev1.ProtocolTCP
	virtAPI, nodePort, mirror := address("172.30.44.5"), address("172.16.0.11"), address("172.16.0.200")
	asks := func(permitted ...string) (evaluator, party) {
		w, plan := storyThere(t, "registries", func(w *gather.World) {
			metav1.SetMetaDataAnnotation(&w.HostedCluster.ObjectMeta, settings.Prefix+"allowed-hosts", "auto,evil.example.net,evil.example.net:30443,evil.example.net:9443")
			w.Permissions.Ports = []network.PortRange{{First: 1, Last: 65535}}
			for _, p := range permitted {
				w.Permissions.Destinations = append(w.Permissions.Destinations, netip.MustParsePrefix(p))
			}
			w.Management.Networks = []network.ReservedDestination{
				{What: "Services", Prefix: netip.MustParsePrefix("172.30.0.0/16")},
				{What: "a virtual IP", Prefix: netip.MustParsePrefix("172.16.0.200/32")}}
		})
		return evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces()}, theEdge(plan)
	}
	g := NewWithT(t)
	e, edge := asks()
	for _, port := range []int32{443, 9443, 30443} {
		g.Expect(e.allows(edge, address("198.51.100.7"), tcp, port)).To(BeTrue(), "%d", port)
		for _, to := range []party{virtAPI, nodePort, mirror, theRouter()} {
			g.Expect(e.allows(edge, to, tcp, port)).To(BeFalse(), "%s:%d", to.address, port)
		}
	}
	e, edge = asks("172.16.0.200/32")
	g.Expect(e.allows(edge, mirror, tcp, 443)).To(BeTrue())
	g.Expect(e.allows(edge, theRouter(), tcp, 443)).To(BeTrue(), "a policy sees the pods behind its address")
	g.Expect(e.allows(edge, mirror, tcp, 22)).To(BeFalse(), "no host at that port is allowed")
	g.Expect(e.allows(edge, virtAPI, tcp, 443)).To(BeFalse())
	g.Expect(e.allows(edge, nodePort, tcp, 30443)).To(BeFalse())
}

// TestEgressToRefusedUpstreams: a DNS server inside the management cluster opens nothing.
func TestEgressToRefusedUpstreams(t *testing.T) {
	g := NewWithT(t)
	w, plan := storyThere(t, "registries", func(w *gather.World) {
		metav1.SetMetaDataAnnotation(&w.HostedCluster.ObjectMeta, settings.Prefix+"dns-upstreams", "192.0.2.53,172.30.0.99,169.254.169.254:80,172.16.0.11:10250,172.16.0.11")
		w.Management.Networks = []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("172.30.0.0/16")}}
	})
	e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces()}
	g.Expect(e.allows(theEdge(plan), address("192.0.2.53"), corev1.ProtocolUDP, 53)).To(BeTrue())
	for _, c := range []connection{
		{"a Service", address("172.30.0.99"), corev1.ProtocolUDP, 53}, {"metadata", address("169.254.169.254"), corev1.ProtocolTCP, 80},
		{"a kubelet", address("172.16.0.11"), corev1.ProtocolTCP, 10250}, {"a node", address("172.16.0.11"), corev1.ProtocolTCP, 53},
	} {
		g.Expect(e.allows(theEdge(plan), c.to, c.protocol, c.port)).To(BeFalse(), c.what)
	}
}

// TestEgressByHTTPProxy: where one is used, no other external host is allowed.
func TestEgressByHTTPProxy(t *testing.T) {
	const tcp = corev1.ProtocolTCP
	squid := party{namespace: "tools", labels: map[string]string{"app": "squid"}, address: netip.MustParseAddr("10.128.4.9")}
	for at, at3128 := range map[string]struct{ the, another, pod bool }{
		"10.9.9.9":          {the: true},
		"proxy.example.com": {the: true, another: true},
		"squid.tools.svc":   {the: true, another: true, pod: true},
	} {
		t.Run(at, func(t *testing.T) {
			g := NewWithT(t)
			w, plan := storyThere(t, "registries", func(w *gather.World) { w.Proxy = httpproxy.Config{HTTPSProxy: "http://" + at + ":3128"} })
			e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces()}
			edge := theEdge(plan)
			g.Expect(e.allows(edge, address("10.9.9.9"), tcp, 3128)).To(Equal(at3128.the))
			g.Expect(e.allows(edge, address("198.51.100.7"), tcp, 3128)).To(Equal(at3128.another), "no policy knows a host by name")
			g.Expect(e.allows(edge, squid, tcp, 8888)).To(Equal(at3128.pod))
			g.Expect(e.allows(edge, address("198.51.100.7"), tcp, 443)).To(BeFalse())
			g.Expect(e.allows(edge, address("169.254.169.254"), tcp, 3128)).To(BeFalse())
		})
	}
}

// TestErrorKeepsNoDestination: an author who keeps the annotations invalid keeps neither a host
// that is no longer permitted, nor an address that became a Service's.
func TestErrorKeepsNoDestination(t *testing.T) {
	g := NewWithT(t)
	w, plan := storyThere(t, "registries", func(w *gather.World) {
		metav1.SetMetaDataAnnotation(&w.HostedCluster.ObjectMeta, settings.Prefix+"allowed-hosts", "auto,evil.example.net:5000")
	})
	w.Last, w.Binding = plan, &metav1.PartialObjectMetadata{}
	w.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x"
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Leave))
	g.Expect(d.Desired).To(BeEmpty(), "nothing changed but the annotation")

	w.Permissions.Ports = []network.PortRange{{First: 443, Last: 443}}
	w.Management.Networks = []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("172.30.0.0/16")}}
	d = decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Leave))
	g.Expect(kindsOf(d.Desired)).To(HaveExactElements("ConfigMap", "NetworkPolicy"))
	got, err := network.ReadPlan([]byte(planOf(t, d.Desired)))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(derive.Restricted(plan, w.Management.Networks, w.Permissions)))
	g.Expect(got.Networks[0].Backends).NotTo(ContainElement(HaveField("Host", "evil.example.net")))
	g.Expect(got.Networks[0].MayDial(netip.MustParseAddr("172.30.44.5"))).To(BeFalse())
	w.Last = got
	g.Expect(decide.About(w, testOptions.Release, testNow).Desired).To(BeEmpty(), "once")
}
