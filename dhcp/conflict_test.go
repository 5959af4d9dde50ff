package dhcp_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// throughKernel asks the network through the kernel of an edge.
func throughKernel(t *testing.T, edges *netns.Namespace, n network.Network) func(context.Context, netip.Addr) (string, bool, error) {
	t.Helper()
	var asker *device.Asker
	var err error
	edges.Do(t, func() { asker, err = device.NewAsker("net1", func() netip.Addr { return n.Edges[0].Address }) })
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, a netip.Addr) (mac string, proven bool, err error) {
		edges.Do(t, func() { mac, proven, err = asker.WhoHas(ctx, a) })
		return mac, proven, err
	}
}

// asking is an edge that asks the network.
func asking(t *testing.T, n network.Network, settings ...func(*dhcp.Server)) (site, *dhcp.Server) {
	t.Helper()
	netns.Require(t)
	memory := &leases.Memory{}
	var server *dhcp.Server
	var asks atomic.Pointer[func(context.Context, netip.Addr) (string, bool, error)]
	kernel := func(x *dhcp.Server) {
		server = x
		x.WhoHas = func(ctx context.Context, a netip.Addr) (string, bool, error) { return (*asks.Load())(ctx, a) }
	}
	s := serveFrom(t, n, memory, append([]func(*dhcp.Server){kernel}, settings...)...)
	s.memory = memory
	who := throughKernel(t, s.edge, n)
	asks.Store(&who)
	return s, server
}

const foreignMAC = "02:00:00:00:f0:01"

// TestStaticDeviceKeepsItsAddress: a host in the range that uses no DHCP keeps its address. No client is offered it, whether the client
// requests it or not. A client with a lease on an address gets it without a probe.
func TestStaticDeviceKeepsItsAddress(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	n := changed(func(d *network.DHCP) { d.Range = network.Range{First: at("20"), Last: at("31")} })
	var s site
	s, x := asking(t, n, func(x *dhcp.Server) {
		// The answer of the host is awaited as long as it takes. It proves something when the kernel has just heard it.
		kernel := x.WhoHas
		x.WhoHas = func(ctx context.Context, a netip.Addr) (mac string, proven bool, err error) {
			if a != at("20") {
				return kernel(ctx, a)
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience.Limit)
			defer cancel()
			for mac, proven, err = kernel(ctx, a); mac != "" && !proven; mac, proven, err = kernel(ctx, a) {
				s.edge.Run(t, "ip", "neigh", "flush", "to", a.String(), "dev", "net1")
			}
			return mac, proven, err
		}
	})
	lease := network.Lease{Address: at("30"), MAC: mac2, Expires: time.Now().Add(time.Hour).Truncate(time.Second)}
	w.Expect(s.memory.Replace(t.Context(), network.Lease{}, lease)).To(Succeed())
	device, holder := netns.New(t), netns.New(t)
	s.segment.Attach(t, device, "net1", foreignMAC, "192.168.100.20/24")
	s.segment.Attach(t, holder, "net1", "02:00:00:00:f0:02", "192.168.100.30/24")
	station := s.station("192.168.100.250/24")
	offered := func(m *dhcpv4.DHCPv4) string {
		t.Helper()
		station.send(m, everybody)
		reply, _ := station.hears(patience.Limit)
		w.Expect(reply).NotTo(BeNil())
		w.Expect(reply.MessageType()).To(Equal(offer))
		return reply.YourIPAddr.String()
	}
	// On a busy node the answer may come after the offer. Then it counts for a next try.
	w.Eventually(func() string { return offered(message(discover, mac1, asks("20"))) }).ShouldNot(Equal(full("20")))
	for i := range 9 {
		w.Expect(offered(message(discover, fmt.Sprintf("02:00:00:00:0c:%02x", i)))).NotTo(Equal(full("20")))
	}
	w.Expect(offered(message(discover, mac2))).To(Equal(full("30")), "its lease")
	report, _ := x.Report(time.Now())
	w.Expect(report.InUse).To(Equal([]reported.UsedAddress{{Address: at("20"), MAC: foreignMAC}}))
}

