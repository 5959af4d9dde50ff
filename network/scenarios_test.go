package network_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestStories is the second step of each story: from what is asked for to what
// is served. Where the first step was refused there is no plan.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			var intent network.Intent
			g.Expect(json.Unmarshal(story.Read(t, "intent.json"), &intent)).To(Succeed())
			var found network.Problems
			g.Expect(json.Unmarshal(story.Read(t, "problems.json"), &found)).To(Succeed())
			plan, problems := network.NewPlan(intent)
			story.Check(t, "plan-problems.json", indented(t, problems))
			if found.Blocking() || problems.Blocking() {
				story.Check(t, "plan.json", nil)
				return
			}
			g.Expect(plan.Validate()).To(Succeed())
			story.Check(t, "plan.json", plan.JSON())
		})
	}
}

// indented is nil where nothing was found.
func indented(t *testing.T, ps network.Problems) []byte {
	t.Helper()
	if len(ps) == 0 {
		return nil
	}
	b, err := json.MarshalIndent(ps, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
