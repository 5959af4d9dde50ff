package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// A station sends what a test says, from any MAC, and hears what is broadcast.
type station struct {
	conn *net.UDPConn
	t    testing.TB
}

func (s site) station(addresses ...string) station {
	s.t.Helper()
	g := s.guest("")
	for _, a := range addresses {
		g.ns.Address(s.t, "net1", a)
	}
	var conn *net.UDPConn
	var err error
	g.ns.Do(s.t, func() { conn, err = socket.ListenPacket(s.t.Context(), "net1", netip.MustParseAddrPort("0.0.0.0:68")) })
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetReadBuffer(4 << 20)
	s.t.Cleanup(func() { _ = conn.Close() })
	return station{conn, s.t}
}

func (s station) send(m *dhcpv4.DHCPv4, to string) {
	s.t.Helper()
	if _, err := s.conn.WriteToUDPAddrPort(m.ToBytes(), netip.MustParseAddrPort(to)); err != nil {
		s.t.Fatal(err)
	}
}

// hears is the next answer, nil where there is none for a while.
func (s station) hears(within time.Duration) (*dhcpv4.DHCPv4, netip.AddrPort) {
	s.t.Helper()
	b := make([]byte, 2000)
	_ = s.conn.SetReadDeadline(time.Now().Add(within))
	n, from, err := s.conn.ReadFromUDPAddrPort(b)
	if err != nil {
		return nil, from
	}
	m, err := dhcpv4.FromBytes(b[:n])
	if err != nil {
		s.t.Fatal(err)
	}
	return m, from
}

const everybody = "255.255.255.255:67"

// TestAnotherServerThatAVMChose: if a VM of the cluster chooses another server, the server reports that server's address, which is in the
// VM's broadcast. Choices of unknown clients are not reported: another hosted cluster may serve them.
func TestAnotherServerThatAVMChose(t *testing.T) {
	g := NewWithT(t)
	memory := &leases.Memory{}
	chosen := make(chan netip.Addr, 8)
	s := serveFrom(t, blue(), memory, func(x *dhcp.Server) { x.OtherServer = func(_ string, a netip.Addr) { chosen <- a } })
	station := s.station("192.168.100.50/24")
	station.send(message(request, mac2, server("192.168.100.66"), asks("20")), everybody)
	station.send(message(request, mac1, server(us), asks("20")), everybody)
	answered, _ := station.hears(patience.Limit)
	g.Expect(answered).NotTo(BeNil())
	station.send(message(request, mac1, server("192.168.100.67"), asks("20")), everybody)
	g.Eventually(chosen).Should(Receive(Equal(netip.MustParseAddr("192.168.100.67"))))
	g.Expect(chosen).To(BeEmpty())
}

// TestDiscoversOfNewVMs: the server names VMs of the cluster that ask for their first address, each time, and neither unknown clients
// nor VMs that have a lease.
func TestDiscoversOfNewVMs(t *testing.T) {
	g := NewWithT(t)
	memory := &leases.Memory{}
	discovered := make(chan string, 8)
	s := serveFrom(t, blue(), memory, func(x *dhcp.Server) { x.Discovered = func(vm string) { discovered <- vm } })
	station := s.station("192.168.100.50/24")
	send := func(m *dhcpv4.DHCPv4) {
		station.send(m, everybody)
		answered, _ := station.hears(patience.Limit)
		g.Expect(answered).NotTo(BeNil())
	}
	send(message(discover, mac2))
	send(message(discover, mac1))
	g.Expect(discovered).To(HaveLen(1))
	vm := <-discovered
	g.Expect(vm).NotTo(BeEmpty())
	send(message(request, mac1, server(us), asks("20")))
	send(message(discover, mac1))
	g.Expect(discovered).To(BeEmpty())
}

// TestProbeIsNotAnswered: edges send DHCP messages to find DHCP servers of other owners. No edge answers them.
func TestProbeIsNotAnswered(t *testing.T) {
	g := NewWithT(t)
	s := serve(t, blue())
	station := s.station("192.168.100.50/24")
	probe, err := dhcp.Probe(dhcpv4.TransactionID{1, 2, 3, 4})
	g.Expect(err).NotTo(HaveOccurred())
	m, err := dhcpv4.FromBytes(probe)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.IsBroadcast()).To(BeTrue())
	station.send(m, everybody)
	station.send(message(discover, mac1), everybody)
	answered, _ := station.hears(patience.Limit)
	g.Expect(answered).NotTo(BeNil())
	g.Expect(answered.ClientHWAddr.String()).To(Equal(mac1))
	g.Expect(dhcp.AnswersProbe(answered.ToBytes(), answered.TransactionID)).To(BeFalse())
}

