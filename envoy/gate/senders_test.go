package gate

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// TestFullSources: a source is a VM, which is known by its MAC and its addresses. Hosts behind the gateway, and hosts without a known MAC,
// are sources by their address. A source with less than its share is not full.
func TestFullSources(t *testing.T) {
	g := NewWithT(t)
	n, api, names := blue(), netip.MustParseAddrPort(onVLAN+":6443"), netip.MustParseAddrPort(onVLAN+":443")
	open := map[string]int{"192.168.100.20": 2, "192.168.100.21": 1, "192.168.100.22": 2, "192.168.100.23": 2, "192.168.100.24": 1, "203.0.113.5": 3, "203.0.113.6": 2}
	macs := map[string]string{"192.168.100.20": "02:00:00:00:00:01", "192.168.100.21": "02:00:00:00:00:01", "192.168.100.24": "02:00:00:00:00:02"}
	var unread error
	var said bytes.Buffer
	fulls := make(chan []Senders)
	gate := &Gate{
		Limits: resources.Limits{Connections: 100, PerSource: 6}, Log: slog.New(slog.NewTextHandler(&said, nil)), SetAsked: func(uint32) {},
		MACOf: func(a netip.Addr) string { return macs[a.String()] },
		Each: func(f func(local, remote netip.AddrPort)) error {
			for a, count := range open {
				for i := range count {
					f(api, netip.AddrPortFrom(netip.MustParseAddr(a), uint16(i)))
				}
			}
			f(netip.MustParseAddrPort("10.128.0.2:40000"), netip.MustParseAddrPort("203.0.113.6:7443"))
			return unread
		},
		Denied: newDenied(),
	}
	gate.Serve(network.Network{})
	gate.shares.limits = gate.Limits
	now := time.Now()
	none, _ := gate.look(now)
	g.Expect(none).To(BeEmpty(), "no listener")
	gate.Serve(n)
	all, every := gate.look(now)
	g.Expect(all[0]).To(Equal(Senders{Listeners: []netip.AddrPort{names}, Network: n.CIDR}), "none is full there")
	full := all[1]
	g.Expect(full.Network).To(Equal(n.CIDR))
	g.Expect(full.Listeners).To(ConsistOf(api))
	g.Expect(full.MACs).To(Equal([]net.HardwareAddr{{2, 0, 0, 0, 0, 1}}))
	g.Expect(full.Addresses).To(ConsistOf(netip.MustParseAddr("192.168.100.20"), netip.MustParseAddr("192.168.100.21"), netip.MustParseAddr("192.168.100.22"),
		netip.MustParseAddr("192.168.100.23"), netip.MustParseAddr("203.0.113.5")), "those of a full MAC, too")
	g.Expect(every).To(Equal(countEvery))
	gate.CountReset(api, netip.MustParseAddr("192.168.100.21"))
	gate.CountReset(api, netip.MustParseAddr("203.0.113.6"))
	gate.CountReset(names, netip.MustParseAddr("192.168.100.21"))
	g.Expect(denied(gate, overShare)).To(BeEquivalentTo(1), "an address of a VM that has its share, and none of another, or at another port")

	g.Expect(said.String()).To(ContainSubstring(`port=api sources=3 first="[ 02:00:00:00:00:01 203.0.113.5]" share=3`))

	delete(open, "192.168.100.20")
	all, _ = gate.look(now.Add(countEvery))
	g.Expect(all[1].MACs).To(BeEmpty())

	unread = errors.New("netlink")
	all, _ = gate.look(now.Add(2 * countEvery))
	g.Expect(all).To(BeEmpty(), "what cannot be counted is accepted")
	gate.CountReset(api, netip.MustParseAddr("203.0.113.5"))
	g.Expect(denied(gate, overShare)).To(BeEquivalentTo(1))
	g.Expect(gate.Counts()).To(BeFalse())

	g.Expect(strings.Count(said.String(), "share of the connections")).To(Equal(1), "once a minute")

	unread = nil
	gate.shares.watched, gate.Sockets = false, func() (int, error) { return 1, nil }
	all, every = gate.look(now.Add(3 * countEvery))
	g.Expect(all).To(BeEmpty(), "there are too few sockets for a share")
	g.Expect(every).To(Equal(calmEvery))
	gate.Sockets = func() (int, error) { return 2, nil }
	all, _ = gate.look(now.Add(4 * countEvery))
	g.Expect(all[1].Addresses).To(HaveLen(3))

	gate.Reset = func(s []Senders) error { fulls <- s; return errors.New("not permitted") }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	go func() { ended <- gate.Run(ctx, l) }()
	for range 2 { // It continues after an error.
		g.Eventually(fulls, patient).Should(Receive(ContainElement(HaveField("Addresses", HaveLen(3)))))
	}
	cancel()
	g.Eventually(fulls, patient).Should(Receive(BeEmpty()), "at the end nothing is reset")
	g.Eventually(ended, patient).Should(Receive(BeNil()))
}

// newDenied is a counter for a Gate.
func newDenied() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "refused"}, []string{"reason", "port"})
}

// denied is how many connections the gate denied for a reason, at all ports.
func denied(gate *Gate, why verdict) (sum float64) {
	return deniedAt(gate, why, true) + deniedAt(gate, why, false)
}

// deniedAt is denied at ports of the API server, or at others.
func deniedAt(gate *Gate, why verdict, api bool) float64 {
	m := &dto.Metric{}
	if gate.Denied.WithLabelValues(string(why), portName(api)).Write(m) != nil {
		return -1
	}
	return m.GetCounter().GetValue()
}
