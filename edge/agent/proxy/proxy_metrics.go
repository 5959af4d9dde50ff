// This file holds the metrics of the proxy and of its Envoy. It decides nothing.

package proxy

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/edge/agent/scrape"
	"github.com/cldmnky/oooi/network/metrics"
)

// Metrics registers the metrics of p, and returns them together with Envoy's metrics, if Envoy
// answers. Call it once, before Run.
func (p *Proxy) Metrics(ctx context.Context) prometheus.Gatherer {
	r := prometheus.NewRegistry()
	set := metrics.Register(r, metrics.Proxy)
	p.CutOffBackends = set.Gauge(metrics.ProxyBackendsCutOff).WithLabelValues()
	p.Gate.Denied = set.Counter(metrics.ProxyConnectionsRefused)
	p.AccessLog.Connections = set.Counter(metrics.ProxyAccessLogConnections)
	set.Compute(metrics.ProxyReady, func() float64 { return metrics.Bool(p.Status.Err() == nil) })
	set.Compute(metrics.ProxyResourcesRefused, func() float64 { return float64(len(p.Server.Refusals())) })
	set.Compute(metrics.ProxyConnectionsCounted, func() float64 { return metrics.Bool(p.Gate.Counts()) })
	r.MustRegister(endpointMetrics{p, ctx})
	metrics.RegisterProcess(r)
	envoys := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		asking, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
		defer cancel()
		families, err := p.Admin.Metrics(asking)
		if err != nil {
			return nil, nil
		}
		return scrape.EnvoyMetrics(families, p.Source.Current().Network), nil
	})
	return prometheus.Gatherers{r, envoys}
}
