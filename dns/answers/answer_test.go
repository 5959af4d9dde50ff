package answers_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/resolvconf"
	"github.com/cldmnky/oooi/test/dnsnames"
)

func authority(zone string) string {
	return "; " + zone + " 5 IN SOA " + zone + " hostmaster." + zone + " 1 3600 600 86400 5"
}

func TestAnswer(t *testing.T) {
	zone := authority("blue.example.com.")
	reverse := authority("100.168.192.in-addr.arpa.")
	for _, c := range []struct{ why, question, want string }{
		{"a name with records", "api.blue.example.com. A", "NOERROR\napi.blue.example.com. 30 IN A 192.168.100.3"},
		{"the case is the question's", "API.Blue.example.COM. A", "NOERROR\nAPI.Blue.example.COM. 30 IN A 192.168.100.3"},
		{"a known name has no AAAA: NODATA, never NXDOMAIN", "api.blue.example.com. AAAA", "NOERROR\n" + zone},
		{"nor any other type", "api.blue.example.com. HTTPS", "NOERROR\n" + zone},
		{"below a name with records is nothing", "x.api.blue.example.com. A", "NXDOMAIN\n" + zone},
		{"an unknown name in the zone", "nothing.blue.example.com. A", "NXDOMAIN\n" + zone},
		{"the zone is compared by labels", "xblue.example.com. A", "not known"},

		{"a wildcard", "oauth.apps.blue.example.com. A", "NOERROR\noauth.apps.blue.example.com. 30 IN A 192.168.100.3"},
		{"of several labels", "a.b.c.apps.blue.example.com. A", "NOERROR\na.b.c.apps.blue.example.com. 30 IN A 192.168.100.3"},
		{"in the question's case", "OAuth.APPS.blue.example.com. A", "NOERROR\nOAuth.APPS.blue.example.com. 30 IN A 192.168.100.3"},
		{"and NODATA for other types", "oauth.apps.blue.example.com. AAAA", "NOERROR\n" + zone},
		{"a name of its own wins", "console.apps.blue.example.com. A", "NOERROR\nconsole.apps.blue.example.com. 30 IN A 192.168.100.9\nconsole.apps.blue.example.com. 30 IN A 192.168.100.10"},
		{"and shuts the wildcard out below it", "x.console.apps.blue.example.com. A", "NXDOMAIN\n" + zone},
		{"what has others below exists", "deep.apps.blue.example.com. A", "NOERROR\n" + zone},
		{"and shuts the wildcard out too", "b.deep.apps.blue.example.com. A", "NXDOMAIN\n" + zone},
		{"the wildcard's own name", "*.apps.blue.example.com. A", "NOERROR\n*.apps.blue.example.com. 30 IN A 192.168.100.3"},
		{"the name it hangs under", "apps.blue.example.com. A", "NOERROR\n" + zone},

		{"an empty non-terminal", "z.blue.example.com. A", "NOERROR\n" + zone},
		{"another", "y.z.blue.example.com. TXT", "NOERROR\n" + zone},
		{"beside them", "w.z.blue.example.com. A", "NXDOMAIN\n" + zone},

		{"the zone's apex", "blue.example.com. A", "NOERROR\n" + zone},
		{"has the SOA", "blue.example.com. SOA", "NOERROR\n" + strings.TrimPrefix(zone, "; ")},
		{"which others have not", "api.blue.example.com. SOA", "NOERROR\n" + zone},
		{"above the zone", "example.com. A", "not known"},
		{"the root", ". NS", "not known"},

		{"one name in a domain of others", "ignition.others.example.net. A", "NOERROR\nignition.others.example.net. 30 IN A 192.168.100.3"},
		{"is ours for every type", "ignition.others.example.net. AAAA", "NOERROR\n" + authority("ignition.others.example.net.")},
		{"what is beside it is not", "www.others.example.net. A", "not known"},
		{"nor what is above it", "others.example.net. A", "not known"},
		{"nor what is below it", "x.ignition.others.example.net. A", "not known"},
		{"a wildcard in a domain of others", "x.cdn.example.net. AAAA", "NOERROR\n" + authority("cdn.example.net.")},
		{"not the name it hangs under", "cdn.example.net. A", "not known"},

		{"IPv6 where the plan has it", "six.blue.example.com. AAAA", "NOERROR\nsix.blue.example.com. 30 IN AAAA 2001:db8::6"},
		{"ANY is one set of records", "six.blue.example.com. ANY", "NOERROR\nsix.blue.example.com. 30 IN A 192.168.100.13"},
		{"ANY of nothing", "z.blue.example.com. ANY", "NOERROR\n" + zone},
		{"ANY of an apex", "blue.example.com. ANY", "NOERROR\n" + strings.TrimPrefix(zone, "; ")},
		{"no transfer", "blue.example.com. AXFR", "REFUSED"},
		{"nor by parts", "blue.example.com. IXFR", "REFUSED"},
		{"nor what is no data", "blue.example.com. TKEY", "REFUSED"},

		{"a machine by its address", "20.100.168.192.in-addr.arpa. PTR", "NOERROR\n20.100.168.192.in-addr.arpa. 30 IN PTR blue-abcde-fghij."},
		{"in the question's case", "20.100.168.192.IN-ADDR.arpa. PTR", "NOERROR\n20.100.168.192.IN-ADDR.arpa. 30 IN PTR blue-abcde-fghij."},
		{"ANY of it", "20.100.168.192.in-addr.arpa. ANY", "NOERROR\n20.100.168.192.in-addr.arpa. 30 IN PTR blue-abcde-fghij."},
		{"no other type", "20.100.168.192.in-addr.arpa. A", "NOERROR\n" + reverse},
		{"an address nobody has", "21.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + reverse},
		{"no address", "021.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + reverse},
		{"no address either", "1.20.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + reverse},
		{"nor this", "x.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + reverse},
		{"the service address has the first of its names", "3.100.168.192.in-addr.arpa. PTR", "NOERROR\n3.100.168.192.in-addr.arpa. 30 IN PTR api.blue.example.com."},
		{"the network's reverse zone", "100.168.192.in-addr.arpa. SOA", "NOERROR\n" + strings.TrimPrefix(reverse, "; ")},
		{"ANY of it", "100.168.192.in-addr.arpa. ANY", "NOERROR\n" + strings.TrimPrefix(reverse, "; ")},
		{"and nothing else", "100.168.192.in-addr.arpa. PTR", "NOERROR\n" + reverse},
		{"another network's", "1.101.168.192.in-addr.arpa. PTR", "not known"},
		{"what is above", "168.192.in-addr.arpa. PTR", "not known"},
	} {
		t.Run(c.question+" "+c.why, func(t *testing.T) {
			v := answers.NewViews(dnsnames.Blue(network.UpstreamNone), nil)[0]
			if d := cmp.Diff(c.want, dnsnames.Text(ask(v, c.question))); d != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, d)
			}
		})
	}
}

// TestNothingElseExists: in the zone of all names, what the plan does not have is denied, and nothing is refused or forwarded.
func TestNothingElseExists(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamNone)
	n.DNS.Views[0].Zones = append(n.DNS.Views[0].Zones, ".")
	v := answers.NewViews(n, nil)[0]
	root := "; . 5 IN SOA . . 1 3600 600 86400 5"
	for question, want := range map[string]string{
		"www.example.org. A":                       "NXDOMAIN\n" + root,
		"api.blue.example.com.corp.example.com. A": "NXDOMAIN\n" + root,
		"kubernetes.default.svc. A":                "NXDOMAIN\n" + root,
		"8.8.8.8.in-addr.arpa. PTR":                "NXDOMAIN\n" + root,
		". NS":                                     "NOERROR\n" + root,
		"others.example.net. A":                    "NOERROR\n" + root,
		"ignition.others.example.net. A":           "NOERROR\nignition.others.example.net. 30 IN A 192.168.100.3",
		"ignition.others.example.net. AAAA":        "NOERROR\n" + root,
		"nothing.blue.example.com. A":              "NXDOMAIN\n" + authority("blue.example.com."),
		"20.100.168.192.in-addr.arpa. PTR":         "NOERROR\n20.100.168.192.in-addr.arpa. 30 IN PTR blue-abcde-fghij.",
	} {
		if d := cmp.Diff(want, dnsnames.Text(ask(v, question))); d != "" {
			t.Errorf("%s (-want +got):\n%s", question, d)
		}
	}
}

func ask(v *answers.View, question string) (answers.Reply, bool) {
	name, typ, _ := strings.Cut(question, " ")
	return answers.Answer(v, dnsnames.Workers, dns.Question{Name: name, Qtype: dns.StringToType[typ], Qclass: dns.ClassINET})
}

func TestOtherClassesAreRefused(t *testing.T) {
	v := answers.NewViews(dnsnames.Blue(network.UpstreamNone), nil)[0]
	for _, class := range []uint16{dns.ClassCHAOS, dns.ClassHESIOD, dns.ClassANY, dns.ClassNONE} {
		r, known := answers.Answer(v, nil, dns.Question{Name: "api.blue.example.com.", Qtype: dns.TypeA, Qclass: class})
		if got := dnsnames.Text(r, known); got != "REFUSED" {
			t.Errorf("class %d: %s", class, got)
		}
	}
}

// TestNamesInsideTheManagementCluster: edges ask the management cluster's resolver for names on the Internet, and never for names inside
// the management cluster.
func TestNamesInsideTheManagementCluster(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamManagement)
	v := answers.NewViews(n, answers.Internal(n, resolvconf.File{Search: []string{"ns.svc.prod.internal", "svc.prod.internal", "prod.internal", "corp.example"}}))[0]
	for _, c := range []struct{ question, want string }{
		{"kubernetes.default.svc.cluster.local. A", "NXDOMAIN\n" + authority("cluster.local.")},
		{"KUBERNETES.default.SVC.Cluster.Local. A", "NXDOMAIN\n" + authority("cluster.local.")},
		{"kubernetes.default.svc. A", "NXDOMAIN\n" + authority("svc.")},
		{"etcd.ns.svc.prod.internal. SRV", "NXDOMAIN\n" + authority("prod.internal.")},
		{"www.corp.example. A", "not known"},
		{"1.0.30.172.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("30.172.in-addr.arpa.")},
		{"1.0.64.100.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("64.100.in-addr.arpa.")},
		{"1.1.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("168.192.in-addr.arpa.")},
		{"168.192.in-addr.arpa. PTR", "NOERROR\n" + authority("168.192.in-addr.arpa.")},
		{"1.0.0.0.0.0.d.f.ip6.arpa. PTR", "NXDOMAIN\n" + authority("d.f.ip6.arpa.")},
		{"8.8.8.8.in-addr.arpa. PTR", "not known"},
		{"1.32.172.in-addr.arpa. PTR", "not known"},
		{"20.100.168.192.in-addr.arpa. PTR", "NOERROR\n20.100.168.192.in-addr.arpa. 30 IN PTR blue-abcde-fghij."},
	} {
		if d := cmp.Diff(c.want, dnsnames.Text(ask(v, c.question))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.question, d)
		}
	}
}

// TestHostsBeyondGetOwnNamesOnly: hosts behind the gateway get REFUSED for names outside the zones, and never NXDOMAIN: another server of
// theirs may have the name.
func TestHostsBeyondGetOwnNamesOnly(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamManagement)
	n.DNS.Views[0].Zones, n.DNS.Views[0].OwnNamesOnly = nil, true
	v := answers.NewViews(n, answers.Internal(n, resolvconf.File{}))[0]
	for question, want := range map[string]string{
		"api.blue.example.com. A":                 "NOERROR\napi.blue.example.com. 30 IN A 192.168.100.3",
		"www.blue.example.com. A":                 "not known",
		"www.example.org. A":                      "not known",
		"kubernetes.default.svc. A":               "not known",
		"1.1.168.192.in-addr.arpa. PTR":           "not known",
		"kubernetes.default.svc.cluster.local. A": "not known",
	} {
		if got := dnsnames.Text(ask(v, question)); got != want {
			t.Errorf("%s is answered %s, want %s", question, got, want)
		}
	}
}

// TestRecordsInsideInternal: a record in the plan is answered even if its name is in a zone of internal names.
func TestRecordsInsideInternal(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamManagement)
	n.DNS.Views[0].Records = append(n.DNS.Views[0].Records, network.Record{Name: "image-registry.ns.svc", Addresses: dnsnames.Addresses("192.168.100.3")})
	v := answers.NewViews(n, answers.Internal(n, resolvconf.File{}))[0]
	for _, c := range []struct{ question, want string }{
		{"image-registry.ns.svc. A", "NOERROR\nimage-registry.ns.svc. 30 IN A 192.168.100.3"},
		{"ns.svc. A", "NOERROR\n" + authority("svc.")},
		{"other.ns.svc. A", "NXDOMAIN\n" + authority("svc.")},
	} {
		if d := cmp.Diff(c.want, dnsnames.Text(ask(v, c.question))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.question, d)
		}
	}
}

