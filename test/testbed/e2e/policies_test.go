// This file sends packets that NetworkPolicies allow or refuse. It dials edges from pods of other namespaces, and it dials from edges as
// a compromised container would. What is refused succeeds from another place, so that a refusal is not a wrong address.

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// podDevice is the interface of a pod on the pod network.
const podDevice = "eth0"

// A crossing is a TCP connection. It is allowed, or it is refused while the same connection from another place is accepted.
type crossing struct {
	what    string
	from    station
	to      netip.AddrPort
	witness *station // where to is accepted, if from is refused
}

// places are pods in namespaces with different rights, and a host of the LAN that is not in the management cluster.
type places struct {
	stranger, resolver, prometheus, neighbor station
	// open are sockets that no edge may dial, in a pod and on the host. They accept connections.
	strangers, outside netip.AddrPort
}

// testPolicies sends packets from and to each edge, then again while a policy denies everything in the control plane namespace.
func testPolicies(t *testing.T, s *stage) {
	s.whole(t)
	p := s.places(t)
	for _, edge := range s.pods(t) {
		t.Run(edge.Name, func(t *testing.T) {
			s.testIn(t, p, edge)
			try(t, s.wanted(t, edge)...)
			try(t, s.unwanted(t, p, edge)...)
		})
	}
	t.Run("deny all", func(t *testing.T) { s.testDenyAll(t, p) })
}

// places starts the pods and the host.
func (s *stage) places(t *testing.T) (p places) {
	t.Helper()
	g := NewWithT(t)
	p.prometheus = station{s.monitor(t), podDevice}
	for at, namespace := range map[*station]string{&p.stranger: "default", &p.resolver: "kube-system", &p.neighbor: s.hosted.Namespace()} {
		*at = station{s.asker(t, namespace, "crosses-"+s.hosted.Name), podDevice}
	}
	host := s.plug(t, "outside"+s.hosted.Name, 0)
	g.Expect(lan.InNetNS(host.netNS, func() error {
		link, err := netlink.LinkByName(host.card)
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr("10.240.0.77/24")
		return errors.Join(err, netlink.AddrAdd(link, address))
	})).To(Succeed())
	const https, api = 443, 6443
	p.outside, p.strangers = listen(t, host, https), listen(t, p.stranger, api)
	var pods core.PodList
	g.Expect(s.hosted.Client.List(t.Context(), &pods, client.InNamespace(s.hosted.Namespace()), client.MatchingLabels{"app": "oauth-openshift"})).To(Succeed())
	g.Expect(pods.Items).NotTo(BeEmpty())
	for _, pod := range pods.Items { // The placeholder of the OAuth server listens at no port.
		if pod.Status.Phase != core.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		path, err := edgePod{Pod: pod}.netNS()
		g.Expect(err).NotTo(HaveOccurred())
		listen(t, station{path, podDevice}, api)
	}
	return p
}

// monitor runs a pod that edges admit to their metrics, and returns the path of its network namespace.
func (s *stage) monitor(t *testing.T) string {
	t.Helper()
	monitoring := &core.Namespace{ObjectMeta: meta.ObjectMeta{Name: "monitors-" + s.hosted.Name, Labels: map[string]string{"network.openshift.io/policy-group": "monitoring"}}}
	NewWithT(t).Expect(client.IgnoreAlreadyExists(s.hosted.Client.Create(t.Context(), monitoring))).To(Succeed())
	t.Cleanup(func() { _ = s.hosted.Client.Delete(context.WithoutCancel(t.Context()), monitoring) })
	return s.asker(t, monitoring.Name, "crosses-"+s.hosted.Name)
}

// listen accepts connections at the address of a station until the test ends.
func listen(t *testing.T, at station, port uint16) (socket netip.AddrPort) {
	t.Helper()
	var listener net.Listener
	NewWithT(t).Expect(lan.InNetNS(at.netNS, func() error {
		card, err := device.Read(at.card)
		if err != nil {
			return err
		}
		socket = netip.AddrPortFrom(card.First(), port)
		listener, err = net.Listen("tcp4", socket.String())
		return err
	})).To(Succeed())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return socket
}

