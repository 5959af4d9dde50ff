// This file asks whether an edge passes on what a machine sends by it to addresses
// that are not the edge's, whatever source the machine claims to have.

package e2e

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/await"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
)

// testRouter expects that no edge passes on anything.
func testRouter(t *testing.T, s *stage) {
	s.whole(t)
	for _, pod := range s.pods(t) {
		NewWithT(t).Expect(s.passedOn(t, pod)).To(BeEmpty(), "what a machine sent to the node by %s", pod.Name)
	}
}

// passedOn are the sources of datagrams to the node that a machine sent by that edge and
// that arrived.
func (s *stage) passedOn(t *testing.T, by edgePod) (sources []string) {
	t.Helper()
	g := NewWithT(t)
	bad := s.plug(t, "routes"+s.hosted.Name, s.worker.VM.VLAN)
	in := func(argv ...string) {
		out, err := exec.CommandContext(t.Context(), "nsenter", append([]string{"--net=" + bad.netNS, "--"}, argv...)...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%v: %s", argv, out)
	}
	in("ip", "address", "add", "192.168.100.7/24", "dev", bad.card)
	in("ip", "route", "add", "default", "via", s.network.NextHopVIP.String())
	g.Expect(bad.head(t.Context(), s.network.NextHopVIP, by.mac)).To(Succeed())

	var node net.PacketConn
	g.Expect(lan.InNetNS(s.cluster.NetNS(), func() (err error) {
		node, err = net.ListenPacket("udp4", net.JoinHostPort(cluster.NodeIP, "0"))
		return err
	})).To(Succeed())
	defer node.Close()
	// its own, another pod's, a node's, the edge's on either side
	for _, source := range []string{"192.168.100.7", "10.244.0.250", "10.240.0.9", by.Status.PodIP, s.network.ServiceVIP.String()} {
		if source != "192.168.100.7" {
			in("ip", "address", "add", source+"/32", "dev", bad.card)
		}
		for range 3 { // one may be lost
			g.Expect(send(bad.netNS, source, node.LocalAddr(), source)).To(Succeed())
		}
	}
	const last = "from the second node"
	g.Expect(send(s.cluster.Nodes()[1].Runtime.NetNS, s.cluster.Nodes()[1].IP, node.LocalAddr(), last)).To(Succeed())
	g.Expect(node.SetReadDeadline(time.Now().Add(await.Patience))).To(Succeed())
	reached := false
	for text := make([]byte, 64); ; {
		n, _, err := node.ReadFrom(text)
		if reached && errors.Is(err, os.ErrDeadlineExceeded) {
			return sources
		}
		g.Expect(err).NotTo(HaveOccurred(), "the node is reached at all")
		if string(text[:n]) != last {
			sources = append(sources, string(text[:n]))
			continue
		}
		// the others may wait for an answer to an ARP request of the edge
		reached = true
		g.Expect(node.SetReadDeadline(time.Now().Add(2 * time.Second))).To(Succeed()) // None may come.
	}
}

// send sends one datagram from a network namespace and a source address there.
func send(netNS, source string, to net.Addr, text string) error {
	return lan.InNetNS(netNS, func() error {
		d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(source)}}
		conn, err := d.Dial("udp4", to.String())
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Write([]byte(text))
		return err
	})
}
