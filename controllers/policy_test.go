package controllers

import (
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/golden"
)

// A connection that an edge makes.
type connection struct {
	what     string
	to       party
	protocol corev1.Protocol
	port     int32
}

// surrounded is w on a management cluster of which everything is known: API
// servers on nodes, nodes with pods, a resolver.
func surrounded(w gather.World) gather.World {
	w.Nodes, w.APIServers = nil, nil
	for i, name := range []string{"10", "11", "12"} {
		w.Nodes = append(w.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node" + name},
			Spec:   corev1.NodeSpec{PodCIDR: "10.128." + []string{"0", "2", "4"}[i] + ".0/23"},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.16.0." + name}}}})
		w.APIServers = append(w.APIServers, netip.MustParseAddrPort("172.16.0."+name+":6443"))
	}
	w.ByHand = map[desired.ServicePort][]netip.AddrPort{}
	for _, svc := range w.Services {
		for _, p := range svc.Spec.Ports {
			w.ByHand[desired.ServicePort{Service: svc.Name, Port: p.Name}] = []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr("192.0.2.40"), uint16(p.TargetPort.IntVal))}
		}
	}
	w.Management = management.Cluster{Resolvers: []netip.Addr{netip.MustParseAddr("172.30.0.10")}, APIServers: []netip.Addr{netip.MustParseAddr("172.30.0.1")}}
	return w
}

// everyStory is each story that is served, there.
func everyStory(t *testing.T, test func(t *testing.T, w gather.World, plan network.Plan)) {
	t.Helper()
	for _, story := range golden.Stories(t) {
		w := surrounded(worldOf(t, story))
		if d := decide.About(w, testOptions.Release, testNow); d.Action == decide.Serve {
			t.Run(story.Name, func(t *testing.T) { test(t, w, d.Plan) })
		}
	}
}

func storyThere(t *testing.T, name string, change func(*gather.World)) (gather.World, network.Plan) {
	t.Helper()
	w := surrounded(worldOf(t, golden.Find(t, name)))
	change(&w)
	d := decide.About(w, testOptions.Release, testNow)
	if d.Action != decide.Serve {
		t.Fatalf("%s is not served: %v", name, d.Problems)
	}
	return w, d.Plan
}

func address(text string) party { return party{address: netip.MustParseAddr(text)} }

// behindService is a pod of svc, or who was written behind it by hand, and where
// that listens for p.
func behindService(svc corev1.Service, p corev1.ServicePort) (party, int32) {
	if len(svc.Spec.Selector) == 0 {
		return address("192.0.2.40"), p.TargetPort.IntVal
	}
	pod := party{namespace: svc.Namespace, labels: maps.Clone(svc.Spec.Selector), address: netip.MustParseAddr("10.128.2.40")}
	pod.labels["pod-template-hash"] = "5d4f"
	switch {
	case p.TargetPort.Type == intstr.String:
		pod.ports = map[string]int32{p.TargetPort.StrVal: 8443}
		return pod, 8443
	case p.TargetPort.IntVal == 0:
		return pod, p.Port
	}
	return pod, p.TargetPort.IntVal
}

// needed is every connection that edges of plan make by the pod network.
func needed(w gather.World, plan network.Plan) []connection {
	resolver := party{namespace: "openshift-dns", labels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"}, address: netip.MustParseAddr("10.128.0.9")}
	core := party{namespace: "kube-system", labels: map[string]string{"k8s-app": "kube-dns"}, address: netip.MustParseAddr("10.128.0.8")}
	out := []connection{
		{"OpenShift's resolver", resolver, corev1.ProtocolUDP, 5353}, {"OpenShift's resolver, a long answer", resolver, corev1.ProtocolTCP, 5353},
		{"CoreDNS", core, corev1.ProtocolUDP, 53}, {"CoreDNS, a long answer", core, corev1.ProtocolTCP, 53},
		{"the resolver by its address", address("172.30.0.10"), corev1.ProtocolUDP, 53},
	}
	for _, at := range w.APIServers {
		out = append(out, connection{"API server " + at.String(), party{address: at.Addr()}, corev1.ProtocolTCP, int32(at.Port())})
	}
	for _, n := range plan.Networks {
		if len(n.Edges) > 1 {
			peer := party{namespace: plan.Cluster.ControlPlaneNamespace, labels: wire.EdgeLabels(n, n.Edges[1]), address: netip.MustParseAddr("10.128.4.77")}
			out = append(out, connection{"the peer", peer, corev1.ProtocolUDP, wire.HeartbeatPort})
		}
		for _, at := range n.DNS.Upstreams.Servers {
			if n.Reach().FromEdge(at.Addr()) != network.ThroughPods {
				continue // no NetworkPolicy applies to the VLAN
			}
			out = append(out, connection{"upstream " + at.String(), party{address: at.Addr()}, corev1.ProtocolUDP, int32(at.Port())})
		}
		for _, b := range n.Backends {
			switch b.Kind {
			case network.BackendPods:
				svc := w.Services[slices.IndexFunc(w.Services, func(s corev1.Service) bool { return s.Name == b.Service })]
				p := svc.Spec.Ports[slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(b.Port) })]
				pod, port := behindService(svc, p)
				out = append(out, connection{b.Name, pod, corev1.ProtocolTCP, port})
			case network.BackendExternal:
				out = append(out, connection{b.Name, address("198.51.100.7"), corev1.ProtocolTCP, int32(b.Port)})
			}
		}
	}
	return out
}

