//go:build added

// This file tests what follows from a cause that TestAddedCause adds.

package docs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

// TestCauseThatWasAdded: each place that shows problems shows it.
func TestCauseThatWasAdded(t *testing.T) {
	const (
		what = "CIDR 192.168.100.0/24 of network clusters/vlan100 is that of the examples."
		text = what + " Networks of two clusters may overlap. Set another one."
	)
	decision, _ := decided(t, "", "", "", "")
	p, ok := decision.Plan()
	NewWithT(t).Expect(ok).To(BeTrue(), "%v", decision.Problems)
	report := explain.Status{Plan: p, Problems: decision.Problems, Applied: true, Running: true, ReadyEdges: map[string]int{p.Networks[0].Name: 1}}.Report()
	t.Run("condition", func(t *testing.T) {
		NewWithT(t).Expect(report.Message()).To(ContainSubstring("\nWarning AnnotationUnknown: " + text + "\n"))
	})
	t.Run("events", func(t *testing.T) {
		NewWithT(t).Expect(report.Event()).To(ContainSubstring("\nWarning AnnotationUnknown: " + text))
	})
	t.Run("status", func(t *testing.T) {
		read := NewWithT(t)
		report.Cluster, report.Written = "clusters/blue", time.Unix(1, 0)
		stored, err := explain.ReadReport(report.JSON())
		read.Expect(err).NotTo(HaveOccurred())
		read.Expect(stored.Problems).To(ContainElement(And(HaveField("Cause", problem.Cause("CIDRIsAnExample")), HaveField("Text", text))))
	})
	file := programs.WriteFile(t, t.TempDir(), "objects.yaml", string(golden.Find(t, "lb-ip").Read(t, "objects.yaml")))
	for name, c := range map[string]*cobra.Command{"plan": plan.New(), "lint": plan.NewLint()} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			c.SetOut(&out)
			c.SetErr(&out)
			c.SetArgs([]string{"-f", file})
			_ = c.Execute() // Findings are an exit code.
			NewWithT(t).Expect(out.String()).To(ContainSubstring(what))
		})
	}
	t.Run("oooi explain", func(t *testing.T) {
		g := NewWithT(t)
		entry, ok := problem.Cause("CIDRIsAnExample").Entry()
		g.Expect(ok).To(BeTrue())
		g.Expect(explain.General(entry, strings.ToUpper).String()).To(Equal("CIDR CIDR of network NETWORK is that of the examples. Networks of two clusters may overlap. Set another one."))
	})
}
