// This file sends packets through kube-router's policy controller, which enforces the NetworkPolicies of HyperShift and of oooi in network
// namespaces. Each pod and each host is a namespace on one bridge. The evaluator of other tests must agree with the kernel.

package controllers

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// theNode is the name and the address of the node with all pods.
const theNode, theNodeIP = "node10", "172.16.0.10"

// A fabric is a node. Its bridge connects pods and hosts.
type fabric struct {
	server  *apiserver.Server
	segment *netns.Segment
	bridge  *netns.Namespace
	at      map[string]*netns.Namespace // by address
	pods    map[string]party            // by namespace, labels and ports
	serving map[string]bool
}

func newFabric(t *testing.T, s *apiserver.Server) *fabric {
	t.Helper()
	f := &fabric{server: s, segment: netns.NewSegment(t), at: map[string]*netns.Namespace{}, pods: map[string]party{}, serving: map[string]bool{}}
	f.bridge = f.segment.Bridge(t)
	f.bridge.Run(t, "ip", "address", "add", "172.16.9.9/32", "dev", "bridge")
	f.bridge.Run(t, "ip", "route", "add", "default", "dev", "bridge") // for the answers to what is refused
	return f
}

// place creates the network namespace of a pod or host, and the Pod. It returns p, a pod with an address of its own.
func (f *fabric) place(t *testing.T, p party) party {
	t.Helper()
	if p.namespace != "" {
		key := fmt.Sprint(p.namespace, p.labels, p.ports)
		if old, ok := f.pods[key]; ok {
			return old
		}
		p.address = netip.AddrFrom4([4]byte{10, 128, 5, byte(len(f.pods) + 1)})
		f.pods[key] = p
		f.create(t, p)
	}
	if f.at[p.address.String()] == nil {
		n := netns.New(t)
		f.segment.Attach(t, n, "eth0", "", p.address.String()+"/32")
		n.Run(t, "ip", "route", "add", "default", "dev", "eth0")
		f.at[p.address.String()] = n
	}
	return p
}

// create creates a Pod that runs on the node.
func (f *fabric) create(t *testing.T, p party) {
	t.Helper()
	g := NewWithT(t)
	container := corev1.Container{Name: "c", Image: "localhost/c"}
	for _, name := range slices.Sorted(maps.Keys(p.ports)) {
		container.Ports = append(container.Ports, corev1.ContainerPort{Name: name, ContainerPort: p.ports[name]})
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: fmt.Sprintf("pod-%d", p.address.As4()[3]), Labels: p.labels},
		Spec: corev1.PodSpec{NodeName: theNode, Containers: []corev1.Container{container}}}
	g.Expect(f.server.Admin.Create(t.Context(), pod)).To(Succeed())
	t.Cleanup(func() {
		g.Expect(f.server.Admin.Delete(context.WithoutCancel(t.Context()), pod, client.GracePeriodSeconds(0))).To(Succeed())
	})
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, HostIP: theNodeIP, PodIP: p.address.String(), PodIPs: []corev1.PodIP{{IP: p.address.String()}}}
	g.Expect(f.server.Admin.Status().Update(t.Context(), pod)).To(Succeed())
}

// serve answers at a port of p.
func (f *fabric) serve(t *testing.T, p party, protocol corev1.Protocol, port int32) {
	t.Helper()
	at := net.JoinHostPort(p.address.String(), fmt.Sprint(port))
	key := string(protocol) + at
	if f.serving[key] {
		return
	}
	f.serving[key] = true
	n := f.at[p.address.String()]
	if protocol == corev1.ProtocolTCP {
		n.Serve(t, at, func(c net.Conn) { _, _ = c.Write([]byte("x")) })
		return
	}
	var socket net.PacketConn
	var err error
	n.Do(t, func() { socket, err = net.ListenPacket("udp4", at) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = socket.Close() })
	go func() {
		for buffer := make([]byte, 1); ; {
			_, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = socket.WriteTo(buffer, from)
		}
	}()
}

// A packet is a connection from a pod. allowed: it must pass.
type packet struct {
	connection
	from    party
	allowed bool
}

// passes reports whether a byte comes back.
func (f *fabric) passes(t *testing.T, p packet) (passed bool) {
	f.at[p.from.address.String()].Do(t, func() {
		soon := time.Second
		if p.allowed {
			soon = 10 * time.Second
		}
		c, err := net.DialTimeout(strings.ToLower(string(p.protocol))+"4", net.JoinHostPort(p.to.address.String(), fmt.Sprint(p.port)), soon)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		if p.protocol == corev1.ProtocolUDP {
			_, _ = c.Write([]byte("x"))
		}
		_ = c.SetReadDeadline(time.Now().Add(soon))
		_, err = c.Read(make([]byte, 1))
		passed = err == nil
	})
	return passed
}

