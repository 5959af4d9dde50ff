package hcp_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestStories checks the first step of each story: objects to request and facts.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			dump := &files.Dump{}
			g.Expect(dump.Add(story.Read(t, "objects.yaml"))).To(Succeed())
			g.Expect(dump.Clusters()).NotTo(BeEmpty())
			clusters := dump.Clusters()
			for i := range clusters { // a story has all objects
				clusters[i].Partial, clusters[i].Management.PriorityClass = false, "hypershift-api-critical"
			}
			request, facts := hcp.Translate(clusters[0], network.Plan{})
			story.Check(t, "request.json", indented(t, request))
			story.Check(t, "facts.json", indented(t, facts))
			var others []byte
			for _, other := range clusters[1:] {
				if n, ok := hcp.NewNeighbor(other, network.Plan{}).For(clusters[0].HostedCluster, networks.All(clusters[0], network.Plan{})); ok {
					others = indented(t, []derive.OtherCluster{n})
				}
			}
			story.Check(t, "others.json", others)
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
