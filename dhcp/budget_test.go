package dhcp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// A hostileSite is an edge on a segment with one VM that sends what it wants, from any MAC. The
// test's clock moves only when the test says so.
type hostileSite struct {
	site
	station
	passed *atomic.Int64
	writes *atomic.Int64
	lines  *programs.Output
	t      *testing.T
}

// counting counts the requests to a store that change it.
type counting struct {
	*leases.Memory
	writes *atomic.Int64
}

func (c counting) Replace(ctx context.Context, was, next network.Lease) error {
	c.writes.Add(1)
	return c.Memory.Replace(ctx, was, next)
}

func (c counting) Remove(ctx context.Context, was network.Lease) error {
	c.writes.Add(1)
	return c.Memory.Remove(ctx, was)
}

func serveHostile(t *testing.T, n network.Network, settings ...func(*dhcp.Server)) hostileSite {
	t.Helper()
	netns.Require(t)
	memory := &leases.Memory{}
	h := hostileSite{passed: &atomic.Int64{}, writes: &atomic.Int64{}, lines: &programs.Output{}, t: t}
	h.site = serveFrom(t, n, counting{memory, h.writes}, append(settings, func(s *dhcp.Server) {
		s.Now = func() time.Time { return now.Add(time.Duration(h.passed.Load())) }
		s.Log = slog.New(slog.NewTextHandler(io.MultiWriter(h.lines, t.Output()), nil))
	})...)
	h.memory = memory
	h.station = h.site.station("192.168.100.250/24")
	return h
}

func (h hostileSite) wait(d time.Duration) { h.passed.Add(int64(d)) }

// processed is how many messages the server has done with, and how many of them have a reply.
func (h hostileSite) processed() (all, replied int) {
	h.t.Helper()
	families, err := h.counted.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			value := int(m.GetCounter().GetValue())
			switch f.GetName() {
			case "oooi_dhcp_dropped_total":
				all += value
			case "oooi_dhcp_messages_total":
				all += value
				switch reply.Outcome(m.GetLabel()[0].GetValue()) {
				case reply.Offered, reply.Granted, reply.Refused, reply.Informed:
					replied += value
				}
			}
		}
	}
	return all, replied
}

// tell sends messages and returns once the server is done with them, and how many have a reply.
func (h hostileSite) tell(messages ...*dhcpv4.DHCPv4) int {
	h.t.Helper()
	before, replied := h.processed()
	for _, m := range messages {
		h.send(m, everybody)
	}
	NewWithT(h.t).Eventually(func() int { all, _ := h.processed(); return all - before }, patience.Limit, "1ms").Should(Equal(len(messages)))
	_, now := h.processed()
	return now - replied
}

// asked sends a message and returns its reply, nil for none.
func (h hostileSite) asked(m *dhcpv4.DHCPv4) *dhcpv4.DHCPv4 {
	h.t.Helper()
	for replies := h.tell(m); replies > 0; {
		reply, _ := h.hears(patience.Limit)
		if reply == nil || reply.TransactionID == m.TransactionID {
			return reply
		}
	}
	return nil
}

// boots is a whole exchange: the address that the client gets, zero for none.
func (h hostileSite) boots(mac string) netip.Addr {
	h.t.Helper()
	offered := h.asked(message(discover, mac))
	if offered == nil {
		return netip.Addr{}
	}
	granted := h.asked(message(request, mac, server(us), asks(offered.YourIPAddr.String())))
	if granted == nil || granted.MessageType() != ack {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(granted.YourIPAddr.To4())
	return a
}

// renews reports whether a client's renewal is granted. The reply goes to its own address.
func (h hostileSite) renews(mac string, a netip.Addr) bool {
	h.t.Helper()
	return h.tell(message(request, mac, dhcpv4.WithClientIP(a.AsSlice()))) > 0
}

// declines boots a client and declines what it gets, until it gets none or did so many times.
func (h hostileSite) declines(mac string, times int) {
	h.t.Helper()
	for range times {
		h.wait(5 * time.Second)
		a := h.boots(mac)
		if !a.IsValid() {
			return
		}
		h.tell(message(decline, mac, server(us), asks(a.String())))
	}
}

// declined is how many addresses are in quarantine.
func (h hostileSite) declined() (count int) {
	for _, l := range h.memory.All() {
		if l.MAC == "" {
			count++
		}
	}
	return count
}

func small(last string) network.Network {
	return changed(func(d *network.DHCP) { d.Range = network.Range{First: at("10"), Last: at(last)} })
}

// TestDeclinesOfOneVM: one VM cannot decline the pool. The others still get addresses.
func TestDeclinesOfOneVM(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, small("69"))
	h.declines(mac2, 70)
	w.Expect(h.declined()).To(BeNumerically(">=", 1), "an honest DECLINE counts")
	w.Expect(h.declined()).To(BeNumerically("<=", 4), "a few an hour")
	w.Expect(h.boots(mac1)).NotTo(Equal(netip.Addr{}), "a VM that starts now")
}