// TestNodeOfAnotherServerKeepsItsAddress: a node got its address from an earlier DHCP server, and has no guest agent. No other VM is
// offered the address, and the node renews it.
func TestNodeOfAnotherServerKeepsItsAddress(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	s, _ := asking(t, blue(), func(x *dhcp.Server) { x.VMs = vms{mac1: "blue-worker-1", mac2: "blue-worker-2"} })
	node := netns.New(t)
	s.segment.Attach(t, node, "net1", mac1, "192.168.100.40/24")
	station := s.station("192.168.100.250/24")
	offered := func(mac string) string {
		t.Helper()
		station.send(message(discover, mac, asks("40")), everybody)
		reply, _ := station.hears(patience.Limit)
		w.Expect(reply).NotTo(BeNil())
		return reply.YourIPAddr.String()
	}
	w.Eventually(func() string { return offered(mac2) }).ShouldNot(Equal(full("40")), "the node has it")
	w.Expect(offered(mac1)).To(Equal(full("40")), "it is the node's own")
	station.send(message(request, mac1, has("40")), everybody)
	w.Eventually(func() string { l, _ := s.memory.At(at("40")); return l.MAC }).Should(Equal(mac1), "a renewal")
}

// A played network answers as a test says.
type played struct {
	mu    sync.Mutex
	asked []netip.Addr
	// says returns who has an address, and waits as a network does.
	says func(context.Context, netip.Addr) string
	// lately is true if the kernel only remembers answers.
	lately bool
}

func (p *played) whoHas(ctx context.Context, a netip.Addr) (string, bool, error) {
	p.mu.Lock()
	p.asked = append(p.asked, a)
	p.mu.Unlock()
	return p.says(ctx, a), !p.lately, nil
}

func (p *played) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// TestOffersWaitForNoOther: addresses are probed in parallel. Offers are sent even if the network never answers, and messages of other
// clients do not wait. A second DHCPDISCOVER causes no second probe.
func TestOffersWaitForNoOther(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	end := make(chan struct{})
	const all = 100
	p := &played{says: func(context.Context, netip.Addr) string { <-end; return "" }}
	h := serveHostile(t, blue(), func(s *dhcp.Server) { s.WhoHas, s.VMs = p.whoHas, allVMs{} })
	t.Cleanup(sync.OnceFunc(func() { close(end) }))
	lease := network.Lease{Address: at("30"), MAC: mac2, Expires: now.Add(time.Hour).Truncate(time.Second)}
	w.Expect(h.memory.Replace(t.Context(), network.Lease{}, lease)).To(Succeed())
	for i := range all {
		h.send(message(discover, fmt.Sprintf("02:00:00:00:0c:%02x", i)), everybody)
	}
	w.Eventually(p.count).Should(Equal(all), "all at once")
	h.send(message(discover, mac2), everybody)
	seen := map[string]bool{}
	for len(seen) < all+1 {
		m, _ := h.hears(patience.Limit)
		w.Expect(m).NotTo(BeNil(), "%d of %d", len(seen), all)
		w.Expect(seen).NotTo(HaveKey(m.YourIPAddr.String()))
		seen[m.YourIPAddr.String()] = true
	}
	w.Expect(seen).To(HaveKey(full("30")), "a client with a lease")
	w.Expect(h.asked(message(discover, "02:00:00:00:0c:01"))).NotTo(BeNil())
	w.Expect(p.count()).To(Equal(all), "asked for once")
}

// allVMs knows every MAC as a VM.
type allVMs struct{ reply.NoVMs }

func (allVMs) VM(mac string) (string, netip.Addr, bool) { return "vm-" + mac[12:], netip.Addr{}, true }

// TestBurstOfOffers: of 300 VMs that boot at once, each gets an offer, and 256 addresses are probed.
func TestBurstOfOffers(t *testing.T) {
	t.Parallel()
	const all, probed = 300, 256
	w := NewWithT(t)
	p := &played{says: func(context.Context, netip.Addr) string { return "" }}
	n := blue()
	n.CIDR = netip.MustParsePrefix("192.168.100.0/22")
	n.DHCP.Range.Last = netip.MustParseAddr("192.168.103.250")
	h := serveHostile(t, n, func(s *dhcp.Server) { s.WhoHas, s.VMs = p.whoHas, allVMs{} })
	for i := range all {
		h.send(message(discover, fmt.Sprintf("02:00:00:00:%02x:%02x", i/256, i%256)), everybody)
		m, _ := h.hears(patience.Limit)
		w.Expect(m).NotTo(BeNil(), "VM %d", i)
	}
	w.Expect(p.count()).To(Equal(probed))
}

