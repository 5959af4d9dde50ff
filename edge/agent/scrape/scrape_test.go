package scrape

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
)

// answers makes a program of the edge in dir answer with text.
func answers(t *testing.T, dir, program, text string) {
	t.Helper()
	l, err := rundir.Listen(wire.Socket(dir, program))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
}

// TestAProgramThatWasTakenOverHidesNoMetrics: whatever it answers, the metrics of other programs are read,
// with their own label, and its own are limited.
func TestAProgramThatWasTakenOverHidesNoMetrics(t *testing.T) {
	var many strings.Builder
	for i := range maxSeries + 1 {
		_, _ = fmt.Fprintf(&many, "oooi_many{x=\"%d\"} 1\n", i)
	}
	for what, c := range map[string]struct {
		text    string
		scraped float64
	}{
		"nonsense":                 {"\x00{{{\n", 0},
		"endless":                  {strings.Repeat("# HELP oooi_x y\n", maxScrape), 0},
		"many series":              {many.String(), 1},
		"another type":             {"# TYPE oooi_dhcp_dropped_total histogram\noooi_dhcp_dropped_total_bucket{le=\"+Inf\"} 1\noooi_dhcp_dropped_total_sum 1\noooi_dhcp_dropped_total_count 1\n", 1},
		"of later programs":        {"# TYPE oooi_failover_degraded counter\noooi_failover_degraded 9\n# TYPE oooi_ntp_clock_synchronized gauge\noooi_ntp_clock_synchronized 1\n# TYPE envoy_server_live gauge\nenvoy_server_live 1\n", 1},
		"another name":             {"# TYPE up gauge\nup 0\n", 1},
		"the label of another one": {"# TYPE oooi_dns_cache_bytes gauge\noooi_dns_cache_bytes{program=\"dhcp\"} 7\n", 1},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			dir := fakes.RunDir(t)
			answers(t, dir, "dhcp", "# TYPE oooi_dhcp_dropped_total counter\noooi_dhcp_dropped_total 3\n")
			answers(t, dir, "dns", c.text)
			own := prometheus.NewRegistry()
			own.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "oooi_failover_degraded"}, func() float64 { return 5 }))
			s := Scrape{RunDir: dir, Own: own, Services: func() []network.Service {
				return []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceNTP}
			}}
			families, err := s.Gather()
			g.Expect(err).NotTo(HaveOccurred())
			got := map[string]float64{}
			for _, f := range families {
				for _, m := range f.GetMetric() {
					key := f.GetName()
					for _, l := range m.GetLabel() {
						key += " " + l.GetValue()
					}
					got[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
					g.Expect(m.GetLabel()).To(ContainElement(HaveField("Name", HaveValue(Equal(programLabel)))))
				}
			}
			want := map[string]float64{
				"oooi_dhcp_dropped_total dhcp": 3, "oooi_failover_degraded failover": 5,
				"oooi_program_scraped dhcp": 1, "oooi_program_scraped dns": c.scraped, "oooi_program_scraped ntp": 0, "oooi_program_scraped failover": 1,
			}
			for _, program := range []string{"dhcp", "dns", "ntp", "failover"} {
				want["oooi_program_series_dropped "+program] = 0
			}
			if what == "many series" {
				want["oooi_program_series_dropped dns"] = maxSeries + 1
			}
			if what == "the label of another one" {
				want["oooi_dns_cache_bytes dns"] = 7
			}
			g.Expect(got).To(Equal(want))
		})
	}
}