func TestReverseOfNetworksThatAreNoWholeOctets(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamNone)
	for _, c := range []struct{ cidr, question, want string }{
		{"192.168.100.64/26", "70.100.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("100.168.192.in-addr.arpa.")},
		{"192.168.100.64/26", "20.100.168.192.in-addr.arpa. PTR", "not known"},
		{"192.168.100.64/26", "100.168.192.in-addr.arpa. PTR", "not known"},
		{"192.168.96.0/20", "1.111.168.192.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("168.192.in-addr.arpa.")},
		{"192.168.96.0/20", "111.168.192.in-addr.arpa. PTR", "NOERROR\n" + authority("168.192.in-addr.arpa.")},
		{"192.168.96.0/20", "1.112.168.192.in-addr.arpa. PTR", "not known"},
		{"10.0.0.0/8", "1.2.3.10.in-addr.arpa. PTR", "NXDOMAIN\n" + authority("10.in-addr.arpa.")},
	} {
		n.CIDR = netip.MustParsePrefix(c.cidr)
		if d := cmp.Diff(c.want, dnsnames.Text(ask(answers.NewViews(n, nil)[0], c.question))); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.cidr, c.question, d)
		}
	}
}

func TestViewOfAClient(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamNone)
	n.DNS.Views = []network.View{
		{Name: "all", Clients: dnsnames.Prefixes("192.168.100.0/24", "10.0.0.0/8")},
		{Name: "some", Clients: dnsnames.Prefixes("192.168.100.128/25")},
		{Name: "some again", Clients: dnsnames.Prefixes("192.168.100.128/25")},
	}
	vs := answers.NewViews(n, nil)
	for client, want := range map[string]string{
		"192.168.100.1":   "all",
		"10.1.2.3":        "all",
		"192.168.100.200": "some",
		"192.168.101.1":   "",
		"::1":             "",
	} {
		got := ""
		if v := vs.For(netip.MustParseAddr(client)); v != nil {
			got = v.Name()
		}
		if got != want {
			t.Errorf("%s is in view %q, want %q", client, got, want)
		}
	}
	if vs.For(netip.Addr{}) != nil {
		t.Error("a client without an address is in a view")
	}
}