// TestHostThatAnswersForAll: a router with proxy ARP, or a hostile VM that answers for every address, cannot prevent VMs from getting an
// address.
func TestHostThatAnswersForAll(t *testing.T) {
	for name, mac := range map[string]func(netip.Addr) string{
		"one MAC":   func(netip.Addr) string { return foreignMAC },
		"many MACs": func(a netip.Addr) string { b := a.As4(); return fmt.Sprintf("02:00:00:00:f1:%02x", b[3]) },
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWithT(t)
			p := &played{says: func(_ context.Context, a netip.Addr) string { return mac(a) }}
			h := serveHostile(t, small("49"), func(s *dhcp.Server) { s.WhoHas, s.VMs = p.whoHas, allVMs{} })
			for i := range 36 {
				w.Expect(h.boots(fmt.Sprintf("02:00:00:00:0c:%02x", i)).IsValid()).To(BeTrue(), "VM %d", i)
			}
		})
	}
}

// TestDeclinesAreAsked: a declined address is in quarantine for an hour if another host answers a probe. If no host answers, the quarantine
// is a few minutes, and the client gets another address. If the client itself answers, or did a minute ago, another host sent the
// DHCPDECLINE, and the client keeps its address.
func TestDeclinesAreAsked(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		mac    string
		lately bool
		free   time.Duration
	}{
		"another host answers":   {foreignMAC, false, time.Hour},
		"another host answered":  {foreignMAC, true, time.Hour},
		"the client answers":     {mac2, false, 0},
		"the client answered":    {mac2, true, 0},
		"no host answers for it": {"", false, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWithT(t)
			var declining atomic.Bool
			p := &played{lately: x.lately, says: func(context.Context, netip.Addr) string {
				if declining.Load() {
					return x.mac
				}
				return ""
			}}
			h := serveHostile(t, blue(), func(s *dhcp.Server) { s.WhoHas = p.whoHas })
			a := h.boots(mac2)
			w.Expect(a.IsValid()).To(BeTrue())
			declining.Store(true)
			h.tell(message(decline, mac2, server(us), asks(a.String())))
			l, _ := h.memory.At(a)
			if x.free == 0 {
				w.Expect(l.MAC).To(Equal(mac2))
				w.Expect(h.renews(mac2, a)).To(BeTrue())
				return
			}
			w.Expect(l.MAC).To(BeEmpty())
			w.Expect(l.Expires).To(BeTemporally("~", now.Add(x.free), time.Second))
			h.wait(5 * time.Second)
			w.Expect(h.boots(mac2)).NotTo(Or(Equal(netip.Addr{}), Equal(a)))
		})
	}
}

// TestHonestDecline: a client finds a host that has its new address. The kernel of the edge finds it as well, so the address is in
// quarantine for an hour, and operators see the host.
func TestHonestDecline(t *testing.T) {
	t.Parallel()
	w := NewWithT(t)
	s, x := asking(t, blue(), func(x *dhcp.Server) {
		kernel := x.WhoHas
		x.WhoHas = func(ctx context.Context, a netip.Addr) (string, bool, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience.Limit)
			defer cancel()
			return kernel(ctx, a)
		}
	})
	station := s.station("192.168.100.250/24")
	station.send(message(request, mac1, server(us), asks("20")), everybody)
	granted, _ := station.hears(patience.Limit)
	w.Expect(granted).NotTo(BeNil())
	w.Expect(granted.MessageType()).To(Equal(ack))
	host := netns.New(t)
	s.segment.Attach(t, host, "net1", foreignMAC, "192.168.100.20/24")
	station.send(message(decline, mac1, server(us), asks("20")), everybody)
	w.Eventually(func() string { l, _ := s.memory.At(at("20")); return l.MAC }).Should(BeEmpty())
	l, _ := s.memory.At(at("20"))
	w.Expect(time.Until(l.Expires)).To(BeNumerically(">", 30*time.Minute))
	report, _ := x.Report(time.Now())
	w.Expect(report.InUse).To(ConsistOf(reported.UsedAddress{Address: at("20"), MAC: foreignMAC}))
}
