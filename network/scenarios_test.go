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
			g.Expect(problems).To(BeEmpty(), "stories so far have no problem that is found in this step")
			if found.Blocking() {
				golden.Check(t, story.Path("plan.json"), nil)
				return
			}
			g.Expect(plan.Validate()).To(Succeed())
			golden.Check(t, story.Path("plan.json"), plan.JSON())
		})
	}
}
