package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// TestNamespacesThatMonitorReadMetrics: only they do, with HyperShift's policies and without, in each story. The pod
// names the port, so that a PodMonitor finds it.
func TestNamespacesThatMonitorReadMetrics(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	spaces := namespaces()
	spaces["prometheus"] = map[string]string{"network.openshift.io/policy-group": "monitoring"}
	everyStory(t, func(t *testing.T, w gather.World, plan network.Plan) {
		g := NewWithT(t)
		edge, all := theEdge(plan), networkPolicies(t, w, plan)
		peer := party{namespace: edge.namespace, labels: wire.EdgeLabels(plan.Networks[0], network.Edge{Number: 2})}
		for what, c := range map[string]struct {
			from     party
			protocol corev1.Protocol
			port     int32
			want     bool
		}{
			"Prometheus":                   {party{namespace: "prometheus"}, tcp, network.MetricsPort, true},
			"a pod of a tenant":            {party{namespace: "tools"}, tcp, network.MetricsPort, false},
			"another hosted cluster":       {party{namespace: "clusters-red"}, tcp, network.MetricsPort, false},
			"a host outside":               {address("198.51.100.7"), tcp, network.MetricsPort, false},
			"Prometheus, heartbeats":       {party{namespace: "prometheus"}, udp, wire.HeartbeatPort, false},
			"Prometheus, the ports of VMs": {party{namespace: "prometheus"}, tcp, 6443, false},
			"the peer":                     {peer, udp, wire.HeartbeatPort, true},
		} {
			ours := evaluator{policies: all[len(all)-1:], namespaces: spaces}
			g.Expect(ours.side(networkingv1.PolicyTypeIngress, edge, c.from, edge, c.protocol, c.port)).To(Equal(c.want), what)
		}
		with := evaluator{policies: all, namespaces: spaces}
		g.Expect(with.side(networkingv1.PolicyTypeIngress, edge, party{namespace: "prometheus"}, edge, tcp, network.MetricsPort)).To(BeTrue())
		g.Expect(with.side(networkingv1.PolicyTypeIngress, edge, party{namespace: "tools"}, edge, tcp, network.MetricsPort)).To(BeFalse())
		for _, n := range plan.Networks {
			g.Expect(n.MetricsPort).To(BeEquivalentTo(network.MetricsPort))
			last := desired.EdgePod(n, n.Edges[0], testOptions.Release, "x").Spec.Containers
			ports := last[len(last)-1].Ports
			g.Expect(ports).To(HaveLen(1))
			g.Expect(ports[0].Name).To(Equal("metrics"))
			g.Expect(ports[0].ContainerPort).To(BeEquivalentTo(n.MetricsPort))
		}
	})
}
