package agent

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
)

// fakeEnvoy answers as Envoy's admin socket does, until it is shut.
func fakeEnvoy(t *testing.T, dir, listeners string) *http.Server {
	t.Helper()
	return anEnvoy(t, dir, listeners, new(sync.Mutex))
}

// slowEnvoy is one that does not answer while the lock is held.
func slowEnvoy(t *testing.T, dir, listeners string) *sync.Mutex {
	t.Helper()
	answers := new(sync.Mutex)
	anEnvoy(t, dir, listeners, answers)
	return answers
}

func anEnvoy(t *testing.T, dir, listeners string, answers *sync.Mutex) *http.Server {
	t.Helper()
	l, err := net.Listen("unix", envoy.AdminSocket(dir))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("LIVE\n")) })
	mux.HandleFunc("/listeners", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"listener_statuses":[` + listeners + `]}`))
	})
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers.Lock()
		defer answers.Unlock()
		mux.ServeHTTP(w, r)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// follow follows the servers in dir, and says why not all of n's serve.
func follow(t *testing.T, dir string, n network.Network) func() error {
	t.Helper()
	s := NewServers(dir)
	go s.Follow(t.Context(), func() network.Network { return n }, nil)
	return func() error { return s.Err(n) }
}

// TestAnEdgeServesWhileAllItsServersDo: a short restart of a server does not cause a
// failover.
func TestAnEdgeServesWhileAllItsServersDo(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	n := network.Network{Services: []network.Service{network.ServiceDHCP, network.ServiceDNS}}
	why := follow(t, dir, n)
	g.Expect(why()).To(MatchError(And(ContainSubstring("dhcp: "), ContainSubstring("dns: "))), "they have not begun")
	dhcp, dns := fakes.NewServer(t, dir, "dhcp"), fakes.NewServer(t, dir, "dns")
	g.Eventually(why, "5s", "10ms").Should(Succeed())
	began := time.Now()
	dns.End()
	g.Expect(why()).To(Succeed(), "a restart")
	g.Eventually(why, "10s", "50ms").Should(MatchError(HavePrefix("dns: ")))
	g.Expect(time.Since(began)).To(BeNumerically(">=", restartLimit))
	dns.Start()
	g.Eventually(why, "5s", "10ms").Should(Succeed())
	dhcp.Say(errors.New("no such device"))
	began = time.Now()
	g.Eventually(why, "10s", "50ms").Should(MatchError("dhcp: does not serve: no such device"))
	g.Expect(time.Since(began)).To(BeNumerically(">=", restartLimit))
	dhcp.Say(nil)
	g.Eventually(why, "5s", "10ms").Should(Succeed())
}

// TestEnvoyServesWithoutProxy: while `oooi proxy` is away Envoy is asked; its own
// end, and what proxy says, count at once.
func TestEnvoyServesWithoutProxy(t *testing.T) {
	g := NewWithT(t)
	dir := fakes.RunDir(t)
	file := dir + "/plan.json"
	planned(t, file, proxied(blue(), 6443, 7443))
	source, err := edge.NewSource(file, edge.Selection{}, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	why := follow(t, dir, source.Current().Network)
	// At once is far below a second, in which what is not pushed would be noticed.
	const atOnce = "700ms"
	g.Eventually(why, "5s", "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	fake := fakeEnvoy(t, dir, `{"name":"192.168.100.3:7443"}`)
	g.Eventually(why, "5s", "10ms").Should(Succeed(), "nobody tells it to close what it has")
	proxy := fakes.NewServer(t, dir, "proxy")
	g.Consistently(why, "1s", "10ms").Should(Succeed())
	proxy.Say(errors.New("Envoy is DRAINING"))
	g.Eventually(why, atOnce, "10ms").Should(MatchError("proxy: does not serve: Envoy is DRAINING"))
	proxy.End()
	g.Eventually(why, "5s", "10ms").Should(Succeed())
	g.Expect(fake.Close()).To(Succeed())
	g.Eventually(why, atOnce, "10ms").Should(MatchError(ContainSubstring("Envoy does not answer")))
	fakeEnvoy(t, dir, "")
	g.Eventually(why, "5s", "10ms").Should(MatchError(ContainSubstring("listens on none of 192.168.100.3:6443, 192.168.100.3:7443")), "an Envoy just born")
}
