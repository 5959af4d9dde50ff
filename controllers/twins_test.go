package controllers

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestEdgesThatYieldToAnotherManagementCluster: an edge reports that edges of another management cluster serve its
// network. While the other edge serves, nothing changes: a VM can make an edge report this. If both report it and none serves,
// the edges are removed, and the addresses are checked again until they are free. The two edges of the other network stay.
func TestEdgesThatYieldToAnotherManagementCluster(t *testing.T) {
	const label = "clusters.vlan100"
	report := gather.NetworkReport{Network: label, EdgeReport: reported.EdgeReport{Edge: 1, Yields: true, Level: reported.LevelNothing,
		AddressesInUse: []reported.UsedAddress{{Address: netip.MustParseAddr("192.168.100.2"), MAC: "02:00:00:00:00:b2"}}}}
	g := NewWithT(t)
	w, _ := twoEdges(t)
	w.EdgeReports = []gather.NetworkReport{report}
	setEdge(&w, first, stopped)
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 4}))

	yields := func() []string {
		var macs []string
		for _, p := range decide.About(w, testOptions.Release, testNow).Problems {
			if p.Reason == problem.AddressInUse {
				macs = append(macs, p.Args["mac"]...)
			}
		}
		return macs
	}
	g.Expect(yields()).To(Equal([]string{"02:00:00:00:00:b2"}), "the edge that yields is not available, and its report names the host")

	setEdge(&w, second, stopped)
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 4}), "the other edge does not report it")
	other := report
	other.Edge = 2
	w.EdgeReports = append(w.EdgeReports, other)
	g.Expect(yields()).To(Equal([]string{"02:00:00:00:00:b2"}), "once, though both yield")
	w.HostedCluster.Annotations[settings.Prefix+"paused"] = "true"
	g.Expect(decide.About(w, testOptions.Release, testNow).Action).To(Equal(decide.Keep), "a pause removes no edge")
	delete(w.HostedCluster.Annotations, settings.Prefix+"paused")
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameACD: 1, wire.NameEdge: 2}))
	w = changed(w, t, d)
	_, there := deploymentIn(w, first)
	g.Expect(there).To(BeFalse(), "its kernel would answer VMs")
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameACD: 1, wire.NameEdge: 2}), "no edge is created while the report is there")
	w.EdgeReports = []gather.NetworkReport{{Network: label, EdgeReport: reported.EdgeReport{Edge: 2}}}
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameACD: 1, wire.NameEdge: 2}), "an edge that ends may report again")
	w.EdgeReports = []gather.NetworkReport{{Network: label, EdgeReport: reported.EdgeReport{AddressesInUse: report.AddressesInUse}}}
	checkedFor(&w, 2*time.Minute)
	d = decide.About(w, testOptions.Release, testNow)
	g.Expect(deploys(d)).To(Equal(map[string]int{wire.NameACD: 1, wire.NameEdge: 2}))
	g.Expect(d.Problems.Has(problem.AddressInUse)).To(BeTrue())

	w.EdgeReports = nil
	for _, e := range w.Edges {
		setEdge(&w, e.Name, running)
	}
	g.Expect(deploys(decide.About(w, testOptions.Release, testNow))).To(Equal(map[string]int{wire.NameEdge: 4}), "the addresses are free")
}
