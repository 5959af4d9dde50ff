package explain_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/explain/meaning"
	"github.com/cldmnky/oooi/network/problem"
)

// banned are words that no message has: archaisms, and terms that the glossary
// replaces.
func banned() []string {
	return []string{"anew", "thereby", "nobody", "somebody", "whoever", "whose", "mend", "sibling", "take-over", "claim", "machine", "machines",
		"segment", "stranger", "beside", "meanwhile", "said", "told", "asked", "looked", "made out", "our own", "ours", "let through", "definition",
		"next hop", "neighbour", "hangs"}
}

var sentenceEnd = regexp.MustCompile(`[.?!] `)

// TestEveryCauseIsDeclaredOnce: with a message, and words for the subject where the message has it.
func TestEveryCauseIsDeclaredOnce(t *testing.T) {
	seen := map[problem.Cause]bool{}
	for _, e := range problem.Catalogue() {
		if seen[e.Cause] {
			t.Errorf("%s is declared twice", e.Cause)
		}
		seen[e.Cause] = true
		if e.Reason == "" || e.Severity == "" || e.What == "" || meaning.Of(e.Reason).Text == "" {
			t.Errorf("%s has no reason with a meaning, severity or message", e.Cause)
		}
		if named := strings.Contains(e.What+e.Effect+e.Fix, "{subject}"); named != (e.Subject != "") {
			t.Errorf("%s: the message names its subject: %v, and the subject is %q", e.Cause, named, e.Subject)
		}
	}
}

// TestMessagesAreReadable: each sentence is short, and in the glossary's words.
func TestMessagesAreReadable(t *testing.T) {
	for _, f := range problem.Catalogue() {
		for _, part := range []string{f.What, f.Effect, f.Fix, meaning.Of(f.Reason).Text} {
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
	for _, f := range problem.Catalogue() {
		if f.Severity == problem.SeverityError && f.Fix == "" {
			t.Errorf("%s: no fix", f.Cause)
		}
	}
}

// TestProblem: values stand where the names were.
func TestProblem(t *testing.T) {
	p := problem.New(problem.GatewayOutsideCIDR, problem.Subject{Kind: "Network", Name: "clusters/vlan100"},
		problem.Args{"network": {"clusters/vlan100"}, "cidr": {"192.168.100.0/24"}, "gateway": {"10.0.0.1"}}, "gateway")
	want := "Gateway 10.0.0.1 is not a host address of 192.168.100.0/24 (network clusters/vlan100). VMs cannot reach it. " +
		"Set annotation gateway to an address in 192.168.100.0/24."
	if got := explain.Problem(p).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if p.Reason != problem.AddressConflict || !p.Blocks() {
		t.Errorf("%+v", p)
	}
	p = problem.New(problem.EdgeClockUnsynchronized, problem.Subject{}, problem.Args{"edge": {"1"}, "network": {"a/b"}, "why": {string(problem.ClockUnread)}, "error": {"not permitted"}})
	if got, want := explain.Problem(p).What, "is not synchronized (the state of the clock cannot be read: not permitted)."; !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMessagesAreOneLine: a value that a user wrote neither ends a line nor changes what a terminal shows.
func TestMessagesAreOneLine(t *testing.T) {
	const value = "x\ny\r\x1b[2K\u202ez"
	on := problem.Subject{Kind: "NodePool", Name: value}
	known := problem.New(problem.ListEntryRepeated, on, problem.Args{"value": {value}}, value)
	unknown := problem.New("Unheard", on, problem.Args{"value": {value}})
	for _, p := range []problem.Problem{known, unknown} {
		if got := explain.Problem(p).String(); strings.ContainsAny(got, "\n\r\x1b\u202e") || !strings.Contains(got, "x y") {
			t.Errorf("%q", got)
		}
	}
}
