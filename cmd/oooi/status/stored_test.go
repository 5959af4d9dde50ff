package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
	"github.com/cldmnky/oooi/test/blue"
)

// storedBlue is what the operator stores about the cluster of blueFacts.
func storedBlue(f *Facts, change func(*explain.StoredStatus)) {
	f.inputs, f.build, f.planHash = "0123456789abcdef", "v0.1.0", "fedcba9876543210"
	f.stored = &explain.StoredStatus{Version: 1, Cluster: "clusters/blue", Written: blue.At.Add(-9 * time.Minute), Generation: 3, Build: f.build, Settings: "01234567", Inputs: f.inputs,
		Plan: f.planHash, Ready: true, Reason: "ReadyWithWarnings", Boots: explain.Yes, Summary: "All is served.",
		Problems: []explain.StoredProblem{{Severity: network.SeverityWarning, Reason: network.EdgeUnavailable, Text: "one"}, {Severity: network.SeverityInfo, Reason: network.NTPMissing, Text: "two"}}}
	change(f.stored)
}

// TestStatusStored: what the operator stored counts, unless it is about former objects or the operator does not run.
func TestStatusStored(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Facts, *explain.StoredStatus)
		want   explain.Answer
		why    string
	}{
		"of now":              {func(*Facts, *explain.StoredStatus) {}, explain.Yes, "All is served."},
		"nodes cannot boot":   {func(_ *Facts, s *explain.StoredStatus) { s.Boots, s.Summary = explain.No, "In new words." }, explain.No, "In new words."},
		"the operator stops":  {func(_ *Facts, s *explain.StoredStatus) { s.Written = blue.At.Add(-21 * time.Minute) }, explain.Unknown, "Check that the operator runs."},
		"a NodePool changed":  {func(f *Facts, _ *explain.StoredStatus) { f.inputs = "1" }, explain.Unknown, "has not seen the change"},
		"Routes are unread":   {func(f *Facts, _ *explain.StoredStatus) { f.inputs = "" }, explain.Unknown, "Routes can be read"},
		"another plan":        {func(_ *Facts, s *explain.StoredStatus) { s.Plan = "1" }, explain.Unknown, "another plan"},
		"a former generation": {func(_ *Facts, s *explain.StoredStatus) { s.Generation-- }, explain.Unknown, "generation 2"},
		"another version":     {func(_ *Facts, s *explain.StoredStatus) { s.Build = "v0.2.0" }, explain.Yes, "All is served."},
		"another version's NodePools": {func(f *Facts, s *explain.StoredStatus) { s.Build, f.inputs = "v0.2.0", "1" }, explain.Unknown,
			"The operator is of another version (v0.2.0) than this program (v0.1.0)"},
		"another version's annotations": {func(f *Facts, s *explain.StoredStatus) { s.Build, f.Settings = "", "1" }, explain.Unknown,
			"The operator is of another version (unknown) than this program (v0.1.0)"},
		"a former version's plan": {func(_ *Facts, s *explain.StoredStatus) { s.Build, s.Plan = "v0.2.0", "1" }, explain.Unknown, "another plan"},
		"former annotations":      {func(_ *Facts, s *explain.StoredStatus) { s.Settings = "1" }, explain.Unknown, "other annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := blueFacts()
			storedBlue(&f, func(s *explain.StoredStatus) { c.change(&f, s) })
			r := ReportOf(f, blue.At)
			g.Expect(r.Boot.Answer).To(Equal(c.want), r.Boot.Why)
			g.Expect(r.Boot.Why).To(ContainSubstring(c.why))
			g.Expect(settled([]Report{r})).To(Equal(c.want == explain.Yes), "--wait")
			if c.want != explain.Unknown {
				g.Expect(r.Problems).To(HaveLen(2), "all of them")
				g.Expect(r.Notes).NotTo(ContainElement(ContainSubstring("not shown")))
			}
		})
	}
}

// TestStatusStoredBeforeTheCondition: the operator wrote a condition, and could not store its status since.
func TestStatusStoredBeforeTheCondition(t *testing.T) {
	g := NewWithT(t)
	f := blueFacts()
	storedBlue(&f, func(*explain.StoredStatus) {})
	f.Conditions[0].Status, f.Conditions[0].Reason = metav1.ConditionFalse, "AddressesExhausted"
	f.Conditions[0].Message = "New VMs get no address. Nodes cannot boot.\n(settings 01234567)"
	r := ReportOf(f, blue.At)
	g.Expect(r.Boot.Answer).NotTo(Equal(explain.Yes), r.Boot.Why)
	g.Expect(r.Boot.Why).To(ContainSubstring("get no address"))
}

// TestStatusOfOneNamespace: without the HostedCluster, what the operator stored tells whether nodes boot.
func TestStatusOfOneNamespace(t *testing.T) {
	at := func(change func(*Facts, *explain.StoredStatus)) Report {
		f := blueFacts()
		f.Read, f.Settings, f.Conditions, f.OptedIn = false, "", nil, false
		storedBlue(&f, func(s *explain.StoredStatus) { change(&f, s) })
		return ReportOf(f, blue.At)
	}
	g := NewWithT(t)
	r := at(func(*Facts, *explain.StoredStatus) {})
	g.Expect(r.Boot).To(Equal(statusAnswer{explain.Yes, "All is served. The operator saw that at 2026-03-04T04:57:07Z. The HostedCluster cannot be read, so a later change is not known."}))
	g.Expect(r.Problems).To(HaveLen(2))
	g.Expect(settled([]Report{r})).To(BeFalse(), "--wait needs more rights")
	g.Expect(at(func(f *Facts, _ *explain.StoredStatus) { f.Ready = map[string]bool{} }).Boot.Answer).To(Equal(explain.Unknown))
	g.Expect(at(func(_ *Facts, s *explain.StoredStatus) { s.Written = blue.At.Add(-21 * time.Minute) }).Boot.Why).To(ContainSubstring("Check that the operator runs."))
}
