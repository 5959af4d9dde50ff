package agent

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/fakes"
)

// TestFailoverReports the state of its peer as soon as that is known, and
// whether announcements work.
func TestFailoverReports(t *testing.T) {
	g := NewWithT(t)
	written := make(chan string, 10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
			return
		}
		b, _ := io.ReadAll(r.Body)
		written <- string(b)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(b)
	}))
	t.Cleanup(api.Close)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	kube, err := kube.New(&rest.Config{Host: api.URL}, "clusters-blue", "", log)
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, fakes.Blue())
	source, err := inforce.New(file, inforce.Selection{Edge: 2}, nil, log)
	g.Expect(err).NotTo(HaveOccurred())
	// The agent has no token: another container writes what it stores.
	between := filepath.Join(t.TempDir(), wire.ReportFile)
	k := &Failover{Source: source, Log: log, view: view{report: reported.EdgeReport{Edge: 2}}, Report: sharedfiles.NewReportFile(between, log).Set}
	k.Metrics = NewFailoverMetrics(prometheus.NewRegistry(), k.Ready)
	reporter := kube.Reporter(wire.ReportLease{Name: "oooi-report.x", Edge: 2})
	go reporter.Run(t.Context())
	go sharedfiles.FollowReport(t.Context(), between, reporter.Set, log)

	k.degraded(fmt.Errorf("checking: %w", &failover.IgnoredError{ARPAnnounce: 2, Source: netip.MustParseAddr("192.168.100.5")}))
	k.changed(failover.State{PeerState: failover.Unknown})
	g.Expect(between).NotTo(BeAnExistingFile(), "it knows nothing of its peer yet")
	k.changed(failover.State{PeerState: failover.PeerUnreachable})
	first := ""
	g.Eventually(written, "1m").Should(Receive(&first))
	g.Expect(first).To(And(ContainSubstring(`"edge":2`), ContainSubstring(`"peer":"unreachable"`), ContainSubstring(`"degraded":{"cause":"FailoverAnnouncementIgnored","arpAnnounce":2,"source":"192.168.100.5"}`)))
	k.degraded(nil)
	g.Eventually(written, "1m").Should(Receive(Not(ContainSubstring("degraded"))))
}

// TestWhatTheKernelBelieves: an edge reports it as long as it is so, and serves.
func TestWhatTheKernelBelieves(t *testing.T) {
	g := NewWithT(t)
	e := fakes.NewEdge(t)
	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, fakes.Blue())
	source, err := inforce.New(file, inforce.Selection{Edge: 2}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	f := &Failover{Interface: serving.Interface{Name: "net1", InPod: true}, Source: source, Servers: NewServers(t.TempDir()), Log: slog.New(slog.DiscardHandler)}
	forged, redirects := problem.EdgeAnswersForgedSources, problem.EdgeTakesForgedRedirects
	for _, x := range []struct {
		rpFilter, all, own string
		believes           []problem.Cause
	}{
		{"0", "0", "0", []problem.Cause{forged}}, {"1", "1", "1", nil}, {"2", "0", "0", []problem.Cause{forged}},
		{"2", "1", "0", []problem.Cause{forged, redirects}}, {"2", "0", "1", []problem.Cause{forged, redirects}},
	} {
		e.Sysctl(t, "net/ipv4/conf/net1/rp_filter", x.rpFilter)
		e.Sysctl(t, "net/ipv4/conf/all/accept_redirects", x.all)
		e.Sysctl(t, "net/ipv4/conf/net1/accept_redirects", x.own)
		e.Do(t, f.look)
		g.Expect(f.view.report.Believes).To(Equal(x.believes), "%+v", x)
	}
	e.Sysctl(t, "net/ipv4/conf/net1/rp_filter", "1")
	e.Run(t, "ip", "-6", "route", "add", "2001:db8::/64", "dev", "net1")
	e.Run(t, "ip", "address", "add", "fd00:1::2/64", "dev", "eth0", "nodad")
	e.Do(t, func() {
		f.look()
		g.Expect(f.Interface.Admissible(netip.IPv4Unspecified())).To(Succeed(), "a VM can't end service")
	})
	g.Expect(f.view.report.Believes).To(Equal([]problem.Cause{problem.EdgeAnswersForgedIPv6Sources, problem.EdgeHasAdvertisedRoute}))
	f.Interface.InPod = false
	e.Do(t, f.look)
	g.Expect(f.view.report.Believes).To(BeEmpty(), "a host's settings are not ours")
}
