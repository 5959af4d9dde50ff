// This file holds the metrics of the proxy and of its Envoy. It decides nothing.

package agent

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// Metrics registers the metrics of p, and returns them with those of Envoy. Call it once,
// before Run. Envoy has no metrics while it is unavailable, which oooi_proxy_ready shows.
func (p *Proxy) Metrics(ctx context.Context) prometheus.Gatherer {
	opts := func(name, help string) prometheus.GaugeOpts {
		return prometheus.GaugeOpts{Namespace: "oooi", Subsystem: "proxy", Name: name, Help: help}
	}
	p.CutOffBackends = prometheus.NewGauge(opts("backends_cut_off", "Backends that are unreachable through the pod network; connections to them are closed."))
	p.Gate.Denied = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "oooi", Subsystem: "proxy", Name: "connections_refused_total", Help: "Connections of VMs that were closed at once, by reason and kind of port: api or other.",
	}, []string{"reason", "port"})
	ready := prometheus.NewGaugeFunc(opts("ready", "1 if every listener of the plan accepts connections."), func() float64 {
		return gauge(p.Status.Err() == nil)
	})
	refused := prometheus.NewGaugeFunc(opts("resources_refused", "Resources that Envoy refuses. It keeps the former version of each."), func() float64 {
		return float64(len(p.Server.Refusals()))
	})
	counted := prometheus.NewGaugeFunc(opts("connections_counted", "1 if the kernel lists connections, so that each VM has a share of them."), func() float64 {
		return gauge(p.Gate.Counts())
	})
	r := prometheus.NewRegistry()
	r.MustRegister(p.CutOffBackends, p.Gate.Denied, ready, refused, counted, p.AccessLog.connections, newEndpointMetrics(ctx, p),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	envoys := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		asking, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
		defer cancel()
		families, err := p.Admin.Metrics(asking)
		if err != nil {
			return nil, nil
		}
		return envoyMetrics(families, p.Source.Current().Network), nil
	})
	return prometheus.Gatherers{r, envoys}
}
