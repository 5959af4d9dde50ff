package dhcp

import (
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/dhcp/udp"
	"github.com/cldmnky/oooi/network"
)

// received is a server that receives what the fuzzer says, and whose replies go nowhere.
type received struct {
	*Server
	n      network.Network
	now    time.Time
	memory leases.Memory
}

func fuzzed(t testing.TB) *received {
	t.Helper()
	at := netip.MustParseAddr
	r := &received{now: time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC), n: network.Network{
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), ServiceVIP: at("192.168.100.3"), NextHopVIP: at("192.168.100.2"),
		ClientNetworks: []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16")},
		Edges:          []network.Edge{{Number: 1, Address: at("192.168.100.4")}, {Number: 2, Address: at("192.168.100.5")}},
		DHCP: network.DHCP{
			Range: network.Range{First: at("192.168.100.10"), Last: at("192.168.100.19")}, LeaseTime: network.Duration(time.Minute),
			ServerID: at("192.168.100.3"), Relays: []netip.Addr{at("192.168.100.1")}, DomainName: "blue.example.com",
			Reservations: []network.Reservation{{MAC: "02:00:00:00:00:07", Address: at("192.168.100.30")}},
		},
	}}
	metrics := NewMetrics(prometheus.NewRegistry())
	// Sockets that are closed: a reply to an address of the fuzzer's choice leaves this host on no account.
	var conns [2]*net.UDPConn
	var err error
	for i := range conns {
		if conns[i], err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0"))); err != nil {
			t.Fatal(err)
		}
	}
	closed, err := udp.New(conns[0], conns[1])
	if err != nil {
		t.Fatal(err)
	}
	r.Server = &Server{
		Network: func() network.Network { return r.n }, Store: &r.memory, VMs: reply.NoVMs{}, Metrics: metrics, Log: slog.New(slog.DiscardHandler),
		UnknownClients: rate.NewLimiter(1, 20), Edge: 1, PeerServes: func() bool { return r.now.Second()%2 == 0 }, Now: func() time.Time { return r.now },
	}
	if r.direct, r.broadcast, r.atOnce, err = closed.Senders(); err != nil {
		t.Fatal(err)
	}
	closed.Close()
	r.forgetAll()
	r.informs = rate.NewLimiter(informsPerSecond, informsAtOnce)
	return r
}

// replies returns what the server would reply to a packet that it accepts now.
func (r *received) replies(p udp.Packet) (_ reply.Verdict, request *dhcpv4.DHCPv4) {
	request, why := accepted(r.n, p)
	if why != "" {
		return reply.Verdict{}, nil
	}
	return r.decide(r.n, request), request
}

// possible reports whether the reply to a request can go to an address: to all, to a relay of the plan, or to the address
// that a client renews (RFC 2131 section 4.1). An INFORM is answered in the network only, and never to us.
func (r *received) possible(to netip.AddrPort, request *dhcpv4.DHCPv4) bool {
	a := to.Addr()
	switch {
	case a == r.n.DHCP.Relays[0] && a == reply.Addr(request.GatewayIPAddr):
		return true
	case to.Port() != 68:
		return false
	case request.MessageType() == dhcpv4.MessageTypeInform:
		return r.n.CIDR.Contains(a) && a != r.n.ServiceVIP && a != r.n.NextHopVIP && a != r.n.Edges[0].Address && a != r.n.Edges[1].Address
	}
	renews := request.MessageType() == dhcpv4.MessageTypeRequest && !request.Options.Has(dhcpv4.OptionServerIdentifier)
	return a == reply.Everyone || renews && a == reply.Addr(request.ClientIPAddr)
}

