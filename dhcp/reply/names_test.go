package reply_test

import (
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestClientName: a client that sends its name (option 81, RFC 4702) gets the name of its VM, whatever name it sent. The answer to its DNS
// flags is true: edges serve the A record of a VM if they run DNS and the hosted cluster has a domain.
func TestClientName(t *testing.T) {
	worker := cluster{names: map[string]string{mac1: "worker-1"}}
	const s, o, e, n = 1, 2, 4, 8
	named := func(flags byte, name string) []byte { return append([]byte{flags, 255, 255}, name...) }
	without, noDomain := blue(), blue()
	without.Services = nil
	noDomain.DHCP.DomainName = ""
	for what, c := range map[string]struct {
		vms         cluster
		n           network.Network
		sent, reply []byte
	}{
		"labels":                        {worker, blue(), named(e, "\x05thief\x07example\x03com\x00"), named(e|s|o, "\x08worker-1")},
		"labels, the server adds A":     {worker, blue(), named(e|s, "\x05thief\x00"), named(e|s, "\x08worker-1")},
		"ASCII":                         {worker, blue(), named(0, "thief.example.com"), named(s|o, "worker-1")},
		"no name":                       {worker, blue(), named(e|s, ""), named(e|s, "\x08worker-1")},
		"no updates":                    {worker, blue(), named(e|n, "\x05thief\x00"), named(e|s|o, "\x08worker-1")},
		"an unknown client":             {cluster{}, blue(), named(e|s, "\x05thief\x00"), named(e|o|n, "")},
		"an unknown client, no request": {cluster{}, blue(), named(e, ""), named(e|n, "")},
		"a VM's name with a dot":        {cluster{names: map[string]string{mac1: "worker-1.pool"}}, blue(), named(e, ""), named(e|s|o, "\x08worker-1\x04pool")},
		"DNS of others":                 {worker, without, named(e|s, ""), named(e|o, "\x08worker-1")},
		"no domain":                     {worker, noDomain, named(e, ""), named(e, "\x08worker-1")},
		"too short, as if never sent":   {worker, blue(), []byte{e, 0}, nil},
		"not sent":                      {worker, blue(), nil, nil},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			fields := with(parameters(6, 12))
			if c.sent != nil {
				fields = append(fields, dhcpv4.WithGeneric(dhcpv4.OptionFQDN, c.sent))
			}
			for _, v := range []*dhcpv4.DHCPv4{
				world{n: c.n, vms: c.vms}.says(message(discover, mac1, fields...)).Answer,
				world{n: c.n, vms: c.vms}.says(message(request, mac1, append(fields, server(us), asks(ofMAC1))...)).Answer,
			} {
				g.Expect(v.Options.Get(dhcpv4.OptionFQDN)).To(Equal(c.reply))
				g.Expect(string(v.ToBytes())).NotTo(ContainSubstring("thief"))
			}
		})
	}
}

// TestSearchList: the domains in option 119 are compressed (RFC 3397; RFC 1035, section 4.1.4), and no pointer points to another pointer.
func TestSearchList(t *testing.T) {
	for what, c := range map[string]struct {
		domains []string
		value   string
	}{
		"one":           {[]string{"blue.example.com"}, "\x04blue\x07example\x03com\x00"},
		"equal ends":    {[]string{"blue.example.com", "red.example.com"}, "\x04blue\x07example\x03com\x00\x03red\xc0\x05"},
		"one in other":  {[]string{"blue.example.com", "example.com"}, "\x04blue\x07example\x03com\x00\xc0\x05"},
		"twice":         {[]string{"example.com", "example.com"}, "\x07example\x03com\x00\xc0\x00"},
		"no chain":      {[]string{"com", "example.com", "blue.example.com"}, "\x03com\x00\x07example\xc0\x00\x04blue\x07example\xc0\x00"},
		"nothing equal": {[]string{"a.net", "b.com"}, "\x01a\x03net\x00\x01b\x03com\x00"},
		"dot at end":    {[]string{"example.com."}, "\x07example\x03com\x00"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			n := blue()
			n.DHCP.SearchDomains = c.domains
			v := world{n: n}.says(message(discover, mac1, parameters(119)))
			g.Expect(string(v.Answer.Options.Get(dhcpv4.OptionDNSDomainSearchList))).To(Equal(c.value))
		})
	}
}
