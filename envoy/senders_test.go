package envoy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// TestFullSources: a VM is known by its MAC and by the addresses that it has, a host beyond the gateway by its address, and
// so are those whose MAC is not known. A source that has less than its share is not among them.
func TestFullSources(t *testing.T) {
	g := NewWithT(t)
	n, api, names := blue(), netip.MustParseAddrPort(onVLAN+":6443"), netip.MustParseAddrPort(onVLAN+":443")
	open := map[string]int{"192.168.100.20": 2, "192.168.100.21": 1, "192.168.100.22": 2, "192.168.100.23": 2, "192.168.100.24": 1, "203.0.113.5": 3, "203.0.113.6": 2}
	macs := map[string]string{"192.168.100.20": "02:00:00:00:00:01", "192.168.100.21": "02:00:00:00:00:01", "192.168.100.24": "02:00:00:00:00:02"}
	var unread error
	var said bytes.Buffer
	fulls := make(chan []Senders)
	gate := &Gate{
		Limits: Limits{Connections: 100, PerSource: 6}, Log: slog.New(slog.NewTextHandler(&said, nil)), SetAsked: func(uint32) {},
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
	dir, err := os.MkdirTemp("", "oooi-gate-")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = os.RemoveAll(dir) }()
	go func() { ended <- gate.Run(ctx, filepath.Join(dir, "s")) }()
	for range 2 { // It goes on after an error.
		g.Eventually(fulls, patient).Should(Receive(ContainElement(HaveField("Addresses", HaveLen(3)))))
	}
	cancel()
	g.Eventually(fulls, patient).Should(Receive(BeEmpty()), "at the end nothing is reset")
	g.Eventually(ended, patient).Should(Receive(BeNil()))
}

// TestConnectionsThatSendNothing: a VM opens connections without end, and sends no ClientHello. It keeps to its share but for
// what opens until they are counted, and another VM is served all the time.
func TestConnectionsThatSendNothing(t *testing.T) {
	t.Run("with one MAC", func(t *testing.T) { testSilent(t, func(*world) {}) })
	t.Run("with another MAC than in its ARP replies", func(t *testing.T) {
		testSilent(t, func(w *world) {
			w.machine.SetNeighbour(t, "eth0", onVLAN, w.edge.MAC(t, "net1"), true)
			w.vlan.Attach(t, w.machine, "eth1", "")
			for key, value := range map[string]string{"all/arp_ignore": "0", "all/rp_filter": "0", "eth0/rp_filter": "0", "eth1/rp_filter": "0", "eth0/arp_ignore": "8"} {
				w.machine.Sysctl(t, "net/ipv4/conf/"+key, value)
			}
		})
	})
}

// testSilent: prepare is done to the VM before.
func testSilent(t *testing.T, prepare func(*world)) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	prepare(w)
	other := netns.New(t)
	w.vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	ctx, cancel := context.WithCancel(t.Context())
	opened, flood := 0, make(chan struct{})
	go func() {
		defer close(flood)
		var all []net.Conn
		for ctx.Err() == nil {
			all = append(all, open(t, w.machine, onVLAN+":443", 500)...)
			opened += 500
			all = slices.DeleteFunc(all, closed)
		}
	}()
	began, most := time.Now(), 0
	for time.Since(began) < 2*helloTimeout {
		g.Expect(w.named(t, other)).To(Succeed())
		most = max(most, strings.Count(w.edge.Run(t, "ss", "-Htnp", "state", "established", "sport", "=", ":443"), `"envoy"`))
	}
	cancel()
	<-flood
	share := w.limits.share(true)
	t.Logf("%d opened, Envoy had at most %d of %d, the share is %d, %v were refused", opened, most, w.limits.Others(), share, denied(w.gate, overShare))
	g.Expect(most).To(BeNumerically(">=", enough(share)))
	g.Expect(denied(w.gate, overShare)).To(BeNumerically(">", 0), "what is above the share")
	if strict() { // How many open until they are counted depends on the machine.
		g.Expect(most).To(BeNumerically("<", share*4))
	}
}

// named returns nil if a connection from another VM is carried by its server name.
func (w *world) named(t *testing.T, from *netns.Namespace) error {
	t.Helper()
	var c net.Conn
	var err error
	from.Do(t, func() { c, err = net.DialTimeout("tcp4", onVLAN+":443", servedWithin()) })
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(servedWithin()))
	return tls.Client(c, &tls.Config{ServerName: "oauth.blue.example.com", InsecureSkipVerify: true}).HandshakeContext(t.Context())
}
