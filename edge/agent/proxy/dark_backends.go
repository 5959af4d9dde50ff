// This file decides which backends an edge reports as dark, from the endpoints that its Envoy has.

package proxy

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

const (
	// darkInterval is how often Envoy is asked for the health of backends.
	darkInterval = 5 * time.Second
	// darkAfter is how long a backend must have no usable endpoint before it is reported: a restart is not a fault.
	darkAfter = 10 * time.Second
	// darkUntil is how long an endpoint must be usable before the backend is no longer reported. Envoy tries a failed
	// one again after 30 s at most.
	darkUntil = time.Minute
)

// A DarkBackend is the state of a backend that has, or recently had, no usable endpoint.
type DarkBackend struct {
	// Dark: no endpoint can be used. Since is when Dark last changed.
	Dark  bool
	Since time.Time
	// Reported: the backend was dark for darkAfter, and has not been usable for darkUntil since.
	Reported bool
}

// DarkBackends are the backends of an edge that are dark or were until recently, by name.
type DarkBackends map[string]DarkBackend

// dark reports for each backend that Envoy has, by name, whether it cannot be used. A backend without usable
// endpoints counts as dark if nodes need it. Other backends may have no pods on purpose, and names of external hosts
// need not resolve.
func dark(n network.Network, seen map[string]admin.BackendHealth) map[string]bool {
	out := map[string]bool{}
	for name, health := range seen {
		out[name] = health.Dark()
	}
	for _, b := range n.NeededBackends() {
		if health, ok := seen[b.Name]; ok && health.Healthy == 0 {
			out[b.Name] = true
		}
	}
	return out
}

// Next returns the backends after an answer of Envoy. Parameter seen has all backends of Envoy, and whether each is
// dark. Next forgets other backends.
func (d DarkBackends) Next(seen map[string]bool, now time.Time) DarkBackends {
	out := DarkBackends{}
	for name, isDark := range seen {
		b, known := d[name]
		if !known && !isDark {
			continue
		}
		if !known || b.Dark != isDark {
			b.Dark, b.Since = isDark, now
		}
		switch lasts := now.Sub(b.Since); {
		case b.Dark:
			b.Reported = b.Reported || lasts >= darkAfter
		case !b.Reported || lasts >= darkUntil:
			continue
		}
		out[name] = b
	}
	return out
}

// Names returns the names of the backends to report, sorted.
func (d DarkBackends) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d)), func(name string) bool { return !d[name].Reported })
}

// dialedBackends returns the backends whose endpoints should all be usable: not every VM runs the hosted cluster's
// ingress.
func (p *Proxy) dialedBackends() []network.Backend {
	return slices.DeleteFunc(slices.Clone(p.Source.Current().Network.Backends), func(b network.Backend) bool { return b.Kind == network.BackendVMs })
}

// FollowDarkBackends calls function set with the backends to report, until ctx ends. They stay the same while Envoy
// does not answer.
func (p *Proxy) FollowDarkBackends(ctx context.Context, set func(names []string)) {
	var all DarkBackends
	for ctx.Err() == nil {
		if seen, err := p.Admin.BackendHealth(ctx, p.dialedBackends()); err == nil {
			was := all.Names()
			all = all.Next(dark(p.Source.Current().Network, seen), time.Now())
			now := all.Names()
			if !slices.Equal(was, now) {
				p.Log.Warn("backends without a usable endpoint changed", "backends", now)
			}
			set(now)
		}
		signal.Sleep(ctx, darkInterval)
	}
}

// endpointMetrics collects how many endpoints each backend has. It asks Envoy each time.
type endpointMetrics struct {
	proxy *Proxy
	ctx   context.Context
}

// Describe implements prometheus.Collector.
func (m endpointMetrics) Describe(out chan<- *prometheus.Desc) {
	out <- metrics.ProxyBackendEndpoints.Desc()
}

// Collect implements prometheus.Collector. Without an answer from Envoy it collects nothing.
func (m endpointMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(m.ctx, envoyAnswersWithin)
	defer cancel()
	seen, err := m.proxy.Admin.BackendHealth(ctx, m.proxy.Source.Current().Network.Backends)
	if err != nil {
		return
	}
	desc := metrics.ProxyBackendEndpoints.Desc()
	for name, h := range seen {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(h.Healthy), name, "healthy")
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(h.Endpoints-h.Healthy), name, "unhealthy")
	}
}