// TestNextHopVIPDoesNotAnswer: messages to the next-hop VIP or the edge address are
// dropped. Broadcasts and messages to the service VIP are answered from the service VIP.
func TestNextHopVIPDoesNotAnswer(t *testing.T) {
	g := NewWithT(t)
	s := serve(t, blue())
	station := s.station("192.168.100.200/24")
	ask := message(dhcpv4.MessageTypeInform, mac1, has("200"))
	for _, to := range []string{s.n.NextHopVIP.String(), s.n.Edges[0].Address.String()} {
		station.send(ask, to+":67")
	}
	station.send(message(dhcpv4.MessageTypeDiscover, mac2), everybody)
	m, from := station.hears(patience.Limit)
	g.Expect(m).NotTo(BeNil())
	g.Expect(m.MessageType()).To(Equal(dhcpv4.MessageTypeOffer), "the two before were not answered")
	g.Expect(from.String()).To(Equal(us + ":67"))
	for _, to := range []string{us, "192.168.100.255", "255.255.255.255"} {
		station.send(ask, to+":67")
		m, from := station.hears(patience.Limit)
		g.Expect(m).NotTo(BeNil(), to)
		g.Expect(from.String()).To(Equal(us+":67"), to)
	}
}

// TestHostsBeyondAreNoClients: a host in a client network changes no lease, and neither does a VM that sends with the address of such a
// host.
func TestHostsBeyondAreNoClients(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	n.ClientNetworks = []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")}
	s := serve(t, n)
	s.edge.Run(t, "ip", "route", "add", "10.9.0.0/16", "dev", "net1")
	station, beyond := s.station("192.168.100.50/24"), s.station("10.9.0.5/8")
	station.send(message(request, mac1, server(us), asks("20")), everybody)
	granted, _ := station.hears(patience.Limit)
	g.Expect(granted).NotTo(BeNil())

	beyond.send(message(dhcpv4.MessageTypeRelease, mac1, server(us), has("20")), everybody)
	beyond.send(message(dhcpv4.MessageTypeDiscover, mac2), everybody)
	dropped := func() int { return s.count("oooi_dhcp_dropped_total", map[string]string{"reason": "beyond-gateway"}) }
	g.Eventually(dropped).Should(Equal(2))
	held, _ := s.memory.At(netip.MustParseAddr("192.168.100.20"))
	g.Expect(held.Expires).To(BeTemporally(">", time.Now()), "not released")
}

// TestOtherDevices: only messages that arrive on the network's device are answered.
func TestOtherDevices(t *testing.T) {
	g := NewWithT(t)
	s := serve(t, blue())
	pods := site{t: t, n: s.n, segment: segment(t), edge: s.edge}
	pods.segment.Attach(t, s.edge, "eth0", "", "10.128.0.2/24")
	pod := pods.station("10.128.0.1/24")
	pod.send(message(dhcpv4.MessageTypeDiscover, mac1), everybody)
	m, _ := pod.hears(300 * time.Millisecond)
	g.Expect(m).To(BeNil())
	pod = s.station("192.168.100.201/24")
	pod.send(message(dhcpv4.MessageTypeDiscover, mac1), everybody)
	m, _ = pod.hears(patience.Limit)
	g.Expect(m).NotTo(BeNil())
}

// TestMalformed packets do not stop the server.
func TestMalformed(t *testing.T) {
	g := NewWithT(t)
	s := serve(t, blue())
	station := s.station("192.168.100.200/24")
	whole := message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...)).ToBytes()
	for i := range whole[:250] {
		_, err := station.conn.WriteToUDPAddrPort(whole[:i], netip.MustParseAddrPort(everybody))
		g.Expect(err).NotTo(HaveOccurred())
	}
	station.send(message(dhcpv4.MessageTypeDiscover, mac2), everybody)
	m, _ := station.hears(patience.Limit)
	g.Expect(m).NotTo(BeNil())
	g.Expect(m.ClientHWAddr.String()).To(Equal(mac2))
}

// TestPowerOn: VMs that start at the same moment all get different addresses, at the first
// try.
func TestPowerOn(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	n.CIDR = netip.MustParsePrefix("192.168.100.0/22")
	n.DHCP.Range = network.Range{First: at("10"), Last: netip.MustParseAddr("192.168.103.250")}
	s := serve(t, n)
	station := s.station("192.168.100.200/22")
	const all = 200
	given := map[string]string{}
	var sending sync.WaitGroup
	sending.Go(func() {
		for i := range all {
			station.send(message(dhcpv4.MessageTypeDiscover, fmt.Sprintf("02:00:00:00:07:%02x", i)), everybody)
		}
	})
	for len(given) < all {
		m, _ := station.hears(patience.Limit)
		g.Expect(m).NotTo(BeNil(), "%d of %d", len(given), all)
		switch mac := m.ClientHWAddr.String(); m.MessageType() {
		case dhcpv4.MessageTypeOffer:
			station.send(message(dhcpv4.MessageTypeRequest, mac, server(us), asks(m.YourIPAddr.String())), everybody)
		case dhcpv4.MessageTypeAck:
			g.Expect(given).NotTo(HaveKey(m.YourIPAddr.String()), "given twice")
			given[m.YourIPAddr.String()] = mac
		default:
			t.Fatalf("%s: %s", mac, m.MessageType())
		}
	}
	sending.Wait()
	for a, mac := range given {
		l, ok := s.memory.At(netip.MustParseAddr(a))
		g.Expect(ok).To(BeTrue())
		g.Expect(l.MAC).To(Equal(mac))
	}
}

