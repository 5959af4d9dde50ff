package check

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/explain"
)

// TestEdgeChecks: what an edge tries itself is a line, if its report is current.
func TestEdgeChecks(t *testing.T) {
	for level, want := range map[string]outcome{"reaches": fine, "serves": warning, "nothing": warning, "": unsure} {
		g := NewWithT(t)
		n := status.Network{Name: "clusters/vlan100", Edges: []status.Edge{{Number: 1, Ready: explain.Yes, Level: level}, {Number: 2, Ready: explain.No}}}
		all := edgeChecks(n)
		g.Expect(all).To(HaveLen(1))
		g.Expect(all[0].Name).To(Equal("from edge 1 of clusters/vlan100"))
		g.Expect(all[0].Verdict).To(Equal(want))
		g.Expect(all[0].Page != "").To(Equal(want != fine))
		g.Expect(all[0].Why != "").To(Equal(want != fine))
	}
}
