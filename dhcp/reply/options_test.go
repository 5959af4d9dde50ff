package reply_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestOptionsOfANode: the options that a node requests, byte for byte as RFC 2132, 3397
// and 3442 define them.
func TestOptionsOfANode(t *testing.T) {
	g := NewWithT(t)
	w := world{vms: cluster{names: map[string]string{mac1: "blue-worker-1"}}}
	id := []byte{1, 2, 0, 0, 0, 0, 1}
	v := w.says(message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...), dhcpv4.WithGeneric(dhcpv4.OptionClientIdentifier, id)))
	o := v.Answer.Options
	g.Expect(map[uint8][]byte(o)).To(Equal(map[uint8][]byte{
		1:   {255, 255, 255, 0},
		3:   {192, 168, 100, 2},
		6:   {192, 168, 100, 3},
		12:  []byte("blue-worker-1"),
		15:  []byte("blue.example.com"),
		26:  {1400 >> 8, 1400 & 255},
		28:  {192, 168, 100, 255},
		42:  {192, 0, 2, 123},
		51:  {0, 0, 600 >> 8, 600 & 255},
		53:  {2},
		54:  {192, 168, 100, 3},
		58:  o[58],
		59:  {0, 0, 525 >> 8, 525 & 255},
		61:  id,
		119: []byte("\x04blue\x07example\x03com\x00"),
		121: {
			32, 192, 168, 100, 3, 192, 168, 100, 2,
			32, 10, 240, 0, 200, 192, 168, 100, 2,
			0, 192, 168, 100, 2,
		},
	}))
	g.Expect(v.Answer.IPAddressRenewalTime(0)).To(And(BeNumerically(">=", 270*time.Second), BeNumerically("<", 330*time.Second)))
	g.Expect(v.LeftOut).To(BeEmpty())
	g.Expect(len(v.Answer.ToBytes())).To(And(BeNumerically(">=", 300), BeNumerically("<=", 548)))
}

// TestUnrequestedOptions are not sent, except those that every answer has.
func TestUnrequestedOptions(t *testing.T) {
	g := NewWithT(t)
	codes := func(m *dhcpv4.DHCPv4) []uint8 {
		var out []uint8
		for c := range m.Options {
			out = append(out, c)
		}
		return out
	}
	w := world{}
	g.Expect(codes(w.says(message(dhcpv4.MessageTypeDiscover, mac1, parameters(6))).Answer)).To(ConsistOf(uint8(1), uint8(6), uint8(51), uint8(53), uint8(54), uint8(58), uint8(59)))
	g.Expect(codes(w.says(message(dhcpv4.MessageTypeInform, mac1, parameters(6), has("200"))).Answer)).To(ConsistOf(uint8(6), uint8(53), uint8(54)))
	g.Expect(codes(w.says(message(dhcpv4.MessageTypeRequest, mac1, parameters(6), server(us), asks("3"))).Answer)).To(ConsistOf(uint8(53), uint8(54), uint8(56)), "a refusal configures nothing")
	g.Expect(codes(w.says(message(dhcpv4.MessageTypeDiscover, mac1)).Answer)).To(ContainElements(uint8(3), uint8(121), uint8(119)), "who asks for nothing gets all")
}

// TestSecondaryNetwork: on a secondary network, the reply contains an address and no option that would attract traffic.
func TestSecondaryNetwork(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	n.DHCP.Router, n.DHCP.Routes, n.DHCP.DNSServers, n.DHCP.SearchDomains = netip.Addr{}, nil, nil, nil
	v := world{n: n}.says(message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...)))
	for _, code := range []uint8{3, 6, 119, 121} {
		g.Expect(v.Answer.Options).NotTo(HaveKey(code))
	}
	g.Expect(v.Answer.YourIPAddr.String()).To(Equal(full(ofMAC1)))
}

