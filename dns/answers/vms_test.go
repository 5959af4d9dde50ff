package answers_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// TestNamesOfVMs: a VM has its own name in the domain of the cluster, and never a name of the plan.
func TestNamesOfVMs(t *testing.T) {
	long := strings.Repeat("a", 63)
	vms := dnsnames.Leases{
		netip.MustParseAddr("192.168.100.20"): "blue-1",
		netip.MustParseAddr("192.168.100.22"): "blue-2",
		netip.MustParseAddr("192.168.100.21"): "blue-2",
		netip.MustParseAddr("192.168.101.23"): "elsewhere",
		netip.MustParseAddr("192.168.100.24"): "a.pool",
		netip.MustParseAddr("192.168.100.25"): "api",
		netip.MustParseAddr("192.168.100.26"): "oauth.apps",
		netip.MustParseAddr("192.168.100.27"): "apps",
		netip.MustParseAddr("192.168.100.28"): long,
		netip.MustParseAddr("192.168.100.29"): long + "a",
		netip.MustParseAddr("192.168.100.30"): "x.api",
	}
	zone, own := authority("blue.example.com."), authority("blue-1.blue.example.com.")
	const forwarded = "not known"
	for _, c := range []struct{ why, question, zoned, open string }{
		{"a VM", "blue-1.blue.example.com. A", "NOERROR\nblue-1.blue.example.com. 30 IN A 192.168.100.20", ""},
		{"the case is the question's", "BLUE-1.Blue.example.com. A", "NOERROR\nBLUE-1.Blue.example.com. 30 IN A 192.168.100.20", ""},
		{"two addresses", "blue-2.blue.example.com. A", "NOERROR\nblue-2.blue.example.com. 30 IN A 192.168.100.21\nblue-2.blue.example.com. 30 IN A 192.168.100.22", ""},
		{"no AAAA: NODATA", "blue-1.blue.example.com. AAAA", "NOERROR\n" + zone, "NOERROR\n" + own},
		{"nor another type", "blue-1.blue.example.com. SOA", "NOERROR\n" + zone, "NOERROR\n" + own},
		{"ANY", "blue-1.blue.example.com. ANY", "NOERROR\nblue-1.blue.example.com. 30 IN A 192.168.100.20", ""},
		{"no VM", "blue-9.blue.example.com. A", "NXDOMAIN\n" + zone, forwarded},
		{"not below a VM", "x.blue-1.blue.example.com. A", "NXDOMAIN\n" + zone, forwarded},
		{"not without the domain", "blue-1. A", forwarded, forwarded},
		{"not in another domain", "blue-1.example.com. A", forwarded, forwarded},
		{"an address of another network", "elsewhere.blue.example.com. A", "NOERROR\n" + zone, "NOERROR\n" + authority("elsewhere.blue.example.com.")},
		{"a name with a dot", "a.pool.blue.example.com. A", "NOERROR\na.pool.blue.example.com. 30 IN A 192.168.100.24", ""},
		{"the dot is no part of a label", `a\.pool.blue.example.com. A`, "NXDOMAIN\n" + zone, forwarded},
		{"what has a VM below it exists", "pool.blue.example.com. A", "NOERROR\n" + zone, "NOERROR\n" + authority("pool.blue.example.com.")},
		{"a name of the plan wins", "api.blue.example.com. A", "NOERROR\napi.blue.example.com. 30 IN A 192.168.100.3", ""},
		{"and for other types", "api.blue.example.com. AAAA", "NOERROR\n" + zone, "NOERROR\n" + authority("api.blue.example.com.")},
		{"a wildcard of the plan wins", "oauth.apps.blue.example.com. A", "NOERROR\noauth.apps.blue.example.com. 30 IN A 192.168.100.3", ""},
		{"below a name of the plan, and not it", "x.api.blue.example.com. A", "NOERROR\nx.api.blue.example.com. 30 IN A 192.168.100.30", ""},
		{"a name that only has others below", "apps.blue.example.com. A", "NOERROR\napps.blue.example.com. 30 IN A 192.168.100.27", ""},
		{"63 octets", long + ".blue.example.com. A", "NOERROR\n" + long + ".blue.example.com. 30 IN A 192.168.100.28", ""},
		{"64 octets are no label", "29.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("100.168.192.in-addr.arpa."), ""},
		{"the address of a VM is its name without a domain", "20.100.168.192.in-addr.arpa. PTR", "NOERROR\n20.100.168.192.in-addr.arpa. 30 IN PTR blue-1.", ""},
	} {
		t.Run(c.question+" "+c.why, func(t *testing.T) {
			n := dnsnames.Blue(network.UpstreamNone)
			n.DHCP.DomainName = "Blue.example.com"
			if c.open == "" {
				c.open = c.zoned
			}
			for _, want := range []string{c.zoned, c.open} {
				name, typ, _ := strings.Cut(c.question, " ")
				got := dnsnames.Text(answers.Answer(answers.NewViews(n, nil)[0], vms, dns.Question{Name: name, Qtype: dns.StringToType[typ], Qclass: dns.ClassINET}))
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s, zones %v (-want +got):\n%s", c.why, n.DNS.Views[0].Zones, d)
				}
				n.DNS.Views[0].Zones = nil
			}
		})
	}
}

// TestVMsHaveNoNamesWithoutADomain: VMs have no names until HyperShift has chosen the domain. No other name is answered as that of a VM.
func TestVMsHaveNoNamesWithoutADomain(t *testing.T) {
	v := answers.NewViews(dnsnames.Blue(network.UpstreamNone), nil)[0]
	for _, name := range []string{"blue-abcde-fghij.", "blue-abcde-fghij.blue.example.com."} {
		r, known := answers.Answer(v, dnsnames.Workers, dns.Question{Name: name, Qtype: dns.TypeA, Qclass: dns.ClassINET})
		if len(r.Answer) > 0 {
			t.Errorf("%s: %s", name, dnsnames.Text(r, known))
		}
	}
}
