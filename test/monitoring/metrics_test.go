// This file checks the metrics of the programs against the table, and against Prometheus' conventions.

package monitoring

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dns"
	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/ntp"
)

// TestMetricsAreServed: the operator and the programs of an edge serve each metric of the table. Names and help texts keep to
// Prometheus' conventions. Tests with a real edge do the same for the proxy, and for the metrics of programs that an edge passes on.
func TestMetricsAreServed(t *testing.T) {
	g, r, ofDNS := NewWithT(t), prometheus.NewRegistry(), prometheus.NewRegistry() // Two programs register what each program has.
	report.NewMetrics(r)
	agent.NewFailoverMetrics(r, func() error { return nil })
	dhcp.NewMetrics(r)
	dns.NewMetrics(ofDNS)
	access.NewMetrics(r, func() access.Keys { return access.Keys{} })
	ntp.NewMetrics(r, func() (ntp.State, error) { return ntp.State{}, nil })
	var families []*dto.MetricFamily
	for _, m := range metrics.Table() {
		families = append(families, m.Family())
		if m.Of == metrics.Proxy || m.Name == metrics.ProgramScraped.Name || m.Name == metrics.ProgramSeriesDropped.Name {
			continue
		}
		another := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: "another"}, m.Labels)
		registry := r
		if m.Of == metrics.DNS {
			registry = ofDNS
		}
		g.Expect(registry.Register(another)).To(MatchError(ContainSubstring("previously registered")), m.Name)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(problems).To(BeEmpty())
}