// theEdge is the pod of plan's first edge.
func theEdge(plan network.Plan) party {
	n := plan.Networks[0]
	return party{namespace: plan.Cluster.ControlPlaneNamespace, labels: wire.EdgeLabels(n, n.Edges[0]), address: netip.MustParseAddr("10.128.0.77")}
}

// networkPolicies are HyperShift's for the cluster of plan, and ours after them.
func networkPolicies(t *testing.T, w gather.World, plan network.Plan) []networkingv1.NetworkPolicy {
	t.Helper()
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("..", "test", "policies", "hypershift.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	theirs := strings.NewReplacer("clusters-blue", plan.Cluster.ControlPlaneNamespace, "blue-12345", w.HostedCluster.Spec.InfraID).Replace(string(text))
	var out []networkingv1.NetworkPolicy
	add := func(object map[string]any) {
		p := networkingv1.NetworkPolicy{}
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, &p, true)).To(Succeed())
		out = append(out, p)
	}
	for _, u := range apiserver.Objects(t, []byte(theirs)) {
		add(u.Object)
	}
	if access := desired.AccessPolicy(plan); access != nil {
		add(own.Object(w.ControlPlane, access).Object)
	}
	add(own.Object(w.ControlPlane, desired.NetworkPolicy(desired.Reach{APIServers: w.APIServers, Resolvers: w.Management.Resolvers, Services: w.Services, ByHand: w.ByHand}, plan)).Object)
	return out
}

// namespaces of the management cluster, with their labels.
func namespaces() map[string]map[string]string {
	out := map[string]map[string]string{
		"openshift-ingress": {"network.openshift.io/policy-group": "ingress"}, "openshift-monitoring": {"network.openshift.io/policy-group": "monitoring"},
	}
	for _, name := range []string{"openshift-ingress", "openshift-monitoring", "openshift-dns", "kube-system", "clusters-red", "tools"} {
		if out[name] == nil {
			out[name] = map[string]string{}
		}
		out[name][corev1.LabelMetadataName] = name
	}
	return out
}

// TestEgressAllows every connection that an edge makes, however an
// implementation understands blocks.
func TestEgressAllows(t *testing.T) {
	everyStory(t, func(t *testing.T, w gather.World, plan network.Plan) {
		if len(plan.Networks) == 0 {
			return
		}
		g := NewWithT(t)
		all := networkPolicies(t, w, plan)
		g.Expect(all[len(all)-1].Name).To(Equal(desired.EdgePolicy))
		for _, blocksHoldPods := range []bool{false, true} {
			e := evaluator{policies: all, namespaces: namespaces(), blocksHoldPods: blocksHoldPods}
			for _, c := range needed(w, plan) {
				g.Expect(e.allows(theEdge(plan), c.to, c.protocol, c.port)).To(BeTrue(), c.what)
			}
		}
	})
}

// TestEgressAllowsNoMore: whatever is taken from it, some connection is no longer
// made.
func TestEgressAllowsNoMore(t *testing.T) {
	everyStory(t, func(t *testing.T, w gather.World, plan network.Plan) {
		if len(plan.Networks) == 0 {
			return
		}
		p := networkPolicies(t, w, plan)[10]
		broken := func(p networkingv1.NetworkPolicy) bool {
			e := evaluator{policies: []networkingv1.NetworkPolicy{p}, namespaces: namespaces()}
			return slices.ContainsFunc(needed(w, plan), func(c connection) bool { return !e.allows(theEdge(plan), c.to, c.protocol, c.port) })
		}
		g := NewWithT(t)
		g.Expect(broken(p)).To(BeFalse())
		for i, r := range p.Spec.Egress {
			without := *p.DeepCopy()
			without.Spec.Egress = slices.Delete(without.Spec.Egress, i, i+1)
			g.Expect(broken(without)).To(BeTrue(), "rule %d", i)
			for j := range r.To {
				without := *p.DeepCopy()
				without.Spec.Egress[i].To = slices.Delete(without.Spec.Egress[i].To, j, j+1)
				g.Expect(len(r.To) == 1 || broken(without)).To(BeTrue(), "rule %d, peer %d", i, j)
			}
		}
	})
}

