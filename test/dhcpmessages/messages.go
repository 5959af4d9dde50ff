// Package dhcpmessages has what tests of the DHCP server send, and the network on which they do.
package dhcpmessages

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
)

// The clients, and the server of Blue. The second edge of Twice replies to MAC1 and MAC2, the first one to OfEdge1 and
// AlsoOfEdge1.
const (
	MAC1, MAC2           = "02:00:00:00:00:01", "02:00:00:00:00:02"
	OfEdge1, AlsoOfEdge1 = "02:00:00:00:00:03", "02:00:00:00:00:04"
	Us                   = "192.168.100.3"
)

// RHCOS is what NetworkManager asks for in a node's initrd and root.
var RHCOS = []byte{1, 2, 6, 12, 15, 26, 28, 121, 3, 33, 40, 41, 42, 119, 249, 252, 17}

// Now is the time of tests that have no clock.
var Now = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)

// Blue is a network as Derive makes it, with short leases.
func Blue() network.Network {
	request := network.Request{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: "blue.example.com"},
		Edges:   1,
		Networks: []network.NetworkRequest{{
			Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100", MTU: 1400}, Primary: true,
			CIDR:     netip.MustParsePrefix("192.168.100.0/24"),
			Settings: network.Settings{LeaseTime: network.Duration(10 * time.Minute), NTPServers: []netip.Addr{netip.MustParseAddr("192.0.2.123")}},
		}},
	}
	seen := network.Facts{Endpoints: []network.Endpoint{{Name: "kube-apiserver", Addresses: []netip.Addr{netip.MustParseAddr("10.240.0.200")}, Port: 6443, Match: network.MatchAny,
		Backend: network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443}}}}
	decision := derive.Derive(request, seen, network.Plan{}, nil)
	plan, ok := decision.Plan()
	if !ok || plan.Validate() != nil {
		panic(decision.Problems)
	}
	return plan.Networks[0]
}

// Twice is Blue with two edges.
func Twice() network.Network {
	n := Blue()
	n.Edges, n.ReservedAddresses = append(n.Edges, network.Edge{Number: 2, Address: n.ReservedAddresses[0]}), nil
	return n
}

// Large is a network with a range of 65,533 addresses, and a lease on each of them that ends some time after now.
func Large(after time.Duration) (network.Network, []network.Lease) {
	n := Blue()
	n.CIDR = netip.MustParsePrefix("10.7.0.0/16")
	n.NextHopVIP, n.ServiceVIP = netip.MustParseAddr("10.7.0.1"), netip.MustParseAddr("10.7.0.2")
	n.DHCP.ServerID, n.DHCP.Router = n.ServiceVIP, n.NextHopVIP
	n.DHCP.Range = network.Range{First: netip.MustParseAddr("10.7.0.3"), Last: netip.MustParseAddr("10.7.255.254")}
	var all []network.Lease
	for i, a := 0, n.DHCP.Range.First; n.DHCP.Range.Contains(a); i, a = i+1, a.Next() {
		all = append(all, network.Lease{Address: a, MAC: fmt.Sprintf("02:00:00:%02x:%02x:%02x", i>>16, i>>8&0xff, i&0xff), Expires: Now.Add(after)})
	}
	return n, all
}

// Changed is Blue with other settings.
func Changed(change func(*network.DHCP)) network.Network {
	n := Blue()
	change(&n.DHCP)
	return n
}

// At is an address of the network by its last byte.
func At(last string) netip.Addr { return netip.MustParseAddr("192.168.100." + last) }

// Held is a lease that ends some time after now, or before.
func Held(last, mac string, after time.Duration) network.Lease {
	return network.Lease{Address: At(last), MAC: mac, Expires: Now.Truncate(time.Second).Add(after)}
}

// Message is a client's, as RFC 2131 table 5 has it fill the fields.
func Message(t dhcpv4.MessageType, mac string, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	hw, _ := net.ParseMAC(mac)
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithHwAddr(hw), dhcpv4.WithMessageType(t)}, more...)...)
	if err != nil {
		panic(err)
	}
	return m
}

// Asks has option 50.
func Asks(last string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(Full(last))))
}

// Has has an address in ciaddr.
func Has(last string) dhcpv4.Modifier { return dhcpv4.WithClientIP(net.ParseIP(Full(last))) }

// ToServer has option 54.
func ToServer(a string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(a)))
}

// Full is an address of the network by its last byte, or any by all of it.
func Full(a string) string {
	if len(a) <= 3 {
		return At(a).String()
	}
	return a
}

// Parameters has option 55.
func Parameters(codes ...byte) dhcpv4.Modifier {
	return dhcpv4.WithGeneric(dhcpv4.OptionParameterRequestList, codes)
}

// Secs has a number of seconds since the client began to ask.
func Secs(s uint16) dhcpv4.Modifier { return func(m *dhcpv4.DHCPv4) { m.NumSeconds = s } }
