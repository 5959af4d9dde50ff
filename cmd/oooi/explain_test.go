package main

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/explain/meaning"
	"github.com/cldmnky/oooi/network/problem"
)

// TestEveryCauseIsListed: each reason that a condition, an Event or a command shows is explained, with the message and the fix of
// each of its causes.
func TestEveryCauseIsListed(t *testing.T) {
	g := NewWithT(t)
	for _, r := range reasons() {
		text, faults, code := oooi(t, "", "explain", r)
		g.Expect(code).To(BeZero(), "%s: %s", r, faults)
		g.Expect(text).To(HavePrefix(r + "\n  "))
		about := meaning.Of(problem.Reason(r))
		g.Expect(text).To(ContainSubstring(about.Text))
		if about.Page != "" {
			g.Expect(text).To(HaveSuffix("\n\nSee " + command.Docs + about.Page + "\n"))
		}
		for _, e := range problem.Catalogue() {
			if string(e.Reason) == r {
				m := explain.General(e, func(argument string) string { return "<" + argument + ">" })
				parts := strings.Join(slices.DeleteFunc([]string{m.What, m.Effect, m.Fix}, func(s string) bool { return s == "" }), "\n    ")
				g.Expect(text).To(ContainSubstring("\n\n  %s %s\n    %s\n", e.Severity, e.Cause, parts))
			}
		}
		g.Expect(text).NotTo(MatchRegexp(`\{\w+\}`), "no name of an argument is left")
	}
	text, _, code := oooi(t, "", "explain", "rangetoosmall")
	g.Expect(code).To(BeZero())
	g.Expect(text).To(HavePrefix("RangeTooSmall\n  The NodePools can have more VMs "))
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
