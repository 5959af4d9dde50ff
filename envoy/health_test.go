package envoy

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// syns are the packets that open a connection.
const syns = "tcp flags & (syn | ack) == syn"

// An endpoint is a pod of its own that serves HTTPS, as an API server does.
type endpoint struct {
	*netns.Namespace
	at netip.AddrPort
	// readyz is the status of /readyz, and served how many connections asked for another path.
	readyz, served atomic.Int32
}

// endpoint starts one at 10.128.0.<host>:7443.
func (w *world) endpoint(t *testing.T, host int) *endpoint {
	t.Helper()
	e := &endpoint{Namespace: netns.New(t), at: netip.MustParseAddrPort(fmt.Sprintf("10.128.0.%d:7443", host))}
	e.readyz.Store(http.StatusOK)
	w.management.Attach(t, e.Namespace, "eth0", "", e.at.Addr().String()+"/24")
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/readyz" {
				w.WriteHeader(int(e.readyz.Load()))
				return
			}
			e.served.Add(1)
		}),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var l net.Listener
	var err error
	e.Do(t, func() { l, err = net.Listen("tcp4", e.at.String()) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	go func() { _ = s.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = s.Close() })
	return e
}

// asks makes n requests from the VM, each with a connection of its own, one every 25 ms. It returns how many failed.
func (w *world) asks(t *testing.T, n int, at, serverName string) (failed int) {
	t.Helper()
	client := &http.Client{Timeout: patient, Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: serverName},
		DialContext: func(ctx context.Context, network, address string) (c net.Conn, err error) {
			w.machine.Do(t, func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
			return c, err
		},
	}}
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range n {
		<-tick.C
		all.Go(func() {
			answer, err := client.Get("https://" + at + "/version")
			if err == nil {
				_ = answer.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
			}
		})
	}
	all.Wait()
	return failed
}

// TestADarkEndpoint: one of two endpoints drops packets that open a connection. Once Envoy has noticed that, no connection to any kind of
// backend fails or is tried there, while Envoy avoids it: for $OOOI_DARK, or for a few seconds. With $OOOI_DARK, Envoy notices it within 4
// s.
func TestADarkEndpoint(t *testing.T) {
	const every = 25 * time.Millisecond
	connections, known := int(4*time.Second/every), func(time.Duration) time.Duration { return patient }
	if length, err := time.ParseDuration(os.Getenv("OOOI_DARK")); err == nil { // and nothing else runs on the machine
		connections, known = int(length/every), func(gone time.Duration) time.Duration { return max(time.Second, 4*time.Second-gone) }
	}
	for _, c := range []struct{ backend, port, serverName string }{
		{api.Name, "6443", ""},
		{oauth.Name, "443", "oauth.blue.example.com"},
		{images.Name, "443", imageHost},
	} {
		t.Run(c.backend, func(t *testing.T) {

			g := NewWithT(t)
			w := newWorld(t)
			good, dark := w.endpoint(t, 21), w.endpoint(t, 22)
			behind := pods()
			behind[c.backend] = []netip.AddrPort{good.at, dark.at}
			w.serves(t, with(imageHost, images), behind)
			if c.backend == oauth.Name {
				w.serves(t, blue(), behind)
			}
			g.Eventually(func() int32 {
				g.Expect(w.asks(t, 2, onVLAN+":"+c.port, c.serverName)).To(BeZero(), "before")
				return dark.served.Load()
			}, patient).ShouldNot(BeZero())

			pass := w.management.DropTo(t, dark.Namespace, "eth0", syns)
			began := time.Now()
			t.Logf("in the first 3 s, of 120 connections %d failed", w.asks(t, 120, onVLAN+":"+c.port, c.serverName))
			g.Eventually(func() (admin.BackendHealth, error) {
				w.asks(t, 1, onVLAN+":"+c.port, c.serverName)
				if w.healthy(t, c.backend, dark.at) {
					return admin.BackendHealth{}, nil
				}
				return w.health(t, c.backend)
			}, known(time.Since(began)), "20ms").Should(Equal(admin.BackendHealth{Endpoints: 2, Healthy: 1}))
			const batch = 20
			for range connections / batch {
				allowed, tried := w.mayTry(t, c.backend), w.tried(t, c.backend, dark.at)
				g.Expect(w.asks(t, batch, onVLAN+":"+c.port, c.serverName)).To(BeZero(), "failed")
				after := w.tried(t, c.backend, dark.at)
				if w.mayTry(t, c.backend) == allowed {
					g.Expect(after).To(Equal(tried), "no connection waits for an endpoint that is known to be dark")
				}
			}

			pass()
			before, passed := dark.served.Load(), time.Now()
			g.Eventually(func() int32 { w.asks(t, 2, onVLAN+":"+c.port, c.serverName); return dark.served.Load() }, patient).
				Should(BeNumerically(">", before), "it is used again")
			t.Logf("it is used again after %s", time.Since(passed).Round(100*time.Millisecond))
		})
	}
}