// FuzzReceive: whatever packets arrive, one after another, the server replies to no impossible address, and promises no
// address that another client holds. An input is a list of packets, each
// after a byte with the seconds until it, two for its addresses, and two with its length.
func FuzzReceive(f *testing.F) {
	froms := []string{"0.0.0.0", "192.168.100.10", "192.168.100.3", "10.9.0.5", "8.8.8.8", "192.168.100.1"}
	tos := []string{"255.255.255.255", "192.168.100.3", "192.168.100.255", "192.168.100.2", "224.0.0.1"}
	one := func(wait, from, to byte, m *dhcpv4.DHCPv4) []byte {
		b := m.ToBytes()
		return append(binary.BigEndian.AppendUint16([]byte{wait, from, to}, uint16(len(b))), b...)
	}
	mac := func(i byte) dhcpv4.Modifier { return dhcpv4.WithHwAddr(net.HardwareAddr{2, 0, 0, 0, 0, i}) }
	of := func(kind dhcpv4.MessageType, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
		m, err := dhcpv4.New(append(more, dhcpv4.WithMessageType(kind))...)
		if err != nil {
			f.Fatal(err)
		}
		return m
	}
	asks := func(a string) dhcpv4.Modifier { return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(a))) }
	server := dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IP{192, 168, 100, 3}))
	has := func(a string) dhcpv4.Modifier { return dhcpv4.WithClientIP(net.ParseIP(a)) }
	boot := append(one(0, 0, 0, of(1, mac(1))), one(0, 0, 0, of(3, mac(1), server, asks("192.168.100.10")))...)
	f.Add(boot)
	f.Add(append(append([]byte{}, boot...), one(30, 1, 1, of(3, mac(1), has("192.168.100.10")))...))
	f.Add(append(append([]byte{}, boot...), one(1, 0, 0, of(4, mac(1), server, asks("192.168.100.10")))...))
	f.Add(append(append([]byte{}, boot...), one(1, 1, 1, of(7, mac(1), server, has("192.168.100.10")))...))
	f.Add(one(0, 1, 1, of(8, mac(1), has("192.168.100.10"))))
	f.Add(one(0, 4, 0, of(3, mac(2), has("8.8.8.8"))))
	f.Add(one(0, 5, 1, of(1, mac(3), dhcpv4.WithRelay(net.IP{192, 168, 100, 1}))))
	f.Fuzz(func(t *testing.T, input []byte) {
		r := fuzzed(t)
		for range 64 {
			if len(input) < 5 {
				break
			}
			r.now = r.now.Add(time.Duration(input[0]) * time.Second)
			size := min(int(binary.BigEndian.Uint16(input[3:])), len(input)-5)
			p := udp.Packet{
				Data: input[5 : 5+size], From: netip.AddrPortFrom(netip.MustParseAddr(froms[int(input[1])%len(froms)]), 68),
				To: netip.MustParseAddr(tos[int(input[2])%len(tos)]),
			}
			input = input[5+size:]
			r.check(t, p)
		}
	})
}

// check receives one packet.
func (r *received) check(t *testing.T, p udp.Packet) {
	t.Helper()
	v, request := r.replies(p)
	switch holder, held := r.memory.At(v.Address); {
	case v.Answer == nil:
	case !r.possible(v.To, request):
		t.Fatalf("a reply to %s: %s of %s", v.To, v.Outcome, p.From)
	case v.Outcome == reply.Granted && held && holder.MAC != v.MAC && holder.Expires.Add(-time.Minute).After(r.now):
		t.Fatalf("%s is granted to %s while %s has it", v.Address, v.MAC, holder.MAC)
	case (v.Outcome == reply.Granted || v.Outcome == reply.Offered) && !r.n.DHCP.Range.Contains(v.Address) && v.Address != r.n.DHCP.Reservations[0].Address:
		t.Fatalf("%s of %s, which is outside of the range", v.Outcome, v.Address)
	}
	r.receive(t.Context(), p)
	r.writing.Wait()
	if len(r.busy) != 0 {
		t.Fatalf("%d clients wait for a write that has ended", len(r.busy))
	}
	if room := 10 + len(r.n.DHCP.Reservations); len(r.memory.All()) > room {
		t.Fatalf("%d leases of a range of 10", len(r.memory.All()))
	}
}
