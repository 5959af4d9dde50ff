// This file shows that VMs do not notice an outage of the management cluster's API server, even if an edge restarts
// and the node of the other is lost in the meantime.

package e2e

import (
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// outageVariable says for how long the API server is away: `make soak`.
const outageVariable = "OOOI_OUTAGE"

func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(outageVariable)
	if text == "" {
		return 30 * time.Second
	}
	d, err := time.ParseDuration(text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), outageVariable)
	return d
}

// testOutage takes the API server away for so long. Meanwhile every container of the
// edge that machines send to is killed, and then, where there are two edges, the node
// of the other is lost.
func testOutage(t *testing.T, s *stage, long time.Duration) {
	g := NewWithT(t)
	s.whole(t)
	before, err := s.holds(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	pods := s.pods(t)
	first := slices.IndexFunc(pods, func(p edgePod) bool { return p.nodeNumber() == 1 })
	g.Expect(first).To(BeNumerically(">=", 0), "an edge on the first node")
	s.sendTo(t, pods[first])
	m, stop := s.start(t)

	g.Expect(s.cluster.StopAPIServer(t.Context())).To(Succeed())
	back := func() error { return s.cluster.StartAPIServer(s.ctx) }
	defer func() { _ = back() }()
	over := time.After(long)
	for _, c := range pods[first].Status.ContainerStatuses {
		g.Expect(process.KillContainer(c.ContainerID)).To(Succeed(), c.Name)
	}
	for _, name := range servers() {
		g.Eventually(func() error { return pods[first].serves(t.Context(), name) }).WithPolling(200*time.Millisecond).
			Should(Succeed(), "%s, started without an API server", name)
	}
	quiet(t, m, 3*time.Second)
	if len(pods) > 1 {
		lost := pods[1-first].nodeNumber()
		g.Expect(s.cluster.NodeDown(lost)).To(Succeed())
		defer func() { _ = s.cluster.NodeUp(lost) }()
		quiet(t, m, 4*time.Second)
		g.Expect(s.cluster.NodeUp(lost)).To(Succeed())
	}
	<-over
	quiet(t, m, 2*time.Second)
	g.Expect(back()).To(Succeed())
	s.whole(t)
	quiet(t, m, 2*time.Second)

	report := stop()
	t.Logf("API server away for %s: %+v", long, report)
	g.Expect(report.DHCP.Addresses).To(HaveLen(1), "the renewing machine's address moved")
	var after holding
	g.Eventually(func() (err error) { after, err = s.holds(t.Context()); return err }).WithPolling(time.Second).
		Should(Succeed(), "the hosted cluster's own Service has no endpoint for some seconds after the outage")
	g.Expect(after).To(Equal(before), "the worker's address, its DHCP server, and since when its node is Ready")
	if len(pods) > 1 {
		bounds := measure.Bounds{Over: 2 * overUnplanned, Cuts: 2} // two edges are lost, and everything resyncs when the API server is back
		g.Expect(measure.Judge(s.quiet, report.Row(), bounds)).To(BeEmpty(), "compared with the quiet row of this run, %+v", s.quiet)
	}
}
