package proxy

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/connlog"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
	"github.com/cldmnky/oooi/test/fakes"
)

// TestDarkBackends: a backend is reported once it is dark for ten seconds, until it is not for a minute.
func TestDarkBackends(t *testing.T) {
	g := NewWithT(t)
	const dark, lit = true, false
	var d DarkBackends
	now := time.Unix(0, 0)
	for _, c := range []struct {
		after time.Duration
		seen  bool
		want  int
	}{
		{0, lit, 0}, {5, dark, 0}, {5, dark, 0}, {4, lit, 0}, {1, dark, 0}, {9, dark, 0}, {1, dark, 1},
		{30, dark, 1}, {5, lit, 1}, {5, dark, 1}, {30, lit, 1}, {59, lit, 1}, {1, lit, 0},
		{5, dark, 0}, {10, dark, 1}, {5, lit, 1}, {60, lit, 0},
	} {
		now = now.Add(c.after * time.Second)
		d = d.Next(map[string]bool{"x:1": c.seen}, now)
		g.Expect(d.Names()).To(HaveLen(c.want), "%v: %v", now.Unix(), d)
	}
	d = d.Next(map[string]bool{"x:1": dark}, now).Next(map[string]bool{"x:1": dark}, now.Add(darkAfter))
	g.Expect(d.Names()).To(HaveLen(1))
	g.Expect(d.Next(nil, now).Names()).To(BeEmpty(), "it left the plan")
}

// TestDark: a backend that nodes need is dark without endpoints, too.
func TestDark(t *testing.T) {
	n := network.Network{Backends: []network.Backend{
		{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}, {Name: "oauth-openshift:6443", Service: network.OAuthService, Port: 6443},
		{Name: "quay.io:443", Kind: network.BackendExternal, Host: "quay.io", Port: 443},
	}}
	seen := map[string]admin.BackendHealth{"kube-apiserver:6443": {}, "oauth-openshift:6443": {}, "quay.io:443": {Endpoints: 2}}
	g := NewWithT(t)
	g.Expect(dark(n, seen)).To(Equal(map[string]bool{"kube-apiserver:6443": true, "oauth-openshift:6443": false, "quay.io:443": true}))
	seen["kube-apiserver:6443"] = admin.BackendHealth{Endpoints: 2, Healthy: 1}
	g.Expect(dark(n, seen)).To(HaveKeyWithValue("kube-apiserver:6443", false))
	delete(seen, "kube-apiserver:6443")
	g.Expect(dark(n, seen)).NotTo(HaveKey("kube-apiserver:6443"), "Envoy does not have it yet")
}

// TestHealthOfBackends: a real Envoy says which endpoints of the API server answer. The metric is as docs/metrics.md has
// it, and a backend without an endpoint that answers is reported.
func TestHealthOfBackends(t *testing.T) {
	g := NewWithT(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	w := newReachWorld(t)
	api := network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}
	n := fakes.Proxied(fakes.Blue(), 6443)
	n.Backends = []network.Backend{api}
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, n)
	source, err := inforce.New(file, inforce.Selection{}, nil, log)
	g.Expect(err).NotTo(HaveOccurred())
	p := &Proxy{Source: source, Server: w.server, Admin: w.admin, Log: log, AccessLog: connlog.NewAccessLog(log, func() network.AccessLog { return "" }), Gate: &gate.Gate{}}
	gatherer := p.Metrics(t.Context())
	endpoints := func() map[string]float64 {
		out := map[string]float64{}
		families, err := gatherer.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			if f.GetName() != "oooi_proxy_backend_endpoints" {
				continue
			}
			for _, m := range f.GetMetric() {
				g.Expect(m.GetLabel()).To(HaveLen(2))
				g.Expect(m.GetLabel()[0].GetName() + "=" + m.GetLabel()[0].GetValue()).To(Equal("backend=" + api.Name))
				out[m.GetLabel()[1].GetName()+"="+m.GetLabel()[1].GetValue()] = m.GetGauge().GetValue()
			}
		}
		return out
	}
	deaf := darkBackend(t)
	w.leadsTo(fakes.RunDir(t), newAPIServer(t).at(), deaf)
	g.Eventually(endpoints, "1m", "20ms").Should(Equal(map[string]float64{"state=healthy": 1, "state=unhealthy": 1}))

	reports := make(chan []string, 100)
	go p.FollowDarkBackends(t.Context(), func(names []string) { reports <- names })
	g.Eventually(reports, "1m").Should(Receive(BeEmpty()))
	w.leadsTo(fakes.RunDir(t), deaf)
	g.Eventually(reports, "1m").Should(Receive(Equal([]string{api.Name})))

	families, err := gatherer.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "oooi_") {
			g.Expect(metrics.Exports("proxy", f.GetName())).To(BeTrue(), f.GetName())
		}
	}
}
