package network_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestPlanOfTheFirstVersion: what an older version stored is in force after an
// upgrade, with all that its edges ran.
func TestPlanOfTheFirstVersion(t *testing.T) {
	g := NewWithT(t)
	stored, err := os.ReadFile("testdata/plan-first-version.json")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(stored)).NotTo(ContainSubstring(`"services"`))

	plan, err := network.ReadPlan(stored)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.Networks).To(HaveExactElements(HaveField("Services", []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy})))

	g.Expect(plan.Validate()).To(Succeed(), "an edge reads it too")

	plan, err = network.ReadPlan(plan.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.Networks).To(HaveLen(1))

	_, err = network.ReadPlan([]byte(strings.Replace(string(stored), `"number": 1`, `"number": "1"`, 1)))
	g.Expect(err).To(MatchError(ContainSubstring("not a plan")))
	_, err = network.ReadPlan([]byte("{}"))
	g.Expect(err).To(MatchError(ContainSubstring("not a plan")))
}
