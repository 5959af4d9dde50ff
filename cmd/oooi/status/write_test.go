package status

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/blue"
)

// hostile is what an edge that an attacker controls may write into a Lease: it clears the screen, sets the title,
// starts a line of its own, and reverses the rest, with C0 and C1 control, bidi, tag and invalid characters.
const hostile = "a\x1b[2J\x1b]0;x\x07b\u009b2J\nHostedCluster clusters/blue: nodes boot\td\u202ee\u2066f\x7fg\u200b\U000e0041h\xff\r"

// hostileOutput has that wherever others choose a text.
func hostileOutput() Output {
	f := blueFacts()
	f.Leases[0].VM, f.Leases[0].MAC, f.Leases[3].VM = hostile, hostile, hostile
	f.Conditions[0].Reason, f.Stored.Reason = hostile, problem.Reason(hostile)
	f.Stored.Summary, f.Stored.Notes = hostile, []string{hostile}
	f.Stored.Problems[0].Reason, f.Stored.Problems[0].Text = problem.Reason(hostile), hostile
	f.Plan.Networks[0].Listeners[0].Forwards[0].ServerNames = []string{hostile}
	f.Plan.Networks[0].Attachment.Name = hostile
	for name, r := range f.Reports {
		r.NotServing, r.Level = []reported.ServerFault{{Server: network.ServiceDNS, Cause: problem.ServerRefuses, Error: hostile}}, hostile
		f.Reports[name] = r
	}
	f.unread = []string{hostile}
	return OutputOf(f, blue.At)
}

// TestStatusTextIsPrintable: nothing that an object has in it controls the terminal or adds a line.
func TestStatusTextIsPrintable(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect(hostileOutput().write(&out, "text", false, true)).To(Succeed())
	for _, r := range out.String() {
		g.Expect(r == '\n' || unicode.IsPrint(r)).To(BeTrue(), "%q in %q", r, out.String())
	}
	g.Expect(strings.Count("\n"+out.String(), "\nHostedCluster ")).To(Equal(1))
}

// TestStatusJSONIsPrintable: a line of JSON has escapes for the same characters, and a script reads them as they are.
func TestStatusJSONIsPrintable(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	r := hostileOutput()
	g.Expect(r.write(&out, "json", false, true)).To(Succeed())
	for _, c := range strings.TrimSuffix(out.String(), "\n") {
		g.Expect(unicode.IsPrint(c)).To(BeTrue(), "%q in %q", c, out.String())
	}
	var got Output
	g.Expect(json.Unmarshal(out.Bytes(), &got)).To(Succeed())
	g.Expect(got.Networks[0].Leases[0].VM).To(Equal(strings.ToValidUTF8(hostile, "\ufffd")))
}

// TestStatusOfALargeNetwork: more than ten leases or names are counted, and those with a fault are shown. --all and JSON have each.
func TestStatusOfALargeNetwork(t *testing.T) {
	f := blueFacts()
	n := &f.Plan.Networks[0]
	f.Leases = nil
	for i := range 11 {
		left := time.Hour
		if i == 0 {
			left = -time.Hour
		}
		a := netip.AddrFrom4([4]byte{192, 168, 100, byte(30 + i)})
		f.Leases = append(f.Leases, Leased{"clusters.vlan100", network.Lease{Address: a, MAC: "02:00:00:00:00:01", Expires: blue.At.Add(left)}})
		b := network.Backend{Name: fmt.Sprintf("h%d.example.com:443", i), Kind: network.BackendExternal, Port: 443}
		n.Backends = append(n.Backends, b)
		n.Listeners[0].Forwards = append(n.Listeners[0].Forwards, network.Forward{ServerNames: []string{b.Name[:len(b.Name)-4]}, Backend: b.Name})
	}
	shown := func(output string, all bool) string {
		var out bytes.Buffer
		NewWithT(t).Expect(OutputOf(f, blue.At).write(&out, output, all, true)).To(Succeed())
		return out.String()
	}
	g := NewWithT(t)
	text := shown("text", false)
	g.Expect(text).To(ContainSubstring("  11 DHCP leases: 10 assigned, 1 expired. --all shows each.\n"))
	g.Expect(text).To(ContainSubstring("  12 allowed hosts: 1 with a fault, 11 unknown. --all shows each.\n"))
	g.Expect(text).To(And(ContainSubstring("quay.io:443   edge 1: its address is refused"), Not(ContainSubstring("h3.example.com")), Not(ContainSubstring("192.168.100.33"))))
	for _, long := range []string{shown("text", true), shown("json", false)} {
		g.Expect(long).To(And(ContainSubstring("h3.example.com"), ContainSubstring("192.168.100.33"), ContainSubstring("192.168.100.40")))
	}
}
