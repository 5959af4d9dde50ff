// This file asks a server, and says what clients see of its answers.

package dns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/test/dnsnames"
)

// A party is one server that is asked, on one socket for each transport.
type party struct {
	name     string
	udp, tcp net.Conn
}

func newParty(t *testing.T, name string, at netip.AddrPort) party {
	t.Helper()
	p := party{name: name}
	for network, c := range map[string]*net.Conn{"udp": &p.udp, "tcp": &p.tcp} {
		var err error
		if *c, err = net.Dial(network, at.String()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*c).Close() })
	}
	return p
}

// askInTurn asks a server that answers packets by UDP in their order: it was silent if it answers the packet after b.
func (p party) askInTurn(t *testing.T, b []byte) string {
	t.Helper()
	after, err := new(dns.Msg).SetQuestion("api.blue.example.com.", dns.TypeA).Pack()
	if err != nil {
		t.Fatal(err)
	}
	after[0], after[1] = ^b[0], b[1]
	for _, packet := range [][]byte{b, after} {
		if _, err := p.udp.Write(packet); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
	}
	_ = p.udp.SetReadDeadline(time.Now().Add(longest))
	in := make([]byte, 1<<16)
	n, err := p.udp.Read(in)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	if in[0] == after[0] {
		return "silence"
	}
	return seen(in[:n])
}

// ask returns the answer to a packet, as text that can be compared: "silence", or what clients see of it.
func (p party) ask(t *testing.T, tcp bool, b []byte, patience time.Duration) string {
	t.Helper()
	c, sent := p.udp, b
	if tcp {
		c, sent = p.tcp, append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
	}
	if _, err := c.Write(sent); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, 1<<16)
	for {
		n, err := c.Read(in)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "silence"
		}
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		if tcp {
			for want := 2 + int(binary.BigEndian.Uint16(in)); n < want; {
				m, err := c.Read(in[n:])
				if err != nil {
					t.Fatalf("%s: %v", p.name, err)
				}
				n += m
			}
			copy(in, in[2:n])
			n -= 2
		}
		if len(b) < 2 || in[0] == b[0] && in[1] == b[1] {
			return seen(in[:n])
		}
	}
}

// seen is what clients see of an answer. Servers differ in CD, serials and additional records.
func seen(b []byte) string {
	var m dns.Msg
	if err := m.Unpack(b); err != nil {
		return "an answer that cannot be read: " + err.Error()
	}
	rcode := m.Rcode
	out := dns.RcodeToString[rcode]
	if rcode == dns.RcodeBadVers {
		out = "BADVERS"
	}
	for what, is := range map[string]bool{"qr": m.Response, "aa": m.Authoritative, "tc": m.Truncated, "ra": m.RecursionAvailable, "rd": m.RecursionDesired} {
		if is && rcode != dns.RcodeFormatError {
			out += " " + what
		}
	}
	words := strings.Fields(out)
	slices.Sort(words[1:])
	out = strings.Join(words, " ")
	if opt := m.IsEdns0(); opt != nil && rcode != dns.RcodeFormatError {
		out += fmt.Sprintf(" edns %d %d", opt.Version(), opt.UDPSize())
	}
	if rcode != dns.RcodeFormatError {
		for _, q := range m.Question {
			out += "\n? " + q.Name
		}
	}
	var lines []string
	for _, rr := range m.Answer {
		lines = append(lines, "\n"+rr.Header().Name+" "+line(rr))
	}
	slices.Sort(lines)
	out += strings.Join(lines, "")
	for _, rr := range m.Ns {
		out += "\n; " + strings.ToLower(rr.Header().Name) + " " + line(rr)
	}
	return out
}

// line is a record without its name. The serial and the case of an SOA do not matter, nor that BIND wants the denial of
// an SOA not to be cached.
func line(rr dns.RR) string {
	soa, ok := rr.(*dns.SOA)
	if !ok {
		return strings.TrimPrefix(dnsnames.Blanks.Replace(rr.String()), rr.Header().Name)
	}
	return fmt.Sprintln("SOA", strings.ToLower(soa.Ns), strings.ToLower(soa.Mbox), soa.Refresh, soa.Retry, soa.Expire, soa.Minttl)
}
