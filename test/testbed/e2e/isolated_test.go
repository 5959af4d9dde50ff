// This file shows what a machine can reach with the edge as its router: what the
// plan publishes, DNS and DHCP, and nothing else of the management cluster.

package e2e

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/hostile"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/worker"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// published are the TCP ports that the plan offers, by address; every address of
// the edges is there, also with none.
func published(n network.Network) map[netip.Addr][]uint16 {
	ports := map[netip.Addr][]uint16{n.NextHopVIP: nil, n.ServiceVIP: {53}}
	for _, e := range n.Edges {
		ports[e.Address] = nil
	}
	for _, a := range n.PublishedAddresses {
		ports[a] = nil
	}
	for _, l := range n.Listeners {
		ports[l.Address] = append(ports[l.Address], l.Port)
	}
	for a := range ports {
		slices.Sort(ports[a])
	}
	return ports
}

// testIsolated scans these ports from a VM, and sends what a hostile VM sends.
func testIsolated(t *testing.T, b bed, h Hosted, w *worker.Worker, ports []uint16) {
	g := NewWithT(t)
	plan, err := h.Plan(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	n := plan.Networks[0]
	inside := machine.Interface
	route, err := w.Machine.Output(t.Context(), "ip", "route", "get", cluster.NodeIP)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(route)).To(ContainSubstring("via "+n.NextHopVIP.String()+" dev "+inside), "the edge is the router")

	v := vantage{
		scan: Scan{NetNS: w.Machine.NetNS(), Patience: 2 * time.Second, Parallel: 256},
		hop:  station{w.Machine.NetNS(), inside},
		udp:  []uint16{53}, tcp: ports,
	}
	if tellsTime(n) {
		v.udp = append(v.udp, 123)
	}
	testPublished(t, n, v)
	testHidden(t, b, h, v.scan, published(n))
	testPodAddresses(t, h, n, v)
	testHostile(t, h, n, w.Machine.NetNS())
}

// A vantage is from where edges are scanned.
type vantage struct {
	scan Scan
	// hop is the host on the network that sends to the edges: itself, or a router.
	hop station
	// udp are the ports of the service VIP that answer it.
	udp []uint16
	// tcp are the ports that are scanned, those that answer among them.
	tcp []uint16
}

// testPublished expects that every address of the edges answers at the ports that the plan
// offers, and at no other.
func testPublished(t *testing.T, n network.Network, v vantage) {
	g := NewWithT(t)
	expected := published(n)
	for _, address := range slices.SortedFunc(maps.Keys(expected), netip.Addr.Compare) {
		tcp, udp := v.scan, v.scan
		tcp.Expected = expected[address]
		open, err := tcp.TCP(t.Context(), address, v.tcp)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(open).To(HaveExactElements(anything(expected[address])...), "TCP ports of %s, of %d", address, len(v.tcp))
		if address == n.ServiceVIP {
			udp.Expected = v.udp
		}
		answered, err := udp.UDP(t.Context(), address, []uint16{53, 67, 68, 69, 123, 161, 500, 4789, 5353, 6081, wire.HeartbeatPort, 8472})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answered).To(HaveExactElements(anything(udp.Expected)...), "UDP ports of %s", address)
	}
}

// testHostile sends as a hostile VM to each edge: with a forged source, and as an IPv6
// router. Nothing of it leaves through the pod network, and no edge takes a route.
func testHostile(t *testing.T, h Hosted, n network.Network, vm string) {
	g := NewWithT(t)
	const secret, control, last = "the payload of a VM", "sent by the edge", "the last one"
	stranger, seq := netip.MustParseAddr("192.0.2.77"), uint32(0x5ec4e75e)
	open := func(path, device string) (p *hostile.Port) {
		g.Expect(lan.InNetNS(path, func() (err error) { p, err = hostile.Open(device); return err })).To(Succeed())
		t.Cleanup(p.Close)
		return p
	}
	pods, err := edgePods(t.Context(), h, n.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).NotTo(BeEmpty())
	port, inside := open(vm, machine.Interface), netip.Addr{}
	g.Expect(lan.InNetNS(vm, func() error {
		s, err := device.Read(machine.Interface)
		inside = s.First()
		return err
	})).To(Succeed())
	for _, pod := range pods {
		path, err := pod.netNS()
		g.Expect(err).NotTo(HaveOccurred())
		mac, err := net.ParseMAC(pod.mac)
		g.Expect(err).NotTo(HaveOccurred())
		outside := open(path, "eth0")
		outside.Sent = true
		send := func(kind uint16, to net.HardwareAddr, packet []byte) {
			g.Expect(port.Send(port.MAC(), to, kind, packet)).To(Succeed())
		}
		send(hostile.IPv4, mac, hostile.Echo(stranger, n.ServiceVIP, secret))
		send(hostile.IPv4, mac, hostile.SYN(netip.AddrPortFrom(stranger, 443), netip.AddrPortFrom(n.ServiceVIP, 9), seq))
		send(hostile.IPv6, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1},
			hostile.Advertisement(netip.MustParseAddr("fe80::1"), port.MAC(), netip.MustParsePrefix("2001:db8::/64")))
		send(hostile.IPv4, mac, hostile.Echo(inside, n.ServiceVIP, last))
		_, err = port.Until(func(p []byte) bool { return bytes.HasSuffix(p, []byte(last)) })
		g.Expect(err).NotTo(HaveOccurred(), "the edge answers a source of the network")
		g.Expect(lan.InNetNS(path, func() error {
			seen, err := device.Read(vlanDevice)
			if err != nil {
				return err
			}
			g.Expect(seen.VerifiesSources).To(BeTrue())
			g.Expect(seen.VerifiesIPv6Sources).To(BeTrue())
			g.Expect(seen.IPv6Routes).To(BeEmpty())
			// A NetworkPolicy rejects what the edge sends. A connected socket would return that as an error.
			c, listened := net.ListenPacket("udp4", ":0")
			if err = errors.Join(seen.Isolates(), listened); err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			to := &net.UDPAddr{IP: stranger.AsSlice(), Port: 9}
			_, sent := c.WriteTo([]byte(control), to)
			_, err = c.WriteTo([]byte(last), to)
			return errors.Join(sent, err)
		})).To(Succeed())
		left, err := outside.Until(func(p []byte) bool { return bytes.HasSuffix(p, []byte(last)) })
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(slices.ContainsFunc(left, func(p []byte) bool { return bytes.HasSuffix(p, []byte(control)) })).To(BeTrue(), "what leaves through eth0 is seen")
		for _, p := range left {
			g.Expect(bytes.Contains(p, []byte(secret)) || bytes.Contains(p, []byte{0x5e, 0xc4, 0xe7, 0x5e})).To(BeFalse(), "%s to %s", hostile.Source(p), hostile.Destination(p))
		}
	}
}