// mayTry changes when Envoy may dial an endpoint of a backend that it knows to be bad: its time to be avoided is over, or no other
// endpoint is healthy. The latter happens to API servers whose checks are late.
func (w *world) mayTry(t *testing.T, backend string) (counts [3]string) {
	t.Helper()
	stats := "cluster." + strings.ReplaceAll(resources.ClusterName(network.Backend{Name: backend}), ":", "_") + "."
	counts[0] = w.counter(t, stats+"lb_healthy_panic")
	if backend != api.Name { // The endpoints of the API server are checked, so no connection has to find out.
		counts[1], counts[2] = w.counter(t, stats+"outlier_detection.ejections_enforced_total"), w.counter(t, stats+"outlier_detection.ejections_active")
	}
	return counts
}

// tried is how many connections Envoy opened to an endpoint for VMs. Its own checks do not count.
func (w *world) tried(t *testing.T, backend string, at netip.AddrPort) string {
	t.Helper()
	return w.knows(t, backend, at, "cx_total")
}

// healthy is whether Envoy dials an endpoint.
func (w *world) healthy(t *testing.T, backend string, at netip.AddrPort) bool {
	t.Helper()
	return w.knows(t, backend, at, "health_flags") == "healthy"
}

// knows is one of the values that Envoy has of an endpoint.
func (w *world) knows(t *testing.T, backend string, at netip.AddrPort, name string) string {
	t.Helper()
	b := w.get(t, "/clusters")
	prefix := fmt.Sprintf("%s::%s::%s::", resources.ClusterName(network.Backend{Name: backend}), at, name)
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return value
		}
	}
	t.Fatalf("Envoy has no endpoint %s:\n%s", prefix, b)
	return ""
}

// health is what Envoy knows about the endpoints of a backend.
func (w *world) health(t *testing.T, backend string) (admin.BackendHealth, error) {
	t.Helper()
	all, err := w.admin.BackendHealth(t.Context(), []network.Backend{{Name: backend}})
	return all[backend], err
}

// TestReadiness: an API server that is not ready is avoided, unless none is ready. One that refuses anonymous clients counts as ready.
func TestReadiness(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	all := []*endpoint{w.endpoint(t, 21), w.endpoint(t, 22)}
	behind := pods()
	behind[api.Name] = []netip.AddrPort{all[0].at, all[1].at}
	w.serves(t, blue(), behind)
	for _, c := range []struct {
		readyz        []int32
		healthy, used []bool
	}{
		{[]int32{200, 200}, []bool{true, true}, []bool{true, true}},
		{[]int32{500, 200}, []bool{false, true}, []bool{false, true}},
		{[]int32{500, 500}, []bool{false, false}, []bool{true, true}},
		{[]int32{500, 503}, []bool{false, false}, []bool{true, true}},
		{[]int32{403, 500}, []bool{true, false}, []bool{true, false}},
		{[]int32{403, 401}, []bool{true, true}, []bool{true, true}},
	} {
		for i, e := range all {
			e.readyz.Store(c.readyz[i])
		}
		g.Eventually(func() []bool { return []bool{w.healthy(t, api.Name, all[0].at), w.healthy(t, api.Name, all[1].at)} }, patient, "20ms").
			Should(Equal(c.healthy), "%v", c.readyz)
		g.Eventually(func() []bool {
			allowed, used := w.mayTry(t, api.Name), make([]bool, len(all))
			for _, e := range all {
				e.served.Store(0)
			}
			g.Expect(w.asks(t, 8, onVLAN+":6443", "")).To(BeZero(), "%v", c.readyz)
			for i, e := range all {
				used[i] = e.served.Load() > 0
			}
			if w.mayTry(t, api.Name) == allowed {
				g.Expect(used[0] && !c.used[0] || used[1] && !c.used[1]).To(BeFalse(), "%v: %v", c.readyz, used)
			}
			return used
		}, patient).Should(Equal(c.used), "%v", c.readyz)
	}
}

// TestTheLastEndpoint: the last endpoint is dialed even if Envoy counts it as unhealthy. VMs are served as soon as it answers again.
func TestTheLastEndpoint(t *testing.T) {
	for _, c := range []struct{ backend, port, serverName string }{{api.Name, "6443", ""}, {oauth.Name, "443", "oauth.blue.example.com"}} {
		g := NewWithT(t)
		w := newWorld(t)
		only := w.endpoint(t, 21)
		behind := pods()
		behind[c.backend] = []netip.AddrPort{only.at}
		w.serves(t, blue(), behind)
		pass := w.management.DropTo(t, only.Namespace, "eth0", syns)
		g.Eventually(func() (admin.BackendHealth, error) {
			w.asks(t, 1, onVLAN+":"+c.port, c.serverName)
			return w.health(t, c.backend)
		}, patient, "20ms").Should(Satisfy(admin.BackendHealth.Dark))
		pass()
		g.Expect(w.asks(t, 4, onVLAN+":"+c.port, c.serverName)).To(BeZero())
	}
}