// TestDeclinesOfManyVMs: a VM that forges the MACs of many makes at most a tenth of the range useless.
func TestDeclinesOfManyVMs(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, small("69"))
	for i := range 30 {
		h.declines(fmt.Sprintf("02:00:00:00:0d:%02x", i), 3)
	}
	w.Expect(h.declined()).To(BeNumerically("<=", 6))
	w.Expect(h.boots(mac1)).NotTo(Equal(netip.Addr{}))
}

// TestDeclinesLeaveWhatVMsNeed: DHCPDECLINEs cannot make an address useless that a VM will need.
func TestDeclinesLeaveWhatVMsNeed(t *testing.T) {
	w := NewWithT(t)
	n := small("49")
	n.DHCP.ReservedForVMs = 38
	cluster := vms{}
	for i := range 38 {
		cluster[fmt.Sprintf("02:00:00:00:0a:%02x", i)] = fmt.Sprint("blue-worker-", i)
	}
	h := serveHostile(t, n, func(s *dhcp.Server) { s.VMs = cluster })
	for i := range 8 {
		h.declines(fmt.Sprintf("02:00:00:00:0a:%02x", i), 2)
	}
	for mac := range cluster {
		h.wait(5 * time.Second)
		w.Expect(h.boots(mac)).NotTo(Equal(netip.Addr{}), mac)
	}
}

// TestWritesOfOneMAC: a VM that boots repeatedly causes about one write a second. Its own renewals are still granted.
func TestWritesOfOneMAC(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, blue())
	const seconds, perSecond = 10, 10
	for range seconds * perSecond {
		h.wait(time.Second / perSecond)
		h.boots(mac2)
	}
	w.Expect(h.writes.Load()).To(BeNumerically("<=", seconds+8), "one a second, and what a client needs at once")
	w.Expect(h.writes.Load()).To(BeNumerically(">=", seconds/2))
	h.wait(time.Minute)
	a := h.boots(mac2)
	w.Expect(a).NotTo(Equal(netip.Addr{}), "it is served again")
	h.wait(11 * time.Minute)
	w.Expect(h.renews(mac2, a)).To(BeTrue())
}

// TestForgedMACsDoNotStopRenewals: unknown clients that hold an address renew it, while forged ones use
// up what new unknown clients may get.
func TestForgedMACsDoNotStopRenewals(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, blue(), func(s *dhcp.Server) { s.UnknownClients = rate.NewLimiter(rate.Every(time.Hour), 5) })
	mine := h.boots(mac2)
	w.Expect(mine).NotTo(Equal(netip.Addr{}))
	got := 0
	for i := range 20 {
		if h.boots(fmt.Sprintf("02:00:00:00:08:%02x", i)).IsValid() {
			got++
		}
	}
	w.Expect(got).To(BeNumerically("<", 10))
	h.wait(11 * time.Minute) // The next renewal must be written.
	w.Expect(h.renews(mac2, mine)).To(BeTrue(), "who has an address keeps it")
}

// TestLogLinesOfOneMAC: a VM cannot fill the log, neither with one MAC nor with many. A log line counts the lines that are left out.
func TestLogLinesOfOneMAC(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, blue())
	foreign := func(mac string) *dhcpv4.DHCPv4 { return message(request, mac, asks("10.9.8.7")) }
	for range 300 {
		h.tell(foreign(mac2))
	}
	w.Expect(h.lines.Count(mac2)).To(Equal(1), "one MAC and reason in one second")
	h.tell(foreign(mac1))
	w.Expect(h.lines.Count(mac1)).To(Equal(1), "another MAC")
	h.wait(2 * time.Second)
	h.tell(foreign(mac2))
	w.Expect(h.lines.Count(mac2)).To(Equal(2), "a second later")
	w.Expect(h.lines.Count("count=299")).To(Equal(1), "what was left out is counted")
	for i := range 300 {
		h.tell(foreign(fmt.Sprintf("02:00:00:0e:%02x:%02x", i>>8, i&255)))
	}
	w.Expect(h.lines.Count("02:00:00:0e:")).To(BeNumerically("<=", 100), "all MACs together")
}