// TestManyBackendsHideNoMetrics: with 500 backends, all metrics of the proxy are there. With more series than are
// passed on, those of the proxy itself are, and a metric shows that others are not.
func TestManyBackendsHideNoMetrics(t *testing.T) {
	for backends, all := range map[int]bool{500: true, maxSeries + 1: false} {
		g := NewWithT(t)
		var n network.Network
		one := func(name string) *dto.MetricFamily {
			return &dto.MetricFamily{Name: new(name), Type: dto.MetricType_GAUGE.Enum(), Metric: []*dto.Metric{{Gauge: &dto.Gauge{Value: new(1.0)}}}}
		}
		envoys, endpoints := []*dto.MetricFamily{one("envoy_server_live")}, one("oooi_proxy_backend_endpoints")
		endpoints.Metric = nil
		for i := range backends {
			b := network.Backend{Name: fmt.Sprintf("service-%d:443", i)}
			n.Backends = append(n.Backends, b)
			for _, name := range resources.StatsOfBackend() {
				envoys = append(envoys, one("envoy_cluster_"+metricName(b.Name)+"_"+name))
			}
			for _, state := range []string{"healthy", "unhealthy"} {
				endpoints.Metric = append(endpoints.Metric, &dto.Metric{
					Label: []*dto.LabelPair{{Name: new("backend"), Value: new(b.Name)}, {Name: new("state"), Value: new(state)}}, Gauge: &dto.Gauge{Value: new(1.0)},
				})
			}
		}
		families := append(EnvoyMetrics(envoys, n), one("oooi_proxy_ready"), one("oooi_proxy_resources_refused"), one("process_open_fds"))
		if all {
			families = append(families, endpoints)
		}
		series := map[string]int{}
		dropped := 0.0
		for _, f := range merged(map[string][]*dto.MetricFamily{"proxy": families}) {
			series[f.GetName()] = len(f.GetMetric())
			if f.GetName() == "oooi_program_series_dropped" {
				dropped = f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		for _, name := range []string{"oooi_proxy_ready", "oooi_proxy_resources_refused", "process_open_fds", "envoy_server_live"} {
			g.Expect(series).To(HaveKeyWithValue(name, 1), "%d backends", backends)
		}
		if all {
			g.Expect(series).To(And(HaveKeyWithValue("envoy_cluster_upstream_cx_total", backends), HaveKeyWithValue("oooi_proxy_backend_endpoints", 2*backends)))
			g.Expect(dropped).To(BeZero())
		} else {
			g.Expect(dropped).To(BeNumerically("==", len(resources.StatsOfBackend())*backends), "%d backends", backends)
		}
	}
}

// TestEnvoyMetricsHaveTheNamesOfThePlan: names of backends and listeners are labels, and what the plan does not have
// is left out.
func TestEnvoyMetricsHaveTheNamesOfThePlan(t *testing.T) {
	g := NewWithT(t)
	one := func(name string, v float64) *dto.MetricFamily {
		return &dto.MetricFamily{Name: new(name), Type: dto.MetricType_COUNTER.Enum(), Metric: []*dto.Metric{{Counter: &dto.Counter{Value: new(v)}}}}
	}
	out := EnvoyMetrics([]*dto.MetricFamily{
		one("envoy_cluster_oauth_6443_upstream_cx_total", 1), one("envoy_cluster_api_6443_upstream_cx_total", 2), one("envoy_cluster_reach_upstream_cx_total", 3),
		one("envoy_listener_192_168_100_3_443_no_filter_chain_match", 4), one("envoy_listener_192_168_100_3_443_worker_0_downstream_cx_total", 5),
		one("envoy_cluster_mirror_443_10_0_0_7_3128_upstream_cx_total", 7),
		one("envoy_connection_limit_192_168_100_3_443_limited_connections", 6),
	}, network.Network{
		Backends:  []network.Backend{{Name: "api:6443"}, {Name: "oauth:6443"}, {Name: "mirror:443", Kind: network.BackendExternal, HTTPProxy: "10.0.0.7:3128"}},
		Listeners: []network.Listener{{Address: netip.MustParseAddr("192.168.100.3"), Port: 443}},
	})
	got := map[string]float64{}
	for _, f := range out {
		for _, m := range f.GetMetric() {
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
		}
	}
	g.Expect(got).To(Equal(map[string]float64{
		"envoy_cluster_upstream_cx_total api:6443": 2, "envoy_cluster_upstream_cx_total oauth:6443": 1, "envoy_cluster_upstream_cx_total mirror:443": 7, "envoy_listener_no_filter_chain_match 192.168.100.3:443": 4,
		"envoy_connection_limit_limited_connections 192.168.100.3:443": 6,
	}))
}
