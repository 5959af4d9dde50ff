package proxy

import (
	"net"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/loopback"
)

// TestWhatEnvoyRefusesIsReported: another program has the address of a listener. A real Envoy refuses it, its words are
// reported, and once the address is free they are not.
func TestWhatEnvoyRefusesIsReported(t *testing.T) {
	g := NewWithT(t)
	w := newReachWorld(t)
	at := loopback.Reserve(t)
	taken, err := net.Listen("tcp4", at.String())
	g.Expect(err).NotTo(HaveOccurred())
	defer taken.Close()
	api := network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443}
	n := network.Network{
		Backends:  []network.Backend{api},
		Listeners: []network.Listener{{Address: at.Addr(), Port: at.Port(), Default: api.Name}},
	}
	reports := make(chan reported.Refusal, 100)
	p := Proxy{Server: w.server}
	serving.AtEach(t.Context(), serving.Triggers{Plan: p.Server.Changed}, func() { reports <- p.Refusal() })
	w.server.Serve(resources.New(n, resources.Options{}, map[string][]netip.AddrPort{}))
	g.Eventually(reports, "1m").Should(Receive(And(HaveField("Type", "listener"), HaveField("Name", at.String()), HaveField("Error", MatchRegexp(`bind.*Address already in use`)))))
	g.Expect(taken.Close()).To(Succeed())
	g.Eventually(reports, "1m").Should(Receive(BeZero()))
}
