package envoy

import (
	"context"
	"testing"

	servicev3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc"

	listening "github.com/cldmnky/oooi/envoy/listen"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// TestANewServerStartsInSteps: while no server runs, a name moves to another backend, and the previous backend is removed. All connections
// that VMs open while the new server sends this to Envoy work.
func TestANewServerStartsInSteps(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.serves(t, blue(), pods())
	n, behind := blue(), pods()
	for range 10 {
		w.stopServer()
		g.Eventually(func() string { return w.counter(t, "control_plane.connected_state") }, patient).Should(Equal("0"))
		if len(n.Backends) == len(blue().Backends) {
			n = moved()
		} else {
			n = blue()
		}
		w.startServer(t)
		w.server.Serve(resources.New(n, w.options(), behind))
		for done := false; !done; {
			done = w.server.Accepted() == nil
			u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.conn.Close()).To(Succeed()) // All that are open count to the share of this VM.
		}
	}
	u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(u.hello).To(HavePrefix("oauth"))
}

// A waitingGate reports each question, and allows the connection when answers is closed. It has no limits for a VM.
type waitingGate struct {
	servicev3.UnimplementedRateLimitServiceServer
	asked, answers chan struct{}
}

func (g waitingGate) ShouldRateLimit(ctx context.Context, _ *servicev3.RateLimitRequest) (*servicev3.RateLimitResponse, error) {
	g.asked <- struct{}{}
	select {
	case <-g.answers:
	case <-ctx.Done():
	}
	return &servicev3.RateLimitResponse{OverallCode: servicev3.RateLimitResponse_OK}, nil
}

// TestAConnectionThatBeganBeforeAMove: a VM's connection waits for the Gate while its name moves to another backend. It gets the previous
// backend, which is removed from Envoy later.
func TestAConnectionThatBeganBeforeAMove(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t)
	w.stopGate()
	gate := waitingGate{asked: make(chan struct{}, 1), answers: make(chan struct{})}
	l := listen(t, w.dirs.Gate())
	go func() {
		_ = listening.Serve(t.Context(), l, listening.MaxThreads, func(s *grpc.Server) { servicev3.RegisterRateLimitServiceServer(s, gate) })
	}()
	w.serves(t, blue(), pods())
	w.server.SetAsked(100)
	g.Eventually(func() string { return w.runtime(t, askedKey) }, patient, "5ms").Should(Equal("100"))
	var says string
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var u *tunnel
		u, err = w.dial(t, onVLAN+":443", "oauth.blue.example.com")
		says = u.says()
	}()
	<-gate.asked
	n := moved()
	w.server.Serve(resources.New(n, w.options(), pods()))
	g.Eventually(w.server.Accepted, patient, "1ms").Should(Succeed())
	n.Backends = append(n.Backends, other)
	n.Listeners = append(n.Listeners, network.Listener{Address: service, Port: otherPort, Default: other.Name})
	w.serves(t, n, pods()) // What Envoy may lose before this it has lost now.
	close(gate.answers)
	<-ended
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(says).To(HavePrefix("oauth"))
	g.Eventually(func() string { return w.counter(t, "cluster_manager.cluster_removed") }, patient).Should(Equal("1"))
}
