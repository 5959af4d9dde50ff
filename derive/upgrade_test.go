package derive_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestAddressesAfterUpgrade: a plan that the previous release stored keeps its addresses.
func TestAddressesAfterUpgrade(t *testing.T) {
	g := NewWithT(t)
	stored, err := os.ReadFile("../network/testdata/plans/1.json")
	g.Expect(err).NotTo(HaveOccurred())
	plan, err := network.ReadPlan(stored)
	g.Expect(err).NotTo(HaveOccurred())
	n := plan.Networks[0]
	in := asking(1, network.NetworkRequest{Attachment: n.Attachment, Primary: true, CIDR: n.CIDR})
	in.InUse = []string{n.Name}
	now, problems := after(in, plan)
	g.Expect(problems).To(BeEmpty())
	g.Expect(pinned(now.Networks[0])).To(Equal(pinned(n)))
}
