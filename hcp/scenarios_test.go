package hcp_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestStories is the first step of each story: from the objects to what they
// ask for.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			dump := &hcp.Dump{}
			g.Expect(dump.Add(story.Read(t, "objects.yaml"))).To(Succeed())
			g.Expect(dump.Clusters()).NotTo(BeEmpty())
			o := dump.Clusters()[0]
			o.Partial, o.Management.PriorityClass = false, "hypershift-api-critical" // a story is a whole world
			intent, problems := hcp.Intent(o)
			story.Check(t, "intent.json", indented(t, intent))
			if problems == nil {
				problems = network.Problems{}
			}
			story.Check(t, "problems.json", indented(t, problems))
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
