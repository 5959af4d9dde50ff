package network_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

// TestStoredPlan: a plan that the previous release stored is read after an upgrade. A new number of the format
// gets a file of its own, and the file of the number before it stays.
func TestStoredPlan(t *testing.T) {
	g := NewWithT(t)
	plan, err := network.ReadPlan(storedPlan(t, "1.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(plan.Validate()).To(Succeed(), "an edge reads it too")
	g.Expect(plan.Version).To(Equal(network.CurrentPlanVersion))
	n := plan.Networks[0]
	g.Expect(n.NextHopVIP).To(Equal(netip.MustParseAddr("192.168.100.2")))
	g.Expect(n.Services).To(Equal(network.AllServices()))
	g.Expect(n.Placement).To(Equal(network.Placement{
		NodeSelectors: []map[string]string{{"vlan100": "yes"}},
		Tolerations:   []network.Toleration{{Key: "infra", Operator: "Exists"}}, PriorityClass: "hypershift-api-critical"}))
	g.Expect(n.DHCP.ReservedForVMs).To(Equal(3))
	g.Expect(n.DHCP.Named).To(HaveExactElements(netip.MustParseAddr("192.168.100.77")))
	g.Expect(n.Backends[0].TargetPort).To(BeEquivalentTo(31443))
	g.Expect(n.TimeServers()).To(HaveExactElements(n.ServiceVIP))
	g.Expect(plan.JSON()).To(MatchJSON(storedPlan(t, "1.json")), "what it says is written as before")
}

// TestPlanOfANewerVersion: a plan of a newer version is an error. It is not read as a plan
// without networks, nor in part.
func TestPlanOfANewerVersion(t *testing.T) {
	g := NewWithT(t)
	newer := strings.Replace(string(storedPlan(t, "1.json")), `"version": 1`, `"version": 2`, 1)
	_, err := network.ReadPlan([]byte(newer))
	var is network.NewerPlanError
	g.Expect(errors.As(err, &is)).To(BeTrue())
	g.Expect(is.Version).To(BeEquivalentTo(2))
	g.Expect(err).To(MatchError(ContainSubstring("version 2")))
}

func TestWhatIsNoPlan(t *testing.T) {
	stored := string(storedPlan(t, "1.json"))
	for name, text := range map[string]string{
		"a number as text":   strings.Replace(stored, `"number": 1`, `"number": "1"`, 1),
		"nothing":            "{}",
		"a version as text":  strings.Replace(stored, `"version": 1`, `"version": "1"`, 1),
		"a negative version": strings.Replace(stored, `"version": 1`, `"version": -1`, 1),
	} {
		_, err := network.ReadPlan([]byte(text))
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("not a plan")), name)
	}
}

func storedPlan(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "plans", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
