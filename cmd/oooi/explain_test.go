package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/problem"
)

// TestExplain: each reason that a condition, an Event or a command shows is explained, with all its causes and fixes.
func TestExplain(t *testing.T) {
	g := NewWithT(t)
	for _, r := range reasons() {
		text, faults, code := oooi(t, "", "explain", r)
		g.Expect(code).To(BeZero(), "%s: %s", r, faults)
		g.Expect(text).To(HavePrefix(r + "\n"))
		for _, e := range problem.Catalogue() {
			if string(e.Reason) == r {
				g.Expect(text).To(ContainSubstring("\n  %s %s\n    ", e.Severity, e.Cause))
			}
		}
		g.Expect(text).NotTo(MatchRegexp(`\{\w+\}`), "no name of an argument is left")
	}
	text, _, code := oooi(t, "", "explain", "rangetoosmall")
	g.Expect(code).To(BeZero())
	g.Expect(text).To(And(HavePrefix("RangeTooSmall\n"), ContainSubstring("docs/problems.md#rangetoosmall\n")))
	byCause, _, _ := oooi(t, "", "explain", string(problem.NADNamespaceNotGranted))
	byReason, _, _ := oooi(t, "", "explain", string(problem.NADNamespaceNotAllowed))
	g.Expect(byCause).To(Equal(byReason))
	list, _, code := oooi(t, "", "explain")
	g.Expect(code).To(BeZero())
	g.Expect(list).To(And(ContainSubstring("\nAddressInUse\n"), ContainSubstring("\nReadyWithWarnings\n")))
}

// TestExplainUnknown: a misspelled reason is answered with the right one.
func TestExplainUnknown(t *testing.T) {
	for name, says := range map[string]string{
		"AdressInUse": "oooi: AdressInUse is not a reason. Did you mean AddressInUse?\n",
		"x":           "oooi: x is not a reason. oooi explain lists all\n",
	} {
		out, faults, code := oooi(t, "", "explain", name)
		NewWithT(t).Expect([]any{out, faults, code}).To(Equal([]any{"", says, 1}))
	}
}
