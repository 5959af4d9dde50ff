// This file checks the metrics of the programs against docs/metrics.md, and against Prometheus' conventions.

package monitoring

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/network/access"
	"github.com/cldmnky/oooi/network/dhcp"
	"github.com/cldmnky/oooi/network/dns"
	"github.com/cldmnky/oooi/network/ntp"
)

// A filled registry has a series of each metric, also of those that have none until something happens.
type filled struct{ *prometheus.Registry }

// Register implements prometheus.Registerer.
func (r filled) Register(c prometheus.Collector) error {
	if err := r.Registry.Register(c); err != nil {
		return err
	}
	descriptions := make(chan *prometheus.Desc, 100)
	go func() { c.Describe(descriptions); close(descriptions) }()
	var values []string
	for d := range descriptions {
		if m := regexp.MustCompile(`variableLabels: \{([^}]+)\}`).FindStringSubmatch(d.String()); m != nil {
			values = strings.Split(m[1], ",")
		}
	}
	switch c := c.(type) {
	case *prometheus.CounterVec:
		c.WithLabelValues(values...)
	case *prometheus.GaugeVec:
		c.WithLabelValues(values...)
	case *prometheus.HistogramVec:
		c.WithLabelValues(values...)
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (r filled) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := r.Register(c); err != nil {
			panic(err)
		}
	}
}

// registerAll registers the metrics of the operator, and of the programs of an edge but for the proxy.
func registerAll(g *WithT, r prometheus.Registerer) {
	controllers.NewMetrics(r)
	agent.NewFailoverMetrics(r, func() error { return nil })
	_, err := dhcp.NewMetrics(r)
	g.Expect(err).NotTo(HaveOccurred())
	dns.NewMetrics(r)
	access.NewMetrics(r, func() access.Keys { return access.Keys{} })
	ntp.NewMetrics(r, func() (ntp.State, error) { return ntp.State{}, nil })
}

// TestMetricsAreDocumented: docs/metrics.md has each metric of the operator and of the programs of an edge, with its labels, and no
// other one. Names and help texts keep to Prometheus' conventions. Tests with a real edge do the same for the proxy.
func TestMetricsAreDocumented(t *testing.T) {
	g, r := NewWithT(t), filled{prometheus.NewRegistry()}
	registerAll(g, r)
	families, err := r.Gather()
	g.Expect(err).NotTo(HaveOccurred())

	served := map[string][]string{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "oooi_") {
			continue
		}
		served[f.GetName()] = nil
		for _, l := range f.GetMetric()[0].GetLabel() {
			served[f.GetName()] = append(served[f.GetName()], l.GetName())
		}
	}
	known := documented(t)
	maps.DeleteFunc(known, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "oooi_proxy_") || strings.HasPrefix(name, "oooi_program_")
	})
	g.Expect(slices.Sorted(maps.Keys(served))).To(Equal(slices.Sorted(maps.Keys(known))))
	for name, labels := range served {
		g.Expect(known[name][len(added()):]).To(ConsistOf(labels), name)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range problems {
		g.Expect(p.Metric).NotTo(HavePrefix("oooi_"), p.Text)
	}
}
