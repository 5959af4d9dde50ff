package reply_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// optionsOf reads a message as RFC 2131 section 4.1 has a client read it: the options, then
// those in file and in sname where option 52 names them.
func optionsOf(t *testing.T, packet []byte) dhcpv4.Options {
	t.Helper()
	m, err := dhcpv4.FromBytes(packet)
	if err != nil {
		t.Fatal(err)
	}
	where := append(m.Options.Get(dhcpv4.OptionOptionOverload), 0)[0]
	for bit, field := range map[byte][]byte{1: packet[108:236], 2: packet[44:108]} {
		more := dhcpv4.Options{}
		if where&bit == 0 {
			if !slices.Equal(field, make([]byte, len(field))) {
				t.Fatalf("field %d is not empty, and option 52 does not name it", bit)
			}
			continue
		}
		if !slices.Contains(field, 255) {
			t.Fatalf("field %d has no end option", bit)
		}
		if err := more.FromBytes(field); err != nil {
			t.Fatal(err)
		}
		for code, value := range more {
			if m.Options.Has(dhcpv4.GenericOptionCode(code)) {
				t.Fatalf("option %d is in two fields", code)
			}
			m.Options[code] = value
		}
	}
	return m.Options
}

// TestOverload: options that do not fit among the others are in the fields file and sname, and option 52 reports that (RFC 2132 section
// 9.3).
func TestOverload(t *testing.T) {
	// Eight external hosts, and a search list of some length: as many clusters have them.
	n := blue()
	for i := range byte(22) {
		n.DHCP.Routes = append(n.DHCP.Routes, network.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, i}), 32), Via: n.NextHopVIP})
	}
	n.DHCP.SearchDomains = []string{"blue.example.com", "a-rather-long-name-for-a-domain.example.net"}
	w := world{n: n, vms: cluster{names: map[string]string{mac1: "blue-worker-1"}}}

	g := NewWithT(t)
	v := w.says(message(discover, mac1, parameters(rhcos...)))
	g.Expect(v.LeftOut).To(BeEmpty())
	g.Expect(len(v.Answer.ToBytes())).To(BeNumerically("<=", 548))
	all := optionsOf(t, v.Answer.ToBytes())
	for code, value := range w.says(message(discover, mac1, parameters(rhcos...), dhcpv4.WithOption(dhcpv4.OptMaxMessageSize(1500)))).Answer.Options {
		g.Expect(all).To(HaveKeyWithValue(code, value), "as in a large reply")
	}
	for _, code := range []uint8{1, 51, 53, 54, 121} {
		g.Expect(v.Answer.Options).To(HaveKey(code), "clients without option 52 have the most important ones")
	}

	// A client that boots from the network reads a server and a file name there.
	boots := w.says(message(discover, mac1, parameters(append([]byte{66, 67}, rhcos...)...)))
	g.Expect(boots.Answer.ToBytes()[44:236]).To(Equal(make([]byte, 192)))
	g.Expect(boots.Answer.Options).NotTo(HaveKey(uint8(52)))
	g.Expect(boots.LeftOut).NotTo(BeEmpty())
}

// TestFitOfAnySize: for any plan, a reply is no larger than the client accepts. Each option is complete or left out, and option 52 never
// displaces an option.
func TestFitOfAnySize(t *testing.T) {
	for routes := range 60 {
		for domains := range 8 {
			n := blue()
			for i := range routes {
				n.DHCP.Routes = append(n.DHCP.Routes, network.Route{Destination: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 32), Via: n.NextHopVIP})
			}
			for i := range domains {
				n.DHCP.SearchDomains = append(n.DHCP.SearchDomains, fmt.Sprintf("a-rather-long-name-%d.example-%d.com", i, i))
			}
			w := world{n: n}
			small := w.says(message(discover, mac1, parameters(rhcos...)))
			plain := w.says(message(discover, mac1, parameters(append([]byte{66}, rhcos...)...)))
			large := w.says(message(discover, mac1, parameters(rhcos...), dhcpv4.WithOption(dhcpv4.OptMaxMessageSize(1500))))
			if size := len(small.Answer.ToBytes()); size > 548 {
				t.Fatalf("%d routes, %d domains: %d bytes", routes, domains, size)
			}
			for _, code := range small.LeftOut {
				if !slices.Contains(plain.LeftOut, code) {
					t.Fatalf("%d routes, %d domains: option 52 costs option %d", routes, domains, code)
				}
			}
			got := optionsOf(t, small.Answer.ToBytes())
			for code, value := range large.Answer.Options {
				if in, ok := got[code]; ok == slices.Contains(small.LeftOut, code) || ok && !slices.Equal(in, value) {
					t.Fatalf("%d routes, %d domains: option %d is %v, left out are %v", routes, domains, code, in, small.LeftOut)
				}
			}
		}
	}
}
