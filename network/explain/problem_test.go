package explain_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// banned are words that no message has: archaisms, and terms that the glossary
// replaces.
func banned() []string {
	return []string{"anew", "thereby", "nobody", "somebody", "whoever", "whose", "mend", "sibling", "take-over", "claim", "machine", "machines",
		"segment", "stranger", "beside", "meanwhile", "said", "told", "asked", "looked", "made out", "our own", "ours", "let through", "definition",
		"next hop", "neighbour", "hangs"}
}

var (
	placeholder = regexp.MustCompile(`\{(\w+)\}`)
	sentenceEnd = regexp.MustCompile(`[.?!] `)
)

// TestEveryCauseHasAMessage: a message has the arguments of its cause, all of
// them, and no cause is without.
func TestEveryCauseHasAMessage(t *testing.T) {
	seen := map[network.Cause]bool{}
	for _, f := range network.Causes() {
		if seen[f.Cause] {
			t.Errorf("%s stands twice in the table", f.Cause)
		}
		seen[f.Cause] = true
		m, ok := explain.Template(f.Cause)
		if !ok || m.What == "" {
			t.Errorf("%s has no message", f.Cause)
		}
		var names []string
		for _, x := range placeholder.FindAllStringSubmatch(m.String(), -1) {
			if !slices.Contains([]string{"subject", "keys", "key"}, x[1]) {
				names = append(names, x[1])
			}
		}
		slices.Sort(names)
		if want := slices.Sorted(slices.Values(f.ArgNames())); !slices.Equal(slices.Compact(names), want) {
			t.Errorf("%s: the message has %v, the cause %v", f.Cause, names, want)
		}
	}
}

// TestMessagesAreReadable: each sentence is short, and in the glossary's words.
func TestMessagesAreReadable(t *testing.T) {
	for _, f := range network.Causes() {
		m, _ := explain.Template(f.Cause)
		for _, part := range []string{m.What, m.Effect, m.Fix} {
			for _, sentence := range sentenceEnd.Split(part, -1) {
				if n := len(strings.Fields(sentence)); n > 25 {
					t.Errorf("%s: %d words: %s", f.Cause, n, sentence)
				}
			}
			if part != "" && !strings.HasSuffix(part, ".") && !strings.HasSuffix(part, "?") && !strings.HasSuffix(part, "}") {
				t.Errorf("%s: no end: %s", f.Cause, part)
			}
			for _, word := range banned() {
				if regexp.MustCompile(`(?i)\b` + word + `\b`).MatchString(part) {
					t.Errorf("%s: %q in %s", f.Cause, word, part)
				}
			}
		}
	}
}

// TestAnErrorHasAFix: who must act is told what to do.
func TestAnErrorHasAFix(t *testing.T) {
	for _, f := range network.Causes() {
		if m, _ := explain.Template(f.Cause); f.Severity == network.SeverityError && m.Fix == "" {
			t.Errorf("%s: no fix", f.Cause)
		}
	}
}

// TestProblem: values stand where the names were.
func TestProblem(t *testing.T) {
	p := network.NewProblem(network.GatewayOutsideCIDR, network.Subject{Kind: "Network", Name: "clusters/vlan100"},
		network.Args{"network": "clusters/vlan100", "cidr": "192.168.100.0/24", "gateway": "10.0.0.1"}, "gateway")
	want := "Gateway 10.0.0.1 is not a host address of 192.168.100.0/24 (network clusters/vlan100). VMs cannot reach it. " +
		"Set annotation gateway to an address in 192.168.100.0/24."
	if got := explain.Problem(p).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p.Reason != network.AddressConflict || !p.Blocks() {
		t.Errorf("%+v", p)
	}
}