// dial returns nil if a TCP connection through the card of s is accepted.
func (s station) dial(ctx context.Context, to netip.AddrPort) error {
	return lan.InNetNS(s.netNS, func() error {
		// No answer comes, or the caller dials again.
		d := net.Dialer{Timeout: 2 * time.Second, Control: func(_, _ string, c syscall.RawConn) (err error) {
			return errors.Join(c.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), s.card) }), err)
		}}
		conn, err := d.DialContext(ctx, "tcp4", to.String())
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
}

// try expects that each crossing is allowed or refused. A policy takes effect moments after it or its pod is created.
func try(t *testing.T, all ...crossing) {
	t.Helper()
	for _, c := range all {
		done := t.Run(c.what, func(t *testing.T) {
			g, want := NewWithT(t), Succeed()
			if c.witness != nil {
				g.Eventually(func() error { return c.witness.dial(t.Context(), c.to) }).WithPolling(200*time.Millisecond).Should(Succeed(), "%s is accepted elsewhere", c.to)
				want = Satisfy(isRefusal)
			}
			g.Eventually(func() error { return c.from.dial(t.Context(), c.to) }).WithPolling(200*time.Millisecond).Should(want, c.to.String())
		})
		if !done {
			t.FailNow() // Each failure waits for minutes.
		}
	}
}

// isRefusal reports whether err is that of a connection that is rejected, or that nothing answers.
func isRefusal(err error) bool {
	var failed net.Error
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &failed) && failed.Timeout()
}

// testIn dials every socket of an edge on the pod network.
func (s *stage) testIn(t *testing.T, p places, edge edgePod) {
	t.Helper()
	g := NewWithT(t)
	path, err := edge.netNS()
	g.Expect(err).NotTo(HaveOccurred())
	var ports []uint16
	g.Expect(lan.InNetNS(path, func() error {
		card, err := net.InterfaceByName(podDevice)
		if err != nil {
			return err
		}
		sockets, err := inetSockets()
		for _, socket := range sockets {
			if socket.State == netlink.TCP_LISTEN && int(socket.ID.Interface) == card.Index {
				ports = append(ports, socket.ID.SourcePort)
			}
		}
		return err
	})).To(Succeed())
	g.Expect(ports).To(ContainElements(BeEquivalentTo(network.MetricsPort), BeEquivalentTo(network.PodDNSPort)))
	address := netip.MustParseAddr(edge.Status.PodIP)
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(address, port) }
	for _, port := range ports {
		try(t, crossing{fmt.Sprintf("port %d, from another namespace", port), p.stranger, at(port), &p.neighbor})
	}
	try(t,
		crossing{"metrics, from monitoring", p.prometheus, at(network.MetricsPort), nil},
		crossing{"names for pods, from a resolver", p.resolver, at(network.PodDNSPort), nil},
		crossing{"metrics, from a resolver", p.resolver, at(network.MetricsPort), &p.prometheus})
	for from, expected := range map[station][]uint16{p.resolver: {network.PodDNSPort}, p.stranger: nil} {
		scan := Scan{NetNS: from.netNS, Patience: 2 * time.Second, Expected: expected, Parallel: 1}
		answered, err := scan.UDP(t.Context(), address, []uint16{network.PodDNSPort})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answered).To(HaveExactElements(anything(expected)...), "UDP ports of an edge")
	}
}

// wanted are the connections that an edge needs.
func (s *stage) wanted(t *testing.T, edge edgePod) (all []crossing) {
	t.Helper()
	g := NewWithT(t)
	path, err := edge.netNS()
	g.Expect(err).NotTo(HaveOccurred())
	from := station{path, podDevice}
	plan, err := s.hosted.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	all = append(all, crossing{"the management API server", from, netip.MustParseAddrPort("10.96.0.1:443"), nil},
		crossing{"the cluster's DNS", from, netip.MustParseAddrPort(cluster.ClusterDNS + ":53"), nil})
	for _, b := range plan.Networks[0].Backends {
		if b.Kind != network.BackendPods {
			continue
		}
		var service core.Service
		g.Expect(s.hosted.Client.Get(t.Context(), client.ObjectKey{Namespace: s.hosted.Namespace(), Name: b.Service}, &service)).To(Succeed())
		all = append(all, crossing{b.Name, from, netip.AddrPortFrom(netip.MustParseAddr(service.Spec.ClusterIP), b.Port), nil})
	}
	return all
}