// anything returns ports as arguments.
func anything(ports []uint16) []any {
	out := make([]any, len(ports))
	for i, p := range ports {
		out[i] = p
	}
	return out
}

// testHidden asks what the management cluster itself serves: sockets that do answer
// its own node, so that silence means isolation and not a wrong address.
func testHidden(t *testing.T, b bed, h Hosted, scan Scan, expected map[netip.Addr][]uint16) {
	g := NewWithT(t)
	targets, err := hiddenTargets(t.Context(), b, h)
	g.Expect(err).NotTo(HaveOccurred())
	fromNode := Scan{NetNS: b.cluster.NetNS(), Patience: 2 * time.Second, Parallel: 8}
	for what, target := range targets {
		if _, ours := expected[target.Addr()]; ours {
			continue // an address that the plan publishes: scanned above
		}
		fromNode.Expected = []uint16{target.Port()}
		open, err := fromNode.TCP(t.Context(), target.Addr(), []uint16{target.Port()})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(open).To(HaveLen(1), "%s (%s) answers the node", what, target)
		open, err = scan.TCP(t.Context(), target.Addr(), []uint16{target.Port()})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(open).To(BeEmpty(), "%s (%s) is hidden from the machine", what, target)
	}
}

// testPodAddresses sends by each edge to its own pod address: the kernel there answers
// for any address it holds, so only sockets bound to their device stay silent.
func testPodAddresses(t *testing.T, h Hosted, n network.Network, v vantage) {
	g := NewWithT(t)
	pods, err := edgePods(t.Context(), h, n.Name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).To(HaveLen(len(n.Edges)))
	for _, pod := range pods {
		address, err := netip.ParseAddr(pod.Status.PodIP)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(v.hop.head(t.Context(), n.NextHopVIP, pod.mac)).To(Succeed())
		open, err := v.scan.TCP(t.Context(), address, v.tcp)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(open).To(BeEmpty(), "ports of the edge's pod address %s", address)
		answered, err := v.scan.UDP(t.Context(), address, []uint16{53, 67, 123, wire.HeartbeatPort})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answered).To(BeEmpty(), "UDP ports of the edge's pod address %s", address)
	}
}

// hiddenTargets are sockets of the management cluster that answer from its node, by
// what they are.
func hiddenTargets(ctx context.Context, b bed, h Hosted) (map[string]netip.AddrPort, error) {
	targets := map[string]netip.AddrPort{
		"the node's API server": netip.MustParseAddrPort(cluster.NodeIP + ":6443"),
		"the node's kubelet":    netip.MustParseAddrPort(cluster.NodeIP + ":10250"),
		"the cluster's DNS":     netip.MustParseAddrPort(cluster.ClusterDNS + ":53"),
		"the API's Service":     netip.MustParseAddrPort("10.96.0.1:443"),
	}
	var services core.ServiceList
	if err := h.Client.List(ctx, &services, client.InNamespace(h.Namespace())); err != nil {
		return nil, err
	}
	for _, s := range services.Items {
		if s.Name == "kube-apiserver" { // a backend by its Service, which the plan names; the address itself is not for machines
			targets["the hosted API's Service"] = netip.AddrPortFrom(netip.MustParseAddr(s.Spec.ClusterIP), uint16(s.Spec.Ports[0].Port))
		}
	}
	var pods core.PodList
	if err := h.Client.List(ctx, &pods, client.InNamespace(h.Namespace())); err != nil {
		return nil, err
	}
	for _, p := range pods.Items {
		switch {
		case strings.HasPrefix(p.Name, "kube-apiserver-") && p.Status.Phase == core.PodRunning:
			targets["the hosted API's pod"] = netip.AddrPortFrom(netip.MustParseAddr(p.Status.PodIP), 6443)
		case p.Name == "etcd-0":
			targets["another pod, etcd"] = netip.AddrPortFrom(netip.MustParseAddr(p.Status.PodIP), 2379)
		}
	}
	return targets, nil
}
