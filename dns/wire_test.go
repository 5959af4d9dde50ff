package dns

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
)

// A wireCase is a packet that no client should send, and what all servers answer.
type wireCase struct{ name, packet, want string }

func wireCases() []wireCase {
	const (
		id       = "\xab\xcd"
		query    = id + "\x01\x00"
		question = "\x03api\x04blue\x07example\x03com\x00\x00\x01\x00\x01"
		opt      = "\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00"
		a        = "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04\x01\x02\x03\x04"
	)
	counts := func(qd, an, ns, ar byte) string { return string([]byte{0, qd, 0, an, 0, ns, 0, ar}) }
	return []wireCase{
		{"a question", query + counts(1, 0, 0, 0) + question, "NOERROR"},
		{"with an OPT", query + counts(1, 0, 0, 1) + question + opt, "NOERROR"},
		{"two OPTs", query + counts(1, 0, 0, 2) + question + opt + opt, "FORMERR"},
		{"an OPT in the answer section", query + counts(1, 1, 0, 0) + question + opt, "FORMERR"},
		{"an OPT in the authority section", query + counts(1, 0, 1, 0) + question + opt, "FORMERR"},
		{"an OPT with a name", query + counts(1, 0, 0, 1) + question + "\xc0\x0c" + opt[1:], "FORMERR"},
		{"an option longer than its OPT", query + counts(1, 0, 0, 1) + question + opt[:9] + "\x00\x05\xfd\xe9\x00\x02\x01", "FORMERR"},
		{"half an option", query + counts(1, 0, 0, 1) + question + opt[:9] + "\x00\x03\xfd\xe9\x00", "FORMERR"},
		{"an unknown option", query + counts(1, 0, 0, 1) + question + opt[:9] + "\x00\x05\xfd\xe9\x00\x01\x01", "NOERROR"},
		{"EDNS version 1", query + counts(1, 0, 0, 1) + question + "\x00\x00\x29\x04\xd0\x00\x01\x00\x00\x00\x00", "BADVERS"},
		{"no question", query + counts(0, 0, 0, 0), "FORMERR"},
		{"two questions", query + counts(2, 0, 0, 0) + question + question, "FORMERR"},
		{"a count of questions that lies", query + counts(2, 0, 0, 0) + question, "FORMERR"},
		{"a count of answers that lies", query + counts(1, 1, 0, 0) + question, "FORMERR"},
		{"a count of authorities that lies", query + counts(1, 0, 1, 0) + question, "FORMERR"},
		{"a count of additionals that lies", query + counts(1, 0, 0, 2) + question + opt, "FORMERR"},
		{"an OPT that is not counted", query + counts(1, 0, 0, 0) + question + opt, "FORMERR"},
		{"one octet too many", query + counts(1, 0, 0, 0) + question + "\x00", "FORMERR"},
		{"a question without a class", query + counts(1, 0, 0, 0) + question[:len(question)-2], "FORMERR"},
		{"a name without an end", query + counts(1, 0, 0, 0) + "\x03api\x04blue", "FORMERR"},
		{"a name that points to itself", query + counts(1, 0, 0, 0) + "\xc0\x0c\x00\x01\x00\x01", "FORMERR"},
		{"a label of an unknown type", query + counts(1, 0, 0, 0) + "\x43api\x00\x00\x01\x00\x01", "FORMERR"},
		{"a header only", query, "silence"},
		{"half a header", query + "\x00\x01", "silence"},
		{"an identifier only", id, "silence"},
		{"an answer", id + "\x81\x00" + counts(1, 0, 0, 0) + question, "silence"},
		{"an answer that is malformed", id + "\x81\x00" + counts(2, 0, 0, 0) + question, "silence"},
		{"a record below the question", query + counts(1, 0, 0, 1) + question + a, "NOERROR"},
	}
}

