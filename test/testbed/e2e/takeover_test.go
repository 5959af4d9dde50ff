// This file shows what a VM notices when an edge fails, is replaced or is changed: for how long, and how often its
// connections are cut. Each row of the table is held against the row of the same run in which nothing happens. These are bounds on
// durations, so it is no part of `make test`: `make test-long` and the bench of failovers run it, with nothing else on the machine.

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	. "github.com/onsi/gomega"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/measure"
)

// allVariable asks for all faults, with two edges and with one, when it is "all".
const allVariable = "OOOI_TAKEOVER"

// What a fault may add to the gaps of the quiet row, with two edges.
const (
	overPlanned   = time.Second     // the edge knows before
	overUnplanned = 4 * time.Second // the other edge must notice
)

// overBusy is the longest gap of a quiet row: with more the machine can't be measured on.
const overBusy = 2 * time.Second

// TestTakeOver has a testbed of its own: it needs a second node to lose, an operator to change, an API server to stop,
// and nothing else on the machine while gaps are measured. All its faults share one hosted cluster.
func TestTakeOver(t *testing.T) {
	b := newBed(t, bedOptions{nodes: 2})
	all := os.Getenv(allVariable) == "all"
	two := newStage(t, b, 2, 230, map[string]string{"lease-time": "1m"})
	t.Run("two edges", func(t *testing.T) { testFaults(t, two, all) })
	t.Run("who carries", func(t *testing.T) { testWhoCarries(t, two) })
	t.Run("alerts", func(t *testing.T) { testAlerts(t, two, all) })
	t.Run("sockets", func(t *testing.T) { testSockets(t, two) })
	t.Run("router", func(t *testing.T) { testRouter(t, two) })
	t.Run("forwarding", func(t *testing.T) { testForwarding(t, two) })
	t.Run("isolated", func(t *testing.T) { testIsolated(t, b, two.hosted, two.worker, Every()) })
	t.Run("API server away", func(t *testing.T) { testOutage(t, two, outage(t)) })
	t.Run("day", func(t *testing.T) { testDay(t, two) })
	if all {
		t.Run("limits", func(t *testing.T) { testLimits(t, two) })
	}
	t.Run("OLM", func(t *testing.T) { testOLM(t, two) })
	if !all {
		return
	}
	NewWithT(t).Expect(InstallOperator(t.Context(), b.cluster)).To(Succeed())
	t.Run("one edge", func(t *testing.T) {
		one := newStage(t, b, 1, 231, nil)
		testFaults(t, one, all)
		b.destroy(one.hosted)
	})
	t.Run("deletion", func(t *testing.T) { testDeletions(t, b) })
}

// testFaults lets one fault after the other happen, and prints the table.
func testFaults(t *testing.T, s *stage, all bool) {
	table := newTable(s)
	s.measureQuiet(t)
	table.add(nothing().name, s.quiet)
	for _, f := range faults() {
		if f.quick || all {
			t.Run(f.name, func(t *testing.T) { table.add(f.name, judged(t, s, f)) })
		}
	}
	table.print(t)
}

// A table has a row for each fault.
type table struct {
	text *strings.Builder
	rows *tabwriter.Writer
}

func newTable(s *stage) table {
	var text strings.Builder
	rows := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	fmt.Fprintf(rows, "| %s\t| TLS ms\t| DNS ms\t| NTP ms\t| DHCP ms\t| cuts\t| connected again ms\t|\n", map[int]string{1: "one edge", 2: "two edges"}[len(s.network.Edges)])
	fmt.Fprintf(rows, "| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t| ---\t|\n")
	return table{&text, rows}
}

// add writes one line.
func (w table) add(name string, r measure.Row) {
	fmt.Fprintf(w.rows, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %d\t|\n", name,
		r.TLS.Milliseconds(), r.DNS.Milliseconds(), r.NTP.Milliseconds(), r.DHCP.Milliseconds(), r.Cuts, r.Back.Milliseconds())
}

// print logs the table, and appends it to the file of those who ask for one.
func (w table) print(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	_ = w.rows.Flush() // into memory
	t.Logf("the longest time without a new TLS connection, an answer of DNS and of NTP, and a renewal; cuts of the long connection that had most:\n%s", w.text)
	path := os.Getenv("OOOI_TAKEOVER_TABLE")
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	_, err = io.WriteString(f, w.text.String()+"\n")
	g.Expect(err).NotTo(HaveOccurred())
}

// measureQuiet measures what the busy machine itself adds: the yardstick of all other rows is the worst that was seen.
func (s *stage) measureQuiet(t *testing.T) {
	t.Helper()
	row := testFault(t, s, nothing()).Row()
	NewWithT(t).Expect(row.Cuts).To(BeZero(), "cuts while nothing happens")
	NewWithT(t).Expect(max(row.TLS, row.DNS, row.NTP, row.DHCP)).To(BeNumerically("<", overBusy), "gaps while nothing happens")
	s.quiet = s.quiet.Worse(row)
}

