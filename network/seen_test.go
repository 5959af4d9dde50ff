package network_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestEdgesApart: it is said what it costs and where to look, and stops nothing.
func TestEdgesApart(t *testing.T) {
	g := NewWithT(t)
	p := tenant(2, 10, 99).Networks[0].EdgesApart(2)
	g.Expect(p.Reason).To(Equal(network.EdgesApart))
	g.Expect(p.Urgency()).To(Equal(network.Noted))
	g.Expect(p.Field).To(Equal("edge 2 of network clusters/vlan100"))
	g.Expect(p.Detail).To(And(ContainSubstring("edge 2 does not hear"), ContainSubstring("40 to 50 s"), ContainSubstring("edge-node-selector")))
}
