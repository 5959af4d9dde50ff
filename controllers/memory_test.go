package controllers

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReconcilerRemembers: what outlives a pass is the clock, what the API server does not show yet, the last Report, and what
// docs/decisions.md has a reason for. A pass is otherwise a function of what it reads.
func TestReconcilerRemembers(t *testing.T) {
	g := NewWithT(t)
	fields := func(of any) (out []string) {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if !f.IsExported() {
				out = append(out, f.Name)
			}
		}
		return out
	}
	g.Expect(fields(Reconciler{})).To(ConsistOf("intervals", "writes", "observed", "memory", "environment", "waves", "applied", "slots"))
	g.Expect(fields(memory{})).To(ConsistOf("mu", "all"))
	g.Expect(fields(remembered{})).To(ConsistOf("reported", "failing", "loss"))
}
