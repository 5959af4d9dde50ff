package dns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/dnsnames"
	"github.com/cldmnky/oooi/test/programs"
)

// judgedVMs have leases while the judges are asked.
var judgedVMs = dnsnames.Leases{
	netip.MustParseAddr("192.168.100.20"): "blue-abcde-fghij",
	netip.MustParseAddr("192.168.100.21"): "blue-2",
	netip.MustParseAddr("192.168.100.22"): "a.pool",
}

// judged is a network in whose zones all names are ours, as authoritative servers have them.
func judged() network.Network {
	n := local(network.UpstreamNone)
	n.DHCP.DomainName = "blue.example.com"
	v := &n.DNS.Views[0]
	v.Records = slices.DeleteFunc(v.Records, func(r network.Record) bool { return !dns.IsSubDomain("blue.example.com.", dns.Fqdn(r.Name)) })
	return n
}

// zoneFiles returns what other servers need to answer as we do, by zone.
func zoneFiles(t *testing.T, n network.Network) map[string]string {
	t.Helper()
	head := func(zone string) string {
		return zone + " 5 IN SOA " + zone + " hostmaster." + zone + " 1 3600 600 86400 5\n" + zone + " 5 IN NS ns.invalid.\n"
	}
	forward, reverse := head("blue.example.com."), head("100.168.192.in-addr.arpa.")
	line := func(name, data string) string { return fmt.Sprintf("%s 30 IN %s\n", dns.Fqdn(name), data) }
	names := map[netip.Addr]string{}
	for _, r := range n.DNS.Views[0].Records {
		for _, a := range r.Addresses {
			kind := "A "
			if a.Is6() {
				kind = "AAAA "
			}
			forward += line(r.Name, kind+a.String())
			if first := names[a]; n.CIDR.Contains(a) && !strings.HasPrefix(r.Name, "*.") && (first == "" || r.Name < first) {
				names[a] = r.Name
			}
		}
	}
	for a, vm := range judgedVMs {
		forward += line(vm+".blue.example.com", "A "+a.String())
		if names[a] == "" {
			names[a] = vm
		}
	}
	for a, name := range names {
		in, err := dns.ReverseAddr(a.String())
		if err != nil {
			t.Fatal(err)
		}
		reverse += line(in, "PTR "+dns.Fqdn(name))
	}
	return map[string]string{"blue.example.com": forward, "100.168.192.in-addr.arpa": reverse}
}

// judge starts another server with these zones, and returns where it answers.
func judge(t *testing.T, zones map[string]string, program func(dir string, at netip.AddrPort, files map[string]string) (args, environment []string)) netip.AddrPort {
	t.Helper()
	dir, files := t.TempDir(), map[string]string{}
	for zone, text := range zones {
		files[zone] = filepath.Join(dir, zone)
		if err := os.WriteFile(files[zone], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// BIND listens at addresses that the device has.
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ownAddress().Port())
	args, environment := program(dir, at, files)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...)
	c.Env = append(os.Environ(), environment...)
	said := programs.Start(t, c)
	NewWithT(t).Eventually(func() error {
		// It asks again.
		r, _, err := (&dns.Client{Timeout: time.Second}).Exchange(new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA), at.String())
		if err == nil && len(r.Answer) != 1 {
			err = errors.New(r.String())
		}
		return err
	}).Should(Succeed(), "%s answers: %s", args[0], said)
	return at
}

func knot(t *testing.T, zones map[string]string) netip.AddrPort {
	t.Helper()
	program, libraries := programs.RequireUnpackedWith(t, []string{"libdnssec9", "libknot13", "libzscanner4", "liburcu8", "libedit2", "libxdp1", "libbpf1", "liblmdb0"}, "knot", "usr/sbin/knotd")
	return judge(t, zones, func(dir string, at netip.AddrPort, files map[string]string) (args, environment []string) {
		text := fmt.Sprintf("server:\n  listen: %s@%d\n  rundir: %s\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\ndatabase:\n  storage: %s\nlog:\n- target: stderr\n  any: warning\nzone:\n", at.Addr(), at.Port(), dir, dir)
		for zone, file := range files {
			text += fmt.Sprintf("- domain: %s\n  file: %s\n", zone, file)
		}
		return []string{program, "-c", written(t, dir, "knot.conf", text)}, []string{libraries}
	})
}

func bind(t *testing.T, zones map[string]string) netip.AddrPort {
	t.Helper()
	program, libraries := programs.RequireUnpackedWith(t, []string{"bind9-libs"}, "bind9", "usr/sbin/named")
	return judge(t, zones, func(dir string, at netip.AddrPort, files map[string]string) (args, environment []string) {
		text := fmt.Sprintf(`controls {}; options { directory "%s"; listen-on port %d { %s; }; listen-on-v6 { none; }; pid-file none; session-keyfile none; lock-file none;
recursion no; minimal-responses yes; minimal-any yes; empty-zones-enable no; dnssec-validation no; answer-cookie no; edns-udp-size 1232; max-udp-size 1232; notify no; };
`, dir, at.Port(), at.Addr())
		for zone, file := range files {
			text += fmt.Sprintf("zone \"%s\" { type primary; file \"%s\"; check-integrity no; };\n", zone, file)
		}
		return []string{program, "-f", "-n", "1", "-c", written(t, dir, "named.conf", text)}, []string{libraries}
	})
}