// TestViewsDoNotMix: each client gets the answer for a name from its own view.
func TestViewsDoNotMix(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamNone)
	n.DNS.Views = []network.View{
		{Name: "one", Clients: dnsnames.Prefixes("192.168.100.0/25"), Records: []network.Record{{Name: "a.example", Addresses: dnsnames.Addresses("192.0.2.1")}}},
		{Name: "two", Clients: dnsnames.Prefixes("192.168.100.128/25"), Records: []network.Record{{Name: "a.example", Addresses: dnsnames.Addresses("192.0.2.2")}}},
	}
	vs := answers.NewViews(n, nil)
	for client, want := range map[string]string{
		"192.168.100.1":   "NOERROR\na.example. 30 IN A 192.0.2.1",
		"192.168.100.129": "NOERROR\na.example. 30 IN A 192.0.2.2",
	} {
		if got := dnsnames.Text(ask(vs.For(netip.MustParseAddr(client)), "a.example. A")); got != want {
			t.Errorf("%s is told %s, want %s", client, got, want)
		}
	}
}

func TestSerialTellsPlansApart(t *testing.T) {
	g := NewWithT(t)
	serial := func(n network.Network) uint32 {
		r, _ := ask(answers.NewViews(n, nil)[0], "blue.example.com. SOA")
		return r.Answer[0].(*dns.SOA).Serial
	}
	other := dnsnames.Blue(network.UpstreamNone)
	other.DNS.Views[0].Records[0].Addresses = dnsnames.Addresses("192.168.100.4")
	g.Expect(serial(dnsnames.Blue(network.UpstreamNone))).To(Equal(serial(dnsnames.Blue(network.UpstreamNone))))
	g.Expect(serial(other)).NotTo(Equal(serial(dnsnames.Blue(network.UpstreamNone))))
}

