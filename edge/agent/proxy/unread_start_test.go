package proxy

import (
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent/connlog"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/loopback"
)

// An unreadKernel shows nothing until it is read.
type unreadKernel struct {
	mu      sync.Mutex
	now     device.Snapshot
	err     error
	changed chan struct{}
	asked   atomic.Int32
}

func (k *unreadKernel) Current() (device.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked.Add(1)
	return k.now, k.err
}

func (k *unreadKernel) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

func (k *unreadKernel) reads() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.err = device.Snapshot{Addresses: []netip.Prefix{netip.MustParsePrefix(fakes.BlueService + "/32")}}, nil
	close(k.changed)
	k.changed = make(chan struct{})
}

// TestAProxyThatStartsClosesNothingUnread: an Envoy serves when its proxy starts again, and the kernel does not report what it
// has at first. Envoy keeps its listeners, so VMs are served. The edge is not ready, and says why.
func TestAProxyThatStartsClosesNothingUnread(t *testing.T) {
	g := NewWithT(t)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	n := fakes.Proxied(fakes.Blue(), loopback.Reserve(t).Port())

	w := newReachWorld(t)
	w.server.Serve(resources.New(n, resources.Options{}, nil))
	g.Eventually(w.server.Accepted, "1m").Should(Succeed())
	g.Expect(w.admin.Serves(t.Context(), listenerNames(n))).To(Succeed())

	file := filepath.Join(t.TempDir(), "plan.json")
	fakes.Planned(t, file, n)
	source, err := inforce.New(file, inforce.Selection{}, nil, log)
	g.Expect(err).NotTo(HaveOccurred())
	backends, err := backends.New(t.Context(), nil, nil, "", log)
	g.Expect(err).NotTo(HaveOccurred())
	kernel := &unreadKernel{err: errors.New("netlink: no buffer space available"), changed: make(chan struct{})}
	p := Proxy{
		Interface: serving.Interface{Name: "lo", Watcher: kernel}, Source: source, Backends: backends, Server: w.server, Admin: w.admin, Log: log,
		Gate: &gate.Gate{}, AccessLog: connlog.NewAccessLog(log, func() network.AccessLog { return "" }),
	}
	p.Metrics(t.Context())
	go func() { _ = p.Run(t.Context()) }()
	for i := range 4 {
		g.Eventually(kernel.asked.Load, "1m").Should(BeNumerically(">", i), "it asks again")
		g.Expect(w.server.Accepted()).To(Succeed())
		g.Expect(w.admin.Serves(t.Context(), listenerNames(n))).To(Succeed(), "its listeners stay open")
	}
	g.Eventually(p.Serving.Err, "1m").Should(Succeed(), "VMs are served")
	g.Expect(p.Status.Err()).To(MatchError(ContainSubstring("no buffer space")))

	kernel.reads()
	g.Eventually(p.Status.Err, "1m").Should(Succeed())
	g.Expect(p.Serving.Err()).To(Succeed())
}