// judged measures one fault, and compares it with what the machine itself adds: the worst quiet row, and what a client
// notices meanwhile that uses no edge, since HyperShift or a starting pod may delay the hosted API server. If the fault is out
// of bounds, the machine may have become busy: the quiet row is measured again, the fault is not.
func judged(t *testing.T, s *stage, f fault) measure.Row {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	direct := measure.Start(ctx, measure.Options{Dial: s.direct, API: s.api})
	row := testFault(t, s, f).Row()
	cancel()
	without := direct.Wait()
	t.Logf("without an edge: %+v", without.TLS)
	if len(s.network.Edges) == 1 { // nothing takes over
		return row
	}
	g.Expect(without.Failures()).To(BeNumerically("<", without.TLS.Asked/2), "the hosted API server does not serve")
	noise := func() measure.Row { return s.quiet.Worse(measure.Row{TLS: without.Row().TLS}) }
	if len(measure.Judge(noise(), row, f.bounds())) > 0 {
		s.measureQuiet(t)
	}
	g.Expect(measure.Judge(noise(), row, f.bounds())).To(BeEmpty(), "compared with the worst quiet row and a client without an edge, %+v", noise())
	return row
}

// bounds are what the fault may cost with two edges.
func (f fault) bounds() measure.Bounds {
	if f.planned {
		return measure.Bounds{Over: overPlanned, Cuts: f.cuts}
	}
	return measure.Bounds{Over: overUnplanned, Cuts: f.cuts}
}

// testFault measures one fault and asserts what must hold in every row.
func testFault(t *testing.T, s *stage, f fault) measure.Report {
	g := NewWithT(t)
	s.whole(t)
	before, err := s.holds(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	edge := s.victim(t, f)
	s.sendTo(t, edge)
	m, stop := s.start(t)

	f.do(t, s, m, edge)

	quiet(t, m, 3*time.Second)
	report := stop()
	t.Logf("%+v", report)
	g.Expect(report.DHCP.Addresses).To(HaveLen(1), "the renewing machine's address moved")
	var after holding
	g.Eventually(func() (err error) { after, err = s.holds(t.Context()); return err }).WithTimeout(patience(s)).WithPolling(time.Second).Should(Succeed())
	if len(s.network.Edges) == 1 {
		after.ready = before.ready // a node may be given up while its one edge is away
	}
	g.Expect(after).To(Equal(before), "the worker's address, its DHCP server, and since when its node is Ready")
	return report
}

// patience is how long a hosted node may take to be Ready again: not at all with two
// edges, and with one until its kubelet has connected again.
func patience(s *stage) time.Duration {
	if len(s.network.Edges) == 1 {
		return 2 * time.Minute
	}
	return 0
}

// victim is the edge that machines will send to. If the fault needs a fresh one, its pod is replaced.
func (s *stage) victim(t *testing.T, f fault) edgePod {
	t.Helper()
	edge := s.chosen(t, f)
	killed := func(c core.ContainerStatus) bool { return c.RestartCount > 0 }
	if !f.fresh || !slices.ContainsFunc(edge.Status.ContainerStatuses, killed) {
		return edge
	}
	g := NewWithT(t)
	g.Expect(s.hosted.Client.Delete(t.Context(), &edge.Pod)).To(Succeed())
	s.replaced(t, edge)
	g.Eventually(func() bool {
		return errors.IsNotFound(s.hosted.Client.Get(t.Context(), client.ObjectKeyFromObject(&edge.Pod), &core.Pod{}))
	}).WithPolling(200*time.Millisecond).Should(BeTrue(), "the former pod has ended")
	m, stop := s.start(t)
	quiet(t, m, 5*time.Second) // VMs use the edge that they will use.
	stop()
	return s.chosen(t, f)
}

// chosen is the edge that the fault is about.
func (s *stage) chosen(t *testing.T, f fault) edgePod {
	t.Helper()
	g := NewWithT(t)
	if f.onSecond && len(s.network.Edges) == 1 {
		s.moveToSecond(t)
	}
	pods := s.pods(t)
	if f.onLongest {
		edges, err := s.hosted.Edges(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return slices.MinFunc(pods, func(a, b edgePod) int { return a.availableSince(edges).Compare(b.availableSince(edges)) })
	}
	if !f.onSecond {
		return pods[0]
	}
	i := slices.IndexFunc(pods, func(p edgePod) bool { return p.nodeNumber() == 2 })
	g.Expect(i).To(BeNumerically(">=", 0), "an edge is on each node")
	return pods[i]
}

// moveToSecond has the one edge run on the second node.
func (s *stage) moveToSecond(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	edge := s.pods(t)[0]
	if edge.nodeNumber() == 2 {
		return
	}
	_, err := s.cluster.Kubectl(t.Context(), "cordon", "node1")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _, _ = s.cluster.Kubectl(s.ctx, "uncordon", "node1") }()
	g.Expect(s.hosted.Client.Delete(t.Context(), &edge.Pod)).To(Succeed())
	s.replaced(t, edge)
}