// TestRebootsOfUnknownClients: unknown clients that request an address which they no longer have do not reduce what new unknown clients may
// get.
func TestRebootsOfUnknownClients(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, blue(), func(s *dhcp.Server) { s.VMs, s.UnknownClients = vms{}, rate.NewLimiter(1, 20) })
	for range 60 {
		h.wait(time.Second)
		for i := range 2 {
			h.tell(message(request, fmt.Sprintf("02:00:00:00:66:%02x", i), asks("77")))
		}
	}
	w.Expect(h.boots(mac1)).NotTo(Equal(netip.Addr{}))
}

// TestForgedMessagesOfAClient: a host repeatedly sends messages with the MAC of a VM, to accept, to decline or to confirm its address. The
// VM still gets its address. The store is written about once a second.
func TestForgedMessagesOfAClient(t *testing.T) {
	for name, forged := range map[string]*dhcpv4.DHCPv4{
		"SELECTING":        message(request, mac1, server(us), asks("20")),
		"DECLINE":          message(decline, mac1, server(us), asks("20")),
		"RELEASE":          message(release, mac1, server(us), has("20")),
		"INIT-REBOOT":      message(request, mac1, asks("20")),
		"SELECTING, bound": message(request, mac1, server(us), asks("20"), has("20")),
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWithT(t)
			p := &played{says: func(context.Context, netip.Addr) string { return mac1 }}
			h := serveHostile(t, blue(), func(s *dhcp.Server) { s.VMs, s.WhoHas, s.PeerServes = vms{mac1: "blue-worker-1"}, p.whoHas, peerIsGone })
			selecting := message(request, mac1, server(us), asks("20"))
			w.Expect(h.tell(selecting)).To(Equal(1))
			const seconds = 20
			for range seconds {
				h.wait(time.Second)
				for range 8 {
					h.tell(forged)
				}
				w.Expect(h.tell(selecting)).To(Equal(1), "the VM starts")
			}
			w.Expect(h.writes.Load()).To(BeNumerically("<=", seconds+4))
			l, _ := h.memory.At(at("20"))
			w.Expect(l.MAC).To(Equal(mac1))
		})
	}
}

// peerIsGone is a peer that does not serve.
func peerIsGone() bool { return false }

// TestBudgetAtTheTurn: one MAC never causes more than four writes within four seconds.
func TestBudgetAtTheTurn(t *testing.T) {
	w := NewWithT(t)
	h := serveHostile(t, blue())
	for range 4 {
		h.tell(message(request, mac1, server(us), asks("20")))
		h.wait(990 * time.Millisecond)
	}
	before := h.writes.Load()
	h.wait(100 * time.Millisecond) // The next period begins.
	for range 4 {
		h.tell(message(request, mac1, server(us), asks("20")))
	}
	w.Expect(before).To(BeEquivalentTo(4))
	w.Expect(h.writes.Load()).To(BeNumerically("<=", 5))
}

// gonesAsked counts how often a server asks whether a VM is gone.
type gonesAsked struct {
	vms
	count *atomic.Int64
}

func (g gonesAsked) Gone(string) bool { g.count.Add(1); return false }

// TestDiscoversInAFullRange: while the range is full, the server checks once a second whether VMs no longer exist, and not for each
// message.
func TestDiscoversInAFullRange(t *testing.T) {
	w := NewWithT(t)
	var count atomic.Int64
	h := serveHostile(t, small("29"), func(s *dhcp.Server) { s.VMs = gonesAsked{vms{}, &count} })
	for i := range 20 {
		l := held(fmt.Sprint(10+i), fmt.Sprintf("02:00:00:00:0b:%02x", i), hour)
		l.VM = fmt.Sprint("blue-worker-", i)
		w.Expect(h.memory.Replace(t.Context(), network.Lease{}, l)).To(Succeed())
	}
	for i := range 30 {
		h.tell(message(discover, fmt.Sprintf("02:00:00:00:0c:%02x", i)))
	}
	w.Expect(count.Load()).To(BeNumerically("<=", 20))
}