// TestMessageSize: an answer is no larger than the client accepts. The least important
// options are left out (RFC 2132 section 9.10, RFC 3396).
func TestMessageSize(t *testing.T) {
	n := blue()
	for i := range 12 {
		n.DHCP.SearchDomains = append(n.DHCP.SearchDomains, "a-rather-long-name-"+string(rune('a'+i))+".example.com")
	}
	for i := range byte(40) {
		n.DHCP.Routes = append(n.DHCP.Routes, network.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, i}), 32), Via: n.NextHopVIP})
	}
	for _, c := range []struct {
		size   uint16
		most   int
		routes bool
		search bool
	}{{0, 548, false, false}, {300, 548, false, false}, {800, 772, true, false}, {1500, 1472, true, true}, {65535, 1472, true, true}} {
		g := NewWithT(t)
		m := message(dhcpv4.MessageTypeDiscover, mac1, parameters(rhcos...))
		if c.size > 0 {
			m.UpdateOption(dhcpv4.OptMaxMessageSize(c.size))
		}
		v := world{n: n}.says(m)
		g.Expect(len(v.Answer.ToBytes())).To(BeNumerically("<=", c.most))
		read, err := dhcpv4.FromBytes(v.Answer.ToBytes())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read.Options.Has(dhcpv4.OptionRouter)).To(BeTrue(), "the default route is there at any size")
		g.Expect(read.Options.Has(dhcpv4.OptionClasslessStaticRoute)).To(Equal(c.routes))
		g.Expect(read.Options.Has(dhcpv4.OptionDNSDomainSearchList)).To(Equal(c.search))
		if c.routes {
			g.Expect(read.ClasslessStaticRoute()).To(HaveLen(43))
		} else {
			g.Expect(v.LeftOut).To(ContainElement(uint8(121)))
		}
	}
}

// TestDestinationOfAnswers: RFC 2131 section 4.1, without a raw socket.
func TestDestinationOfAnswers(t *testing.T) {
	relays := blue()
	relays.DHCP.Relays = []netip.Addr{at("1")}
	relay := dhcpv4.WithRelay(net.IP{192, 168, 100, 1})
	mine := []network.Lease{held("20", mac1, time.Hour)}
	agent := dhcpv4.WithGeneric(dhcpv4.OptionRelayAgentInformation, []byte{1, 2, 'p', '7'})
	for name, c := range map[string]struct {
		m  *dhcpv4.DHCPv4
		to string
	}{
		"no address yet":             {message(dhcpv4.MessageTypeDiscover, mac1), "255.255.255.255:68"},
		"broadcast flag":             {message(dhcpv4.MessageTypeDiscover, mac1, dhcpv4.WithBroadcast(true)), "255.255.255.255:68"},
		"renewing":                   {message(dhcpv4.MessageTypeRequest, mac1, has("20")), "192.168.100.20:68"},
		"refused, though it has one": {message(dhcpv4.MessageTypeRequest, mac1, has("30")), "255.255.255.255:68"},
		"inform":                     {message(dhcpv4.MessageTypeInform, mac1, has("200")), "192.168.100.200:68"},
		"relayed":                    {message(dhcpv4.MessageTypeDiscover, mac1, relay, agent), "192.168.100.1:67"},
		"relayed and refused":        {message(dhcpv4.MessageTypeRequest, mac1, relay, agent, server(us), asks("30")), "192.168.100.1:67"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := world{n: relays, leases: mine}.says(c.m)
			g.Expect(v.To.String()).To(Equal(c.to))
			g.Expect(v.Answer.Flags & 0x7fff).To(Equal(c.m.Flags & 0x7fff))
			g.Expect(v.Answer.Options.Get(dhcpv4.OptionRelayAgentInformation)).To(Equal(c.m.Options.Get(dhcpv4.OptionRelayAgentInformation)), "option 82 is echoed (RFC 3046)")
			if v.To.Port() == 67 && v.Answer.MessageType() == dhcpv4.MessageTypeNak {
				g.Expect(v.Answer.IsBroadcast()).To(BeTrue(), "so that the relay broadcasts it")
			}
		})
	}
}

// TestNotEthernet: a message that is not a request of an Ethernet client is ignored.
func TestNotEthernet(t *testing.T) {
	g := NewWithT(t)
	for name, change := range map[string]func(*dhcpv4.DHCPv4){
		"a reply":           func(m *dhcpv4.DHCPv4) { m.OpCode = dhcpv4.OpcodeBootReply },
		"hlen 16":           func(m *dhcpv4.DHCPv4) { m.ClientHWAddr = make([]byte, 16) },
		"hlen 0":            func(m *dhcpv4.DHCPv4) { m.ClientHWAddr = nil },
		"a multicast MAC":   func(m *dhcpv4.DHCPv4) { m.ClientHWAddr = net.HardwareAddr{1, 0, 0, 0, 0, 1} },
		"no MAC":            func(m *dhcpv4.DHCPv4) { m.ClientHWAddr = make([]byte, 6) },
		"another link type": func(m *dhcpv4.DHCPv4) { m.HWType = 6 },
	} {
		m := message(dhcpv4.MessageTypeDiscover, mac1)
		change(m)
		g.Expect(world{}.says(m).Answer).To(BeNil(), name)
	}
}