// differ returns the packets that pass though they must not, or do not pass though they must. If there are no policies, all must pass.
func (f *fabric) differ(t *testing.T, all []packet, policies bool) []string {
	var wrong []string
	var lock sync.Mutex
	var together sync.WaitGroup
	for _, p := range all {
		together.Go(func() {
			if passed := f.passes(t, p); passed != (p.allowed || !policies) {
				lock.Lock()
				defer lock.Unlock()
				wrong = append(wrong, fmt.Sprintf("%s, %s %s:%d: passes %t", p.what, p.protocol, p.to.address, p.port, passed))
			}
		})
	}
	together.Wait()
	return wrong
}

// enforce starts the policy controller on the node. It reaches the API server at the address in its kubeconfig.
func (f *fabric) enforce(t *testing.T, netpold string) {
	t.Helper()
	g := NewWithT(t)
	server, err := url.Parse(f.server.Env.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	f.bridge.Serve(t, server.Host, func(c net.Conn) {
		up, err := net.Dial("tcp4", server.Host)
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		go func() { _, _ = io.Copy(up, c) }()
		_, _ = io.Copy(c, up)
	})
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(kubeconfig, f.server.Env.KubeConfig, 0o600)).To(Succeed())
	programs.Start(t, f.bridge.Command(context.WithoutCancel(t.Context()), netpold, "--kubeconfig", kubeconfig, "--node", theNode, "--services", "172.30.0.0/16"))
}

// decided are the connections of edges that must pass or be refused, and some of others.
func (f *fabric) decided(t *testing.T, w gather.World, plan network.Plan) (all []packet) {
	t.Helper()
	edge, o := f.place(t, theEdge(plan)), othersOf(w, plan)
	add := func(from party, c connection, allowed bool) {
		if c.to.address.IsLoopback() {
			return
		}
		c.to = f.place(t, c.to)
		f.serve(t, c.to, c.protocol, c.port)
		all = append(all, packet{c, f.place(t, from), allowed})
	}
	for _, c := range needed(w, plan) {
		add(edge, c, true)
	}
	for _, c := range o.refused() {
		add(edge, c, false)
	}
	resolver := party{namespace: "openshift-dns", labels: map[string]string{"dns.operator.openshift.io/daemonset-dns": "default"}}
	prometheus := party{namespace: "openshift-monitoring", labels: map[string]string{"app": "prometheus"}}
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	admitted := []string{plan.Cluster.ControlPlaneNamespace, "openshift-ingress", "openshift-monitoring"}
	for _, from := range []party{o.stranger, o.red, o.foreign, o.kas, resolver, prometheus, theRouter()} {
		for _, c := range []connection{
			{"metrics", edge, tcp, network.MetricsPort}, {"names for pods", edge, udp, wire.PodDNSPort}, {"a tunnel", edge, tcp, network.AccessPort},
			{"heartbeats", edge, udp, wire.HeartbeatPort}, {"etcd", o.etcd, tcp, 2379}, {"the API server", o.kas, tcp, 6443},
		} {
			c.what += ", from " + from.namespace
			toAll := c.to.namespace == o.kas.namespace && c.port == 6443 || c.port == wire.PodDNSPort && from.namespace == resolver.namespace && plan.AnswersPods()
			add(from, c, toAll || slices.Contains(admitted, from.namespace))
		}
	}
	return all
}

// TestPoliciesByPackets: an edge reaches what it needs and nothing else, and nothing else reaches an edge. Without policies, everything does.
func TestPoliciesByPackets(t *testing.T) {
	netns.Require(t, "iptables", "ipset")
	netpold, s := programs.RequireNetpold(t), apiserver.Start(t, nil)
	g := NewWithT(t)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: theNode}}
	g.Expect(s.Admin.Create(t.Context(), node)).To(Succeed())
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: theNodeIP}}
	g.Expect(s.Admin.Status().Update(t.Context(), node)).To(Succeed())
	for _, story := range []string{"lb-ip", "nodeport", "registries", "two-edges"} {
		t.Run(story, func(t *testing.T) {
			g, f := NewWithT(t), newFabric(t, s)
			w, plan := storyThere(t, story, func(*gather.World) {})
			there := namespaces()
			there[plan.Cluster.ControlPlaneNamespace] = nil
			for name, labels := range there {
				ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
				g.Expect(client.IgnoreAlreadyExists(s.Admin.Create(t.Context(), ns))).To(Succeed())
			}
			all := f.decided(t, w, plan)
			g.Eventually(func() []string { return f.differ(t, all, false) }).Should(BeEmpty(), "everything is served")

			e := evaluator{policies: networkPolicies(t, w, plan), namespaces: namespaces(), blocksHoldPods: true}
			for i := range e.policies {
				policy := e.policies[i].DeepCopy()
				policy.OwnerReferences = nil
				g.Expect(s.Admin.Create(t.Context(), policy)).To(Succeed())
				t.Cleanup(func() { g.Expect(s.Admin.Delete(context.WithoutCancel(t.Context()), policy)).To(Succeed()) })
			}
			for _, p := range all {
				g.Expect(e.allows(p.from, p.to, p.protocol, p.port)).To(Equal(p.allowed), "%s, %d", p.what, p.port)
			}
			f.enforce(t, netpold)
			g.Eventually(func() []string { return f.differ(t, all, true) }).Should(BeEmpty(), "of %d connections", len(all))
		})
	}
}
