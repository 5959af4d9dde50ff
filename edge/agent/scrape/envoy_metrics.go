// This file chooses the metrics of Envoy that are passed on. Clusters and listeners become labels,
// with the plan's names.

package scrape

import (
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// envoyOfAll returns the names of the metrics about Envoy as a whole.
func envoyOfAll() []string {
	return []string{"server_live", "server_uptime", "server_memory_allocated", "server_memory_heap_size", "listener_manager_lds_update_rejected", "cluster_manager_cds_update_rejected", "ratelimit_gate_error"}
}

type named struct{ inEnvoy, inPlan string }

// EnvoyMetrics selects metrics from parameter all: those of the backends and listeners of n, and
// those of Envoy as a whole.
func EnvoyMetrics(all []*dto.MetricFamily, n network.Network) []*dto.MetricFamily {
	byName := map[string]*dto.MetricFamily{}
	for _, f := range all {
		byName[f.GetName()] = f
	}
	var out []*dto.MetricFamily
	collect := func(kind, label string, all []named, metrics []string) {
		for _, metric := range metrics {
			var into *dto.MetricFamily
			for _, x := range all {
				f := byName["envoy_"+kind+"_"+metricName(x.inEnvoy)+"_"+metric]
				if f == nil || len(f.GetMetric()) != 1 || into != nil && into.GetType() != f.GetType() {
					continue
				}
				if into == nil {
					into = &dto.MetricFamily{Name: new("envoy_" + kind + "_" + metric), Help: new("Envoy's " + kind + " statistic " + metric + "."), Type: f.Type}
					out = append(out, into)
				}
				m := f.GetMetric()[0]
				into.Metric = append(into.Metric, &dto.Metric{Label: []*dto.LabelPair{{Name: new(label), Value: new(x.inPlan)}}, Counter: m.Counter, Gauge: m.Gauge})
			}
		}
	}
	var backends, listeners []named
	for _, b := range n.Backends {
		backends = append(backends, named{inEnvoy: resources.ClusterName(b), inPlan: b.Name})
	}
	for _, l := range n.Listeners {
		listeners = append(listeners, named{inEnvoy: l.Name(), inPlan: l.Name()})
	}
	collect("cluster", "backend", backends, resources.StatsOfBackend())
	collect("listener", "listener", listeners, resources.StatsOfListener())
	collect("connection_limit", "listener", listeners, []string{"limited_connections"})
	for _, name := range envoyOfAll() {
		if f := byName["envoy_"+name]; f != nil && len(f.GetMetric()) == 1 {
			m := f.GetMetric()[0]
			out = append(out, &dto.MetricFamily{Name: f.Name, Help: new("Envoy's statistic " + name + "."), Type: f.Type,
				Metric: []*dto.Metric{{Counter: m.Counter, Gauge: m.Gauge}}})
		}
	}
	return out
}

// metricName returns a name as Envoy writes it into the name of a metric.
func metricName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
