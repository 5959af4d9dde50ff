package health_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	_ "github.com/cldmnky/oooi/test/patience"
)

// TestHealth: an unready server may still serve, and an absent server differs from one
// that answers no.
func TestHealth(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "dhcp.sock")
	g.Expect(health.Away(health.Probe(t.Context(), socket))).To(BeTrue(), "no socket")
	l, err := net.Listen("unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	g.Expect(l.Close()).To(Succeed())
	g.Expect(health.Away(health.Serves(t.Context(), socket))).To(BeTrue(), "the socket of a dead process")
	g.Expect(os.Remove(socket)).To(Succeed())
	g.Expect(os.WriteFile(socket, nil, 0o600)).To(Succeed(), "a regular file in place of the socket")

	var unready, idle atomic.Bool
	no := func(b *atomic.Bool, why string) func() error {
		return func() error {
			if b.Load() {
				return errors.New(why)
			}
			return nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "oooi_x 1\n") })
	go func() {
		ended <- health.Serve(ctx, socket, no(&unready, "the leases are not known yet"), metrics,
			health.Question{Path: health.ServesPath, Why: no(&idle, "no device")})
	}()
	g.Eventually(func() error { return health.Probe(t.Context(), socket) }, "1m").Should(Succeed())
	g.Expect(health.Serves(t.Context(), socket)).To(Succeed())
	unready.Store(true)
	g.Expect(health.Probe(t.Context(), socket)).To(MatchError("not ready: the leases are not known yet"))
	g.Expect(health.Serves(t.Context(), socket)).To(Succeed())
	idle.Store(true)
	err = health.Serves(t.Context(), socket)
	g.Expect(err).To(MatchError("does not serve: no device"))
	g.Expect(health.Away(err)).To(BeFalse())
	cancel()
	g.Expect(<-ended).To(Succeed())
	g.Expect(health.Away(health.Probe(t.Context(), socket))).To(BeTrue())
}

// TestPeerServes: a server without this question does not see the peer.
func TestPeerServes(t *testing.T) {
	g := NewWithT(t)
	var unreachable atomic.Bool
	unreachable.Store(true)
	why := func() error {
		if unreachable.Load() {
			return errors.New("unreachable")
		}
		return nil
	}
	agent, dns := wire.Socket(t.TempDir(), wire.Failover), wire.Socket(t.TempDir(), "dns")
	g.Expect(health.Away(health.At(agent).PeerServes(t.Context()))).To(BeTrue())
	go func() {
		_ = health.Serve(t.Context(), agent, func() error { return nil }, nil, health.Question{Path: health.PeerPath, Why: why})
	}()
	go func() { _ = health.Serve(t.Context(), dns, func() error { return nil }, nil) }()
	g.Eventually(func() error { return health.At(agent).PeerServes(t.Context()) }, "1m").Should(MatchError("the other edge: unreachable"))
	unreachable.Store(false)
	g.Expect(health.At(agent).PeerServes(t.Context())).To(Succeed())
	g.Eventually(func() error { return health.Probe(t.Context(), dns) }, "1m").Should(Succeed())
	g.Expect(health.At(dns).PeerServes(t.Context())).NotTo(Succeed())
}

// TestNotServing: a server without the question does not serve VMs.
func TestNotServing(t *testing.T) {
	g := NewWithT(t)
	socket := wire.Socket(t.TempDir(), wire.Failover)
	go func() { _ = health.Serve(t.Context(), socket, func() error { return nil }, nil) }()
	g.Eventually(func() error { return health.Probe(t.Context(), socket) }, "1m").Should(Succeed())
	g.Expect(health.Serves(t.Context(), socket)).NotTo(Succeed())
}
