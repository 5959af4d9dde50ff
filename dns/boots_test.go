package dns

import (
	"net/netip"
	"testing"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestQuestionsForIgnition: each query for a name of Ignition is reported with its client, in any spelling. No other query is.
func TestQuestionsForIgnition(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan netip.Addr, 8)
	n := local(network.UpstreamNone)
	n.Backends = []network.Backend{{Name: "ignition-server-proxy:443", Service: network.IgnitionService, Port: 443}}
	n.Listeners = []network.Listener{{Forwards: []network.Forward{{ServerNames: []string{"ignition.blue.example.com"}, Backend: "ignition-server-proxy:443"}}}}
	_, at := served(t, n, Options{AskedIgnition: func(a netip.Addr) { asked <- a }})
	ask := func(transport, name string, kind uint16) {
		var m dns.Msg
		m.SetQuestion(name, kind)
		c := dns.Client{Net: transport, Timeout: longest}
		_, _, err := c.Exchange(&m, at.String())
		g.Expect(err).NotTo(HaveOccurred())
	}
	ask("udp", "api.blue.example.com.", dns.TypeA)
	ask("udp", "x.ignition.blue.example.com.", dns.TypeA)
	g.Expect(asked).To(BeEmpty())
	for _, transport := range []string{"udp", "tcp"} {
		ask(transport, "IGNITION.blue.example.com.", dns.TypeAAAA)
		g.Expect(asked).To(Receive(Equal(netip.MustParseAddr("127.0.0.1"))))
	}
	ask("udp", "i\\103nition.blue.example.com.", dns.TypeA)
	g.Expect(asked).To(HaveLen(1))
}