func written(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A generator makes questions that are like those that are answered, and unlike them.
type generator struct {
	*rand.Rand
	names []string
}

func newGenerator(seed uint64) generator {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for _, r := range judged().DNS.Views[0].Records {
		g.names = append(g.names, dns.Fqdn(r.Name))
	}
	for a, vm := range judgedVMs {
		in, _ := dns.ReverseAddr(a.String())
		g.names = append(g.names, vm+".blue.example.com.", in)
	}
	g.names = append(g.names, "blue.example.com.", "100.168.192.in-addr.arpa.", "3.100.168.192.in-addr.arpa.", ".", "example.com.", "pool.blue.example.com.", "example.org.")
	slices.Sort(g.names)
	return g
}

func (g generator) label() string {
	all := []string{"x", "api", "apps", "*", "z", "y", "deep", "pool", "20", "1", "255", "256", "020", "-", "_tcp", `\000`, `\.`, `a\.b`, `\255`, strings.Repeat("l", 63)}
	return all[g.IntN(len(all))]
}

func (g generator) name() string {
	name := g.names[g.IntN(len(g.names))]
	for g.IntN(3) == 0 {
		switch g.IntN(3) {
		case 0:
			at, end := dns.NextLabel(name, 0)
			if name = name[at:]; end {
				name = "."
			}
		default:
			name = strings.TrimSuffix(g.label()+"."+name, ".") + "."
			if name == ".." {
				name = "."
			}
		}
	}
	if g.IntN(4) == 0 {
		b := []byte(name)
		for i := range b {
			if b[i] >= 'a' && b[i] <= 'z' && g.IntN(2) == 0 && (i == 0 || b[i-1] != '\\') {
				b[i] -= 'a' - 'A'
			}
		}
		name = string(b)
	}
	return name
}

// question returns a packet, or nil if the name cannot be one.
func (g generator) question() []byte {
	types := []uint16{dns.TypeA, dns.TypeA, dns.TypeA, dns.TypeAAAA, dns.TypePTR, dns.TypeSOA, dns.TypeTXT, dns.TypeMX, dns.TypeSRV, dns.TypeHTTPS, dns.TypeDS, dns.TypeCNAME, 65280}
	m := new(dns.Msg)
	m.Id, m.RecursionDesired = uint16(g.IntN(1<<16)), g.IntN(2) == 0
	m.Question = []dns.Question{{Name: g.name(), Qtype: types[g.IntN(len(types))], Qclass: dns.ClassINET}}
	if g.IntN(2) == 0 {
		o := &dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}}
		o.SetUDPSize([]uint16{0, 512, 1232, 4096, 65535}[g.IntN(5)])
		if g.IntN(8) == 0 {
			o.SetVersion(1)
		}
		if g.IntN(4) == 0 {
			o.Option = append(o.Option, &dns.EDNS0_LOCAL{Code: 65001, Data: []byte{1, 2}})
		}
		m.Extra = append(m.Extra, o)
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// TestJudges sends the same queries to knot, BIND and oooi, over UDP and TCP. If knot and BIND agree, oooi must give the same answer;
// otherwise that of one of them. OOOI_DNS_QUESTIONS is the number of queries, OOOI_DNS_SEED the first seed.
func TestJudges(t *testing.T) {
	t.Parallel()
	questions := 1000
	if programs.Long() {
		questions = 3000
	}
	n := judged()
	zones := zoneFiles(t, n)
	knotAt, bindAt := knot(t, zones), bind(t, zones)
	_, at := served(t, n, Options{VMs: judgedVMs})
	ours, others := newParty(t, "oooi", at), []party{newParty(t, "knot", knotAt), newParty(t, "BIND", bindAt)}
	g := newGenerator(uint64(setting(t, "OOOI_DNS_SEED", 1)))
	asked, split, differences := 0, 0, 0
	for range setting(t, "OOOI_DNS_QUESTIONS", questions) {
		b := g.question()
		if b == nil {
			continue
		}
		asked++
		tcp := asked%4 == 0
		got := ours.ask(t, tcp, b, longest)
		var want []string
		for _, p := range others {
			want = append(want, p.ask(t, tcp, b, longest))
		}
		if want[0] != want[1] {
			split++
		}
		if !slices.Contains(want, got) {
			if differences++; differences <= 10 {
				t.Errorf("packet %x\n%s\nknot: %s\nBIND: %s\noooi: %s", b, seen(b), want[0], want[1], got)
			}
		}
	}
	t.Logf("%d questions, %d differences; knot and BIND differ in %d", asked, differences, split)
}

// setting is a number in the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