// others are pods that edges have nothing to do with, or need one port of.
type others struct{ stranger, red, etcd, machine, kas, peer, foreign party }

func othersOf(w gather.World, plan network.Plan) others {
	stranger := party{namespace: "tools", labels: map[string]string{"app": "kube-apiserver"}, address: netip.MustParseAddr("10.128.4.9"), ports: map[string]int32{"client": 6443}}
	red := stranger
	red.namespace = "clusters-red"
	etcd := party{namespace: plan.Cluster.ControlPlaneNamespace, labels: map[string]string{"app": "etcd"}, address: netip.MustParseAddr("10.128.2.50"), ports: map[string]int32{"client": 2379}}
	machine := party{namespace: etcd.namespace, labels: map[string]string{"kubevirt.io": "virt-launcher", "hypershift.openshift.io/infra-id": w.HostedCluster.Spec.InfraID}, address: netip.MustParseAddr("10.128.2.51")}
	kas, _ := behindService(w.Services[slices.IndexFunc(w.Services, func(s corev1.Service) bool { return s.Name == "kube-apiserver" })], corev1.ServicePort{})
	kas.ports = map[string]int32{"client": 6443}
	peer := party{namespace: etcd.namespace, labels: wire.EdgeLabels(plan.Networks[0], network.Edge{Number: 2}), address: netip.MustParseAddr("10.128.4.77")}
	foreign := peer
	foreign.namespace = "clusters-red"
	return others{stranger, red, etcd, machine, kas, peer, foreign}
}

// refused are connections from an edge.
func (o others) refused() []connection {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	return []connection{
		{"a pod of another namespace", o.stranger, tcp, 443}, {"that is labelled like a backend", o.stranger, tcp, 6443},
		{"the API of another hosted cluster", o.red, tcp, 6443}, {"its ingress", o.red, tcp, 443},
		{"etcd of the hosted cluster", o.etcd, tcp, 2379}, {"etcd's metrics", o.etcd, tcp, 2381},
		{"a machine by the pod network", o.machine, tcp, 22}, {"another port of a backend", o.kas, tcp, 2380},
		{"a node's kubelet", address("172.16.0.11"), tcp, 10250}, {"its SSH", address("172.16.0.11"), tcp, 22},
		{"another port of the API server's node", address("172.16.0.10"), tcp, 22623},
		{"the machine's metadata", address("169.254.169.254"), tcp, 80}, {"the same by TLS", address("169.254.169.254"), tcp, 443},
		{"Azure's", address("168.63.129.16"), tcp, 443}, {"itself", address("127.0.0.1"), tcp, 443},
		{"a Service of another namespace", address("172.30.0.1"), tcp, 443},
		{"a pod that is no edge, at the port of heartbeats", o.kas, udp, wire.HeartbeatPort}, {"an edge of another hosted cluster", o.foreign, udp, wire.HeartbeatPort},
		{"another port of the peer", o.peer, udp, 53}, {"a server of the peer", o.peer, tcp, 6443}, {"the peer's port by TCP", o.peer, tcp, wire.HeartbeatPort},
		{"a host outside, without TLS", address("198.51.100.7"), tcp, 80}, {"a DNS server outside", address("198.51.100.7"), udp, 53},
	}
}