// unwanted are connections that a compromised container would try.
func (s *stage) unwanted(t *testing.T, p places, edge edgePod) (all []crossing) {
	t.Helper()
	g := NewWithT(t)
	path, err := edge.netNS()
	g.Expect(err).NotTo(HaveOccurred())
	add := func(what string, to netip.AddrPort, witness *station) {
		all = append(all, crossing{what, station{path, podDevice}, to, witness})
	}
	for _, n := range s.cluster.Nodes() {
		add("the kubelet of "+n.Name, netip.MustParseAddrPort(n.IP+":10250"), &p.stranger)
	}
	add("a pod of another namespace", p.strangers, &p.prometheus)
	add("a host outside", p.outside, &p.stranger)
	var pods core.PodList
	g.Expect(s.hosted.Client.List(t.Context(), &pods)).To(Succeed())
	for _, pod := range pods.Items {
		if pod.Status.PodIP == "" {
			continue
		}
		at := func(port int) netip.AddrPort {
			return netip.MustParseAddrPort(fmt.Sprintf("%s:%d", pod.Status.PodIP, port))
		}
		switch ours := pod.Namespace == s.hosted.Namespace(); {
		case pod.Namespace == "kube-system" && strings.HasPrefix(pod.Name, "coredns-"):
			add("another port of the cluster's DNS", at(8181), &p.stranger)
		case ours && pod.Name == "etcd-0":
			add("etcd", at(2379), &p.neighbor)
		case ours && pod.UID != edge.UID && slices.ContainsFunc(s.pods(t), func(e edgePod) bool { return e.UID == pod.UID }):
			add("the metrics of the other edge", at(network.MetricsPort), &p.neighbor)
		}
	}
	g.Expect(len(all)).To(BeNumerically(">=", 8), "%v", all)
	return all
}

// testDenyAll: where a policy denies everything in the control plane namespace, the policy of edges still allows what edges need, and a VM
// reaches the API server.
func (s *stage) testDenyAll(t *testing.T, p places) {
	g := NewWithT(t)
	deny := fmt.Appendf(nil, `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny-all, namespace: %s}
spec: {podSelector: {}, policyTypes: [Ingress, Egress]}
`, s.hosted.Namespace())
	var api core.Service
	g.Expect(s.hosted.Client.Get(t.Context(), client.ObjectKey{Namespace: s.hosted.Namespace(), Name: network.APIService}, &api)).To(Succeed())
	at := netip.AddrPortFrom(netip.MustParseAddr(api.Spec.ClusterIP), uint16(api.Spec.Ports[0].Port))
	t.Cleanup(func() { _ = s.cluster.Delete(context.WithoutCancel(t.Context()), deny) })
	try(t, crossing{"the hosted API server, from a pod of its namespace", p.neighbor, at, nil})
	g.Expect(s.cluster.Apply(t.Context(), deny)).To(Succeed())
	try(t, crossing{"the same, with the policy", p.neighbor, at, &p.stranger})
	for _, edge := range s.pods(t) {
		try(t, s.wanted(t, edge)...)
		try(t, crossing{"metrics, from monitoring", p.prometheus, netip.AddrPortFrom(netip.MustParseAddr(edge.Status.PodIP), network.MetricsPort), nil})
		s.sendTo(t, edge)
		g.Eventually(func() error {
			_, err := askAnyone(t.Context(), s.worker.Machine, s.worker.API.String()+"/version")
			return err
		}).Should(Succeed(), "the API server, from a VM")
	}
	g.Expect(s.cluster.Delete(t.Context(), deny)).To(Succeed())
	try(t, crossing{"the hosted API server, without the policy", p.neighbor, at, nil})
	s.whole(t)
}