// TestForgedMACs: a VM that forges MACs gets few leases, and the cluster's VMs still get
// theirs.
func TestForgedMACs(t *testing.T) {
	g := NewWithT(t)
	netns.Require(t)
	memory := &leases.Memory{}
	const few = 5
	s := serveFrom(t, blue(), memory, func(s *dhcp.Server) { s.UnknownClients = rate.NewLimiter(rate.Every(time.Hour), few) })
	station := s.station("192.168.100.200/24")
	for i := range 10 * few {
		station.send(message(dhcpv4.MessageTypeDiscover, fmt.Sprintf("02:00:00:00:08:%02x", i)), everybody)
	}
	station.send(message(dhcpv4.MessageTypeDiscover, mac1), everybody)
	strangers, own := 0, false
	for !own || strangers < few {
		m, _ := station.hears(patience.Limit)
		g.Expect(m).NotTo(BeNil(), "%d strangers, own %v", strangers, own)
		mac := m.ClientHWAddr.String()
		switch {
		case m.MessageType() == dhcpv4.MessageTypeOffer:
			station.send(message(dhcpv4.MessageTypeRequest, mac, server(us), asks(m.YourIPAddr.String())), everybody)
		case m.MessageType() == dhcpv4.MessageTypeAck && mac == mac1:
			own = true
		case m.MessageType() == dhcpv4.MessageTypeAck:
			strangers++
		}
	}
	m, _ := station.hears(time.Second)
	for ; m != nil; m, _ = station.hears(time.Second) {
		g.Expect(m.MessageType()).NotTo(Equal(dhcpv4.MessageTypeAck), "more than %d strangers", few)
	}
}

// An outage is a store whose writes fail while it is away, as a Lease's do when
// the API server is. It leaves out what else an API server does.
type outage struct {
	*leases.Memory
	mu   sync.Mutex
	away bool
}

func (o *outage) set(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
}

func (o *outage) Replace(ctx context.Context, was, next network.Lease) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		return errors.New("the API server is away")
	}
	return o.Memory.Replace(ctx, was, next)
}

// TestOutage: while no lease can be written, known VMs keep their leases and no client
// gets a new one. Granted renewals are written afterwards.
func TestOutage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	memory := &leases.Memory{}
	old := network.Lease{Address: at("20"), MAC: mac1, VM: "blue-worker-1", Expires: time.Now().Add(-5 * time.Minute).UTC().Truncate(time.Second)}
	g.Expect(memory.Replace(t.Context(), network.Lease{}, old)).To(Succeed())
	store := &outage{Memory: memory, away: true}
	s := serveFrom(t, blue(), store)
	station := s.station("192.168.100.20/24")

	station.send(message(dhcpv4.MessageTypeRequest, mac2, server(us), asks("50")), everybody)
	station.send(message(dhcpv4.MessageTypeRequest, mac1, has("20")), us+":67")
	m, _ := station.hears(patience.Limit)
	g.Expect(m).NotTo(BeNil())
	g.Expect(m.ClientHWAddr.String()).To(Equal(mac1))
	g.Expect(m.MessageType()).To(Equal(dhcpv4.MessageTypeAck))
	g.Expect(m.IPAddressLeaseTime(0)).To(BeNumerically("<", 5*time.Minute), "the address may be assigned again ten minutes after the written expiry")
	m, _ = station.hears(300 * time.Millisecond)
	g.Expect(m).To(BeNil(), "mac2 gets nothing that is not written")
	l, _ := memory.At(at("20"))
	g.Expect(l.AsWritten()).To(Equal(old))

	station.send(message(dhcpv4.MessageTypeDiscover, mac2, asks("20")), everybody)
	m, _ = station.hears(patience.Limit)
	g.Expect(m.YourIPAddr.String()).NotTo(Equal(full("20")), "it expired as written, but was granted since")

	store.set(false)
	g.Eventually(func() bool { l, _ := memory.At(at("20")); return l.Held(time.Now()) }).Should(BeTrue())
}
