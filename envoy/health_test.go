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

// TestADarkEndpoint: one of two endpoints drops what opens a connection. Once Envoy knows it, no connection fails or is
// tried there, of no kind of backend, as long as Envoy avoids it, for $OOOI_DARK or for a few seconds. With $OOOI_DARK, Envoy
// knows it within 4 s.
func TestADarkEndpoint(t *testing.T) {
	const every = 25 * time.Millisecond
	connections, known := int(4*time.Second/every), patient
	if length, err := time.ParseDuration(os.Getenv("OOOI_DARK")); err == nil { // and nothing else runs on the machine
		connections, known = int(length/every), 4*time.Second
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
			g.Expect(w.asks(t, 20, onVLAN+":"+c.port, c.serverName)).To(BeZero(), "before")
			g.Expect(dark.served.Load()).NotTo(BeZero())

			pass := w.management.DropTo(t, dark.Namespace, "eth0", syns)
			began := time.Now()
			t.Logf("in the first 3 s, of 120 connections %d failed", w.asks(t, 120, onVLAN+":"+c.port, c.serverName))
			g.Eventually(func() (admin.BackendHealth, error) { return w.health(t, c.backend) }, max(time.Second, known-time.Since(began)), "20ms").
				Should(Equal(admin.BackendHealth{Endpoints: 2, Healthy: 1}))
			const batch = 20
			for range connections / batch {
				avoided, tried := w.avoided(t, c.backend), w.tried(t, c.backend, dark.at)
				g.Expect(w.asks(t, batch, onVLAN+":"+c.port, c.serverName)).To(BeZero(), "failed")
				after := w.tried(t, c.backend, dark.at)
				if w.avoided(t, c.backend) == avoided { // Otherwise its time was over, and a connection was to find out.
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

// avoided is how often Envoy began to avoid endpoints of a backend, and how many it avoids now. Those of the API server are
// checked, so none has to find out.
func (w *world) avoided(t *testing.T, backend string) (counts [2]string) {
	t.Helper()
	if backend == api.Name {
		return counts
	}
	stats := "cluster." + strings.ReplaceAll(resources.ClusterName(network.Backend{Name: backend}), ":", "_") + ".outlier_detection."
	return [2]string{w.counter(t, stats+"ejections_enforced_total"), w.counter(t, stats+"ejections_active")}
}

// tried is how many connections Envoy opened to an endpoint for VMs. Its own checks do not count.
func (w *world) tried(t *testing.T, backend string, at netip.AddrPort) string {
	t.Helper()
	b := w.get(t, "/clusters")
	prefix := fmt.Sprintf("%s::%s::cx_total::", resources.ClusterName(network.Backend{Name: backend}), at)
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return n
		}
	}
	t.Fatalf("Envoy has no endpoint %s:\n%s", prefix, b)
	return ""
}

// health is what Envoy knows of the endpoints of a backend.
func (w *world) health(t *testing.T, backend string) (admin.BackendHealth, error) {
	t.Helper()
	all, err := w.admin.BackendHealth(t.Context(), []network.Backend{{Name: backend}})
	return all[backend], err
}

// TestReadiness: an API server that is not ready is avoided, unless none is. One that refuses anonymous
// clients is ready.
func TestReadiness(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	first, second := w.endpoint(t, 21), w.endpoint(t, 22)
	behind := pods()
	behind[api.Name] = []netip.AddrPort{first.at, second.at}
	w.serves(t, blue(), behind)
	for _, c := range []struct {
		first, second int32
		healthy       int
		used          []bool
	}{
		{200, 200, 2, []bool{true, true}},
		{500, 200, 1, []bool{false, true}},
		{500, 500, 0, []bool{true, true}},
		{500, 503, 0, []bool{true, true}},
		{403, 500, 1, []bool{true, false}},
		{403, 401, 2, []bool{true, true}},
	} {
		first.readyz.Store(c.first)
		second.readyz.Store(c.second)
		g.Eventually(func() (admin.BackendHealth, error) { return w.health(t, api.Name) }, patient, "20ms").
			Should(Equal(admin.BackendHealth{Endpoints: 2, Healthy: c.healthy}), "%d and %d", c.first, c.second)
		first.served.Store(0)
		second.served.Store(0)
		g.Expect(w.asks(t, 8, onVLAN+":6443", "")).To(BeZero(), "%d and %d", c.first, c.second)
		g.Expect([]bool{first.served.Load() > 0, second.served.Load() > 0}).To(Equal(c.used), "%d and %d", c.first, c.second)
	}
}

// TestTheLastEndpoint is dialed whatever Envoy knows of it, and as soon as it answers again, VMs are served.
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
