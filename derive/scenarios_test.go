package derive_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// TestStories: the plan of each story follows from what package hcp wrote for the story's objects. A story that is refused has no plan.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			var r network.Request
			g.Expect(json.Unmarshal(story.Read(t, "request.json"), &r)).To(Succeed())
			var f network.Facts
			g.Expect(json.Unmarshal(story.Read(t, "facts.json"), &f)).To(Succeed())
			var others []derive.OtherCluster
			if b := story.Read(t, "others.json"); b != nil {
				g.Expect(json.Unmarshal(b, &others)).To(Succeed())
			}
			d := derive.Derive(r, f, network.Plan{}, others)
			story.Check(t, "problems.json", indented(t, append(problem.Problems{}, d.Problems...)))
			plan, ok := d.Plan()
			if !ok {
				story.Check(t, "plan.json", nil)
				return
			}
			g.Expect(plan.Validate()).To(Succeed())
			story.Check(t, "plan.json", plan.JSON())
		})
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}
