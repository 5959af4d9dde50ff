package status

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/test/blue"
)

// TestStatusStored: what the operator stored counts, unless it is about former objects or the operator does not run.
func TestStatusStored(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts, *explain.Report)
		want   explain.Answer
		why    string
	}{
		"of now":              {func(*Facts, *explain.Report) {}, explain.Yes, "Nodes can boot: DHCP is ready."},
		"nodes cannot boot":   {func(_ *Facts, s *explain.Report) { s.Boots, s.Summary = explain.No, "In new words." }, explain.No, "In new words."},
		"the operator stops":  {func(_ *Facts, s *explain.Report) { s.Written = blue.At.Add(-21 * time.Minute) }, explain.Unknown, "Check that the operator runs."},
		"a NodePool changed":  {func(f *Facts, _ *explain.Report) { f.Inputs = "1" }, explain.Unknown, "has not seen the change"},
		"Routes are unread":   {func(f *Facts, _ *explain.Report) { f.Inputs = "" }, explain.Unknown, "Routes can be read"},
		"another plan":        {func(_ *Facts, s *explain.Report) { s.Plan = "1" }, explain.Unknown, "not about the plan in force"},
		"a former generation": {func(_ *Facts, s *explain.Report) { s.Generation-- }, explain.Unknown, "generation 2"},
		"another version":     {func(_ *Facts, s *explain.Report) { s.Build = "v0.2.0" }, explain.Yes, "Nodes can boot: DHCP is ready."},
		"another version's NodePools": {func(f *Facts, s *explain.Report) { s.Build, f.Inputs = "v0.2.0", "1" }, explain.Unknown,
			"The operator has another version (v0.2.0) than this program (v0.1.0)"},
		"another version's annotations": {func(f *Facts, s *explain.Report) { s.Build, f.Settings = "", "1" }, explain.Unknown,
			"The operator has another version (unknown) than this program (v0.1.0)"},
		"a former version's plan": {func(_ *Facts, s *explain.Report) { s.Build, s.Plan = "v0.2.0", "1" }, explain.Unknown, "not about the plan in force"},
		"former annotations":      {func(_ *Facts, s *explain.Report) { s.Settings = "1" }, explain.Unknown, "settings 1,"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := blueFacts()
			c.change(&f, f.Stored)
			r := OutputOf(f, blue.At)
			g.Expect(r.Boot.Answer).To(Equal(c.want), r.Boot.Why)
			g.Expect(r.Boot.Why).To(ContainSubstring(c.why))
			g.Expect(settled([]Output{r})).To(Equal(c.want == explain.Yes), "--wait")
			if c.want != explain.Unknown {
				g.Expect(r.Problems).To(HaveLen(1))
				g.Expect(r.Condition.Message).To(BeEmpty())
			}
		})
	}
}

// TestStatusWithoutReport: a status that does not count is not shown. The condition is shown as it is, and the answer is unknown.
func TestStatusWithoutReport(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts)
		why    string
	}{
		"the condition was written later": {func(f *Facts) {
			f.Conditions[0].Status, f.Conditions[0].Reason = metav1.ConditionFalse, "AddressesExhausted"
		},
			"The condition has reason AddressesExhausted, and the operator's status has ReadyWithWarnings. "},
		"the operator stopped": {func(f *Facts) { f.Stored.Written = blue.At.Add(-21 * time.Minute) }, "Check that the operator runs."},
		"it cannot be read":    {func(f *Facts) { f.Stored, f.noReport = nil, "Get the right." }, "Get the right."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := blueFacts()
			f.Conditions[0].Message = "Nodes can boot: x.\nInfo Paused: y.\n(settings 01234567)"
			c.change(&f)
			r := OutputOf(f, blue.At)
			g.Expect(r.Boot.Answer).To(Equal(explain.Unknown), "whatever the message says")
			g.Expect(r.Boot.Why).To(ContainSubstring(c.why))
			g.Expect(r.Problems).To(BeEmpty())
			g.Expect(r.Notes).To(BeEmpty())
			var out bytes.Buffer
			g.Expect(r.write(&out, "text", false, true)).To(Succeed())
			g.Expect(out.String()).To(ContainSubstring("Z, perhaps for earlier settings\n  Nodes can boot: x.\n  Info Paused: y.\n  (settings 01234567)\n\nNetwork"))
		})
	}
}

// TestStatusOfOneNamespace: without the HostedCluster, what the operator stored reports whether nodes boot.
func TestStatusOfOneNamespace(t *testing.T) {
	at := func(change func(*Facts, *explain.Report)) Output {
		f := blueFacts()
		f.Read, f.Settings, f.Conditions, f.OptedIn = false, "", nil, false
		change(&f, f.Stored)
		return OutputOf(f, blue.At)
	}
	g := NewWithT(t)
	r := at(func(*Facts, *explain.Report) {})
	g.Expect(r.Boot).To(Equal(statusAnswer{explain.Yes, "Nodes can boot: DHCP is ready. The operator saw that at 2026-03-04T04:57:07Z. The HostedCluster cannot be read, so a later change goes unnoticed."}))
	g.Expect(r.Problems).To(HaveLen(1))
	g.Expect(settled([]Output{r})).To(BeFalse(), "--wait needs more rights")
	g.Expect(at(func(f *Facts, _ *explain.Report) { f.Ready = map[string]bool{} }).Boot.Answer).To(Equal(explain.Unknown))
	g.Expect(at(func(_ *Facts, s *explain.Report) { s.Written = blue.At.Add(-21 * time.Minute) }).Boot.Why).To(ContainSubstring("Check that the operator runs."))
}
