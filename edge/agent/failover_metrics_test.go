package agent

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/test/fakes"
)

// series are the values of a metric with one label, or none, by the value of the label.
func series(t *testing.T, r prometheus.Gatherer, metric string) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label = l.GetValue()
			}
			if f.GetName() == metric {
				out[label] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return out
}

// TestFailoversAreCounted: by their cause, and each once, however often it is announced. An edge that is alone begins none. Each
// cause is 0 from the start, so that rates see the first failover.
func TestFailoversAreCounted(t *testing.T) {
	g, r := NewWithT(t), prometheus.NewRegistry()
	m := NewFailoverMetrics(r, func() error { return nil })
	m.announced("alone", true, nil)
	m.announced("peer unreachable", true, nil)
	m.announced("peer unreachable", false, errors.New("no buffer"))
	m.announced("VLAN cut", true, nil)
	g.Expect(series(t, r, "oooi_failover_begun_total")).To(Equal(map[string]float64{
		"peer-unreachable": 1, "vlan-cut": 1, "peer-silent": 0, "peer-mute": 0, "peer-idle": 0, "peer-impaired": 0, "peer-duplicated": 0}))
	g.Expect(series(t, r, "oooi_failover_announcements_total")).To(Equal(map[string]float64{"sent": 3, "failed": 1}))
}

// TestServedPlanIsAMetric: the hash of the plan that is served, as the peer gets it.
func TestServedPlanIsAMetric(t *testing.T) {
	g, r := NewWithT(t), prometheus.NewRegistry()
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, fakes.Blue())
	source, err := inforce.New(file, inforce.Selection{Edge: 1}, nil, slog.New(slog.NewTextHandler(t.Output(), nil)))
	g.Expect(err).NotTo(HaveOccurred())
	f := &Failover{Source: source, Metrics: NewFailoverMetrics(r, func() error { return nil })}
	name, _ := f.plan()
	number, err := strconv.ParseUint(name, 16, 32)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(number).NotTo(BeZero())
	g.Expect(series(t, r, "oooi_failover_plan_hash")).To(Equal(map[string]float64{"": float64(number)}))
}
