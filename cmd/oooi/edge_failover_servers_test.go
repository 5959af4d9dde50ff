package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// A tiny is the health of one server of an edge, which can be ended, begun anew
// and told what to say.
type tiny struct {
	t      *testing.T
	socket string
	stop   context.CancelFunc
	ended  chan struct{}
	mu     sync.Mutex
	err    error
}

func newTiny(t *testing.T, dir, name string) *tiny {
	s := &tiny{t: t, socket: wire.Socket(dir, name)}
	s.begin()
	t.Cleanup(s.end)
	return s
}

func (s *tiny) begin() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.stop, s.ended = stop, ended
	go func() {
		defer close(ended)
		if err := edge.ServeHealth(ctx, s.socket, s.why, s.why, nil); err != nil {
			s.t.Error(err)
		}
	}()
	NewWithT(s.t).Eventually(func() bool { return edge.Away(edge.Serves(ctx, s.socket)) }).Should(BeFalse())
}

func (s *tiny) end() {
	s.stop()
	<-s.ended
}

func (s *tiny) say(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *tiny) why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

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

// shortDir is a directory whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oooi-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestAnEdgeServesWhileAllItsServersDo, and a short restart moves no machine.
func TestAnEdgeServesWhileAllItsServersDo(t *testing.T) {
	g := NewWithT(t)
	dir := shortDir(t)
	n := network.Network{Services: []network.Service{network.ServiceDHCP, network.ServiceDNS}}
	s := newEdgeServers(dir, envoy.NewAdmin(dir))
	why := func() error { return s.why(n) }
	g.Expect(why()).To(MatchError(And(ContainSubstring("dhcp: "), ContainSubstring("dns: "))), "they have not begun")
	dhcp, dns := newTiny(t, dir, "dhcp"), newTiny(t, dir, "dns")
	g.Expect(why()).To(Succeed())
	began := time.Now()
	dns.end()
	g.Expect(why()).To(Succeed(), "a restart")
	g.Eventually(why, "10s", "50ms").Should(MatchError(HavePrefix("dns: ")))
	g.Expect(time.Since(began)).To(BeNumerically(">=", serverRestartsWithin))
	dns.begin()
	g.Expect(why()).To(Succeed())
	dhcp.say(errors.New("no such device"))
	g.Eventually(why, "10s", "50ms").Should(MatchError("dhcp: does not serve: no such device"))
	dhcp.say(nil)
	g.Expect(why()).To(Succeed())
}

// TestEnvoyServesWithoutProxy: while `oooi proxy` is away Envoy is asked; its own
// end, and what proxy says, count at once.
func TestEnvoyServesWithoutProxy(t *testing.T) {
	g := NewWithT(t)
	dir := shortDir(t)
	file := dir + "/plan.json"
	proxied(t, file, 6443, 7443)
	source, err := edge.NewSource(file, edge.Selection{}, nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	s := newEdgeServers(dir, envoy.NewAdmin(dir))
	why := func() error { return s.why(source.Current().Network) }
	g.Expect(why()).To(MatchError(ContainSubstring("Envoy does not answer")))
	fake := fakeEnvoy(t, dir, `{"name":"192.168.100.3:7443"}`)
	g.Expect(why()).To(Succeed(), "nobody tells it to close what it has")
	proxy := newTiny(t, dir, "proxy")
	g.Expect(why()).To(Succeed())
	proxy.say(errors.New("Envoy is DRAINING"))
	g.Expect(why()).To(MatchError("proxy: does not serve: Envoy is DRAINING"))
	proxy.end()
	g.Expect(why()).To(Succeed())
	g.Expect(fake.Close()).To(Succeed())
	g.Expect(why()).To(MatchError(ContainSubstring("Envoy does not answer")))
	fakeEnvoy(t, dir, "")
	g.Expect(why()).To(MatchError(ContainSubstring("listens on none of 192.168.100.3:6443, 192.168.100.3:7443")), "an Envoy just born")
}
