package main

import (
	"net"
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// balance replaces the load balancers of the plan by one at these ports.
func (d door) balance(t *testing.T, ports ...uint16) {
	t.Helper()
	changePlan(t, d.plan, func(n *network.Network) {
		n.Primary = true
		n.Access = network.Access{LoadBalancers: &network.BalancedAccess{Here: true}}
		if len(ports) > 0 {
			n.Access.LoadBalancers.Services = []network.BalancedService{{Name: "a1", HostedService: "shop/web", Ports: ports}}
		}
	})
}

// TestLoadBalancers: an edge answers at the port of a load balancer on the pod network only, and carries connections to a VM that
// accepts, from the edge's own address. Ports follow the plan, and the report has those that are open, and those that cannot be opened. The lease of a VM that is gone, and a VM
// with the address of another one, get no connection.
func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	g, d := NewWithT(t), newDoor(t)
	d.balance(t)
	d.machine.Serve(t, "0.0.0.0:31080", tells("web"))
	d.pod.Serve(t, "0.0.0.0:31080", tells("a pod"))
	start(t, d.edge, d.args()...)
	report := func() reported.EdgeReport { return d.report(t) }
	reported := func() []uint16 { return report().Balanced }
	g.Eventually(func() error { _, err := os.Stat(wire.File(d.dir, wire.Access, wire.ReportFile)); return err }).Should(Succeed())
	g.Expect(listening(t, d.edge)).To(BeEmpty(), "the word alone opens nothing")

	d.balance(t, 31080, 31443)
	g.Eventually(reported).Should(Equal([]uint16{31080, 31443}))
	g.Expect(listening(t, d.edge)).To(ConsistOf("0.0.0.0%eth0:31080", "0.0.0.0%eth0:31443"))
	for range 5 {
		g.Expect(plain(t, d.pod, "10.128.0.2:31080")).To(Equal("web for 192.168.100.4"), "worker-2 is gone")
	}
	g.Expect(plain(t, d.pod, "10.128.0.2:31443")).To(BeEmpty(), "no VM accepts")
	g.Expect(openPorts(t, d.machine, "10.128.0.2", 1, 65535)).To(BeEmpty(), "a VM that routes by the edge")
	for _, at := range []string{"192.168.100.4", blueService, blueNextHop} {
		g.Expect(openPorts(t, d.machine, at, 31080, 31080)).To(BeEmpty(), "a VM at %s", at)
	}

	d.balance(t, 31443)
	g.Eventually(reported).Should(Equal([]uint16{31443}))
	g.Expect(plain(t, d.pod, "10.128.0.2:31080")).To(ContainSubstring("refused"))
	var other net.Listener
	var err error
	d.edge.Do(t, func() { other, err = net.Listen("tcp4", "10.128.0.2:31999") })
	g.Expect(err).NotTo(HaveOccurred())
	d.balance(t, 31443, 31999)
	g.Eventually(report).Should(And(HaveField("Balanced", []uint16{31443}), HaveField("ClosedPorts", []uint16{31999})), "another program has the port")
	g.Expect(other.Close()).To(Succeed())
	g.Eventually(report).Should(And(HaveField("Balanced", []uint16{31443, 31999}), HaveField("ClosedPorts", BeEmpty())))
	changePlan(t, d.plan, func(n *network.Network) { n.Access = network.Access{} })
	g.Eventually(reported).Should(BeEmpty())
	g.Expect(listening(t, d.edge)).To(BeEmpty())
}

// report is what container access reports.
func (d door) report(t *testing.T) (r reported.EdgeReport) {
	t.Helper()
	b, err := os.ReadFile(wire.File(d.dir, wire.Access, wire.ReportFile))
	if err != nil {
		return r
	}
	r, err = reported.Read(b)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r
}

// TestConnectPortInUse: an edge that cannot open the port of HTTP CONNECT reports it, and opens it when it is free.
func TestConnectPortInUse(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	var other net.Listener
	var err error
	d.edge.Do(t, func() { other, err = net.Listen("tcp4", "10.128.0.2:3128") })
	g.Expect(err).NotTo(HaveOccurred())
	start(t, d.edge, d.args()...)
	report := func() reported.EdgeReport { return d.report(t) }
	g.Eventually(report).Should(HaveField("ClosedPorts", []uint16{3128}))
	g.Expect(other.Close()).To(Succeed())
	g.Eventually(report).Should(HaveField("ClosedPorts", BeEmpty()))
	g.Expect(listening(t, d.edge)).To(ContainElement("0.0.0.0%eth0:3128"))
}