// TestMalformedPackets: a malformed query gets FORMERR, over UDP and TCP, and neither a part of an answer nor silence. At least one of knot
// and BIND does the same in each case.
func TestMalformedPackets(t *testing.T) {
	t.Parallel()
	n := judged()
	zones := zoneFiles(t, n)
	knotAt, bindAt := knot(t, zones), bind(t, zones)
	_, at := served(t, n, Options{VMs: judgedVMs})
	for _, c := range wireCases() {
		t.Run(c.name, func(t *testing.T) {
			ask := func(p party, tcp bool) string {
				answer := ""
				switch {
				case c.want == "silence":
					answer = p.ask(t, tcp, []byte(c.packet), 100*time.Millisecond)
				case p.name == "knot":
					answer = p.askInTurn(t, []byte(c.packet))
				default:
					answer = p.ask(t, tcp, []byte(c.packet), longest)
				}
				rcode, _, _ := strings.Cut(strings.TrimSpace(answer), " ")
				return rcode
			}
			for _, tcp := range []bool{false, true} {
				if got := ask(newParty(t, "oooi", at), tcp); got != c.want {
					t.Errorf("%s, want %s; by TCP: %v", got, c.want, tcp)
				}
			}
			if got := ask(newParty(t, "knot", knotAt), false); got != c.want {
				if other := ask(newParty(t, "BIND", bindAt), false); other != c.want {
					t.Errorf("knot answers %s and BIND %s, want %s", got, other, c.want)
				}
			}
		})
	}
}

// TestOwnSize: the EDNS size in an answer is that of this server, and not that of the query, wherever the answer comes from (RFC 6891
// section 6.2.3).
func TestOwnSize(t *testing.T) {
	r := newResolver(t, "192.0.2.1", false)
	_, at := served(t, local(network.UpstreamManagement), resolving(r.at))
	for _, name := range []string{"api.blue.example.com.", "nothing.blue.example.com.", "www.example.org.", "www.example.org.", `\000.apps.blue.example.com.`} {
		for _, size := range []uint16{512, 4096} {
			for _, transport := range []string{"udp", "tcp"} {
				m, _, err := (&dns.Client{Net: transport, UDPSize: size, Timeout: longest}).Exchange(new(dns.Msg).SetQuestion(name, dns.TypeA).SetEdns0(size, false), at.String())
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if opt := m.IsEdns0(); opt == nil || opt.UDPSize() != answers.BufferSize || m.Rcode == dns.RcodeRefused {
					t.Errorf("%s by %s with size %d is answered %s", name, transport, size, m)
				}
			}
		}
	}
}

// FuzzPacket: for any packet, clients can parse the answer. The fast path for plain queries gives the same answer as the general one. A
// query that a client's library packs is never malformed.
func FuzzPacket(f *testing.F) {
	for _, c := range wireCases() {
		f.Add([]byte(c.packet))
	}
	g := newGenerator(1)
	for range 200 {
		if b := g.question(); b != nil {
			f.Add(b)
		}
	}
	h := NewHandler(NewMetrics(prometheus.NewRegistry()), Options{VMs: judgedVMs})
	h.Serve(judged())
	client := netip.MustParseAddr("127.0.0.1")
	f.Fuzz(func(t *testing.T, b []byte) {
		var asked dns.Msg
		readable := asked.Unpack(b) == nil
		opts := slices.DeleteFunc(slices.Concat(asked.Answer, asked.Ns, asked.Extra), func(rr dns.RR) bool { return rr.Header().Rrtype != dns.TypeOPT })
		if readable && len(asked.Question) == 1 && len(opts) == 0 {
			again, err := asked.Pack()
			if _, s := answers.Parse(again); err == nil && s == answers.Malformed {
				t.Errorf("%x is malformed, from %x", again, b)
			}
		}
		answer := h.answer(client, b, nil, false)
		if answer == nil {
			return
		}
		var m dns.Msg
		if err := m.Unpack(answer); err != nil {
			t.Fatalf("%x is answered %x: %v", b, answer, err)
		}
		if m.Id != binary.BigEndian.Uint16(b) || !m.Response || len(answer) > answers.BufferSize || m.IsEdns0() == nil && len(answer) > dns.MinMsgSize {
			t.Errorf("%x is answered %x", b, answer)
		}
		if m.Rcode == dns.RcodeFormatError || m.Rcode == dns.RcodeBadVers && m.Question[0].Qclass != dns.ClassINET {
			return // What is not plain is read with more patience.
		}
		if !readable {
			t.Fatalf("%x is answered %s, which cannot be read", b, m.String())
		}
		w := newWriter(client)
		h.ServeDNS(w, &asked)
		other, err := w.sent.Pack()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := seen(answer), seen(other); got != want {
			t.Errorf("%x is answered\n%s\nand if it is not plain\n%s", b, got, want)
		}
	})
}