// FuzzAnswer: for any query, the answer can be packed, and its records have the name of the query. A negative answer contains the SOA of a
// zone above that name.
func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"api.blue.example.com.", "x.apps.blue.example.com.", `\000.apps.blue.example.com.`, `a\.b.blue.example.com.`, "20.100.168.192.in-addr.arpa.", "256.in-addr.arpa.", ".", "*."} {
		m := new(dns.Msg)
		m.SetQuestion(name, dns.TypeA)
		wire, _ := m.Pack()
		f.Add(wire[12:])
	}
	n := dnsnames.Blue(network.UpstreamManagement)
	v := answers.NewViews(n, answers.Internal(n, resolvconf.File{}))[0]
	f.Fuzz(func(t *testing.T, wire []byte) {
		var m dns.Msg
		if m.Unpack(append([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, wire...)) != nil || len(m.Question) != 1 {
			return
		}
		q := m.Question[0]
		r, known := answers.Answer(v, dnsnames.Workers, q)
		if !known {
			return
		}
		m.Rcode, m.Answer, m.Ns, m.Compress = r.Rcode, r.Answer, r.Authority, true
		if _, err := m.Pack(); err != nil {
			t.Fatalf("%v\n%s", err, dnsnames.Text(r, known))
		}
		for _, rr := range r.Answer {
			if rr.Header().Name != q.Name {
				t.Errorf("asked %q, answered %q", q.Name, rr.Header().Name)
			}
		}
		if r.Rcode != dns.RcodeRefused && len(r.Answer) == 0 &&
			(len(r.Authority) != 1 || !dns.IsSubDomain(r.Authority[0].Header().Name, q.Name)) {
			t.Errorf("asked %q, denied by %s", q.Name, dnsnames.Text(r, known))
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	n := dnsnames.Blue(network.UpstreamNone)
	v := answers.NewViews(n, nil)[0]
	for _, name := range []string{"api.blue.example.com.", "oauth.apps.blue.example.com.", "nothing.blue.example.com."} {
		b.Run(name, func(b *testing.B) {
			q := dns.Question{Name: name, Qtype: dns.TypeA, Qclass: dns.ClassINET}
			b.ReportAllocs()
			for b.Loop() {
				answers.Answer(v, dnsnames.Workers, q)
			}
		})
	}
}

// TestAboveTheReverseZone: what is above the names of VMs exists, although nothing else does: a resolver may deny all that is below a denied name (RFC 8020).
func TestAboveTheReverseZone(t *testing.T) {
	n := dnsnames.Blue(network.UpstreamNone)
	n.DNS.Views[0].Zones = append(n.DNS.Views[0].Zones, ".")
	v := answers.NewViews(n, nil)[0]
	for _, name := range []string{"168.192.in-addr.arpa.", "192.in-addr.arpa."} {
		if got := dnsnames.Text(ask(v, name+" PTR")); !strings.HasPrefix(got, "NOERROR") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := dnsnames.Text(ask(v, "169.192.in-addr.arpa. PTR")); !strings.HasPrefix(got, "NXDOMAIN") {
		t.Error(got)
	}
}