// TestEgressRefuses what no edge has to do with, even where an implementation
// takes pods to be in blocks.
func TestEgressRefuses(t *testing.T) {
	const tcp = corev1.ProtocolTCP
	for _, story := range []string{"lb-ip", "nodeport", "registries", "two-edges"} {
		t.Run(story, func(t *testing.T) {
			w, plan := storyThere(t, story, func(*gather.World) {})
			o := othersOf(w, plan)
			for _, blocksHoldPods := range []bool{false, true} {
				e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces(), blocksHoldPods: blocksHoldPods}
				for _, c := range o.refused() {
					g := NewWithT(t)
					g.Expect(e.allows(theEdge(plan), c.to, c.protocol, c.port)).To(BeFalse(), c.what)
				}
				g := NewWithT(t)
				g.Expect(e.allows(o.stranger, theEdge(plan), tcp, 443)).To(BeFalse(), "neither HyperShift's policies nor oooi's admit another namespace")
				g.Expect(e.allows(o.kas, o.etcd, tcp, 2379)).To(BeTrue(), "ours is over edges alone")
				g.Expect(e.allows(o.machine, address("198.51.100.7"), tcp, 80)).To(BeTrue(), "ours is over edges alone")
				g.Expect(e.allows(theEdge(plan), address("198.51.100.7"), tcp, 443)).To(Equal(story == "registries"), "a host outside, with TLS")
				g.Expect(e.allows(theEdge(plan), address("172.16.0.11"), tcp, 443)).To(BeFalse(), "the management cluster's own ingress")
				g.Expect(e.allows(theEdge(plan), theRouter(), tcp, 443)).To(BeFalse(), "the same behind its load balancer")
			}
		})
	}
}

// TestEgressToWhatIsServedOn: a Service that is gone for a moment, or a port of it,
// is served on, so the way there stays open, and no other is.
func TestEgressToWhatIsServedOn(t *testing.T) {
	const tcp = corev1.ProtocolTCP
	w, plan := storyThere(t, "lb-ip", func(*gather.World) {})
	i := slices.IndexFunc(w.Services, func(s corev1.Service) bool { return s.Name == "kube-apiserver" })
	pod, _ := behindService(w.Services[i], w.Services[i].Spec.Ports[0])
	pod.ports = map[string]int32{"client": 6443}
	const port = 6443
	stranger := pod
	stranger.namespace = "tools"
	beside := pod
	beside.labels = map[string]string{"app": "etcd"}
	for name, c := range map[string]struct {
		change func(*gather.World)
		beside bool
	}{
		"the Service is gone": {func(w *gather.World) { w.Services = slices.Delete(w.Services, i, i+1) }, true},
		"its port is gone":    {func(w *gather.World) { w.Services[i].Spec.Ports = nil }, false},
		"its port has another number": {func(w *gather.World) {
			w.Services[i].Spec.Ports = []corev1.ServicePort{{Name: w.Services[i].Spec.Ports[0].Name, Port: 7443, TargetPort: intstr.FromString("client")}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := w
			w.Services = slices.Clone(w.Services)
			c.change(&w)
			e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces()}
			g.Expect(e.allows(theEdge(plan), pod, tcp, port)).To(BeTrue())
			g.Expect(e.allows(theEdge(plan), stranger, tcp, port)).To(BeFalse())
			g.Expect(e.allows(theEdge(plan), beside, tcp, port)).To(Equal(c.beside))
			g.Expect(e.allows(theEdge(plan), beside, tcp, 2379)).To(BeFalse(), "etcd, whatever is gone")
		})
	}
}

// TestEgressToManualEndpoints: the endpoints of a Service without a selector are the addresses that a user
// wrote.
func TestEgressToManualEndpoints(t *testing.T) {
	g := NewWithT(t)
	w, plan := storyThere(t, "lb-ip", func(w *gather.World) {
		w.Services = append(w.Services, corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "mirror", Annotations: map[string]string{settings.Prefix + "publish": "mirror.example.com:443"}},
			Spec:       corev1.ServiceSpec{ClusterIP: "10.96.1.1", Ports: []corev1.ServicePort{{Port: 443, Protocol: corev1.ProtocolTCP}}}})
		w.ByHand = map[desired.ServicePort][]netip.AddrPort{{Service: "mirror"}: {netip.MustParseAddrPort("192.0.2.20:5000")}}
	})
	e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces()}
	g.Expect(e.allows(theEdge(plan), address("192.0.2.20"), corev1.ProtocolTCP, 5000)).To(BeTrue())
	g.Expect(e.allows(theEdge(plan), address("192.0.2.21"), corev1.ProtocolTCP, 5000)).To(BeFalse())
	g.Expect(e.allows(theEdge(plan), address("192.0.2.20"), corev1.ProtocolTCP, 443)).To(BeFalse())
}

// TestNoPolicyWithoutTheAPIServersAddress: an edge that is cut off from it serves
// worse than one that may dial too much.
func TestNoPolicyWithoutTheAPIServersAddress(t *testing.T) {
	w, _ := storyThere(t, "lb-ip", func(w *gather.World) { w.APIServers = nil })
	NewWithT(t).Expect(kindsOf(decide.About(w, testOptions.Release, testNow).Desired)).NotTo(ContainElement(own.NetworkPolicyKind.Kind))
}
