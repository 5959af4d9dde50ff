package access

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// hosts are those that a dialer dials. One that does not accept is silent.
type hosts struct {
	at string

	mu             sync.Mutex
	accepts        map[netip.AddrPort]bool
	dials, pending map[netip.AddrPort]int
	most           int
}

func newHosts(t *testing.T) *hosts {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return &hosts{at: l.Addr().String(), accepts: map[netip.AddrPort]bool{}, dials: map[netip.AddrPort]int{}, pending: map[netip.AddrPort]int{}}
}

// of returns that many addresses, of which the first ones accept.
func (h *hosts) of(count, accept int) (out []netip.AddrPort) {
	for i := range count {
		a := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 168, byte(i / 250), byte(i%250 + 1)}), 30080)
		out = append(out, a)
		h.accepts[a] = i < accept
	}
	return out
}

func (h *hosts) dial(ctx context.Context, _ netip.Addr, to netip.AddrPort) (*net.TCPConn, error) {
	h.mu.Lock()
	accepts := h.accepts[to]
	h.dials[to]++
	h.pending[to]++
	all := 0
	for _, n := range h.pending {
		all += n
	}
	h.most = max(h.most, all)
	h.mu.Unlock()
	defer func() { h.mu.Lock(); h.pending[to]--; h.mu.Unlock() }()
	if !accepts {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", h.at)
	if err != nil {
		return nil, err
	}
	return c.(*net.TCPConn), nil
}

// set makes a accept or not.
func (h *hosts) set(a netip.AddrPort, accepts bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accepts[a] = accepts
}

func anyHost(netip.Addr) error { return nil }

// TestOneOfMany: of sixty VMs one accepts, as with a Service that only leads to VMs with a pod of it. It is found in time, further
// connections do not look for it again, and when the pod moves, the other VM is found.
func TestOneOfMany(t *testing.T) {
	g, h := NewWithT(t), newHosts(t)
	all := h.of(60, 1)
	d := &dialer{dial: h.dial}
	open := func() (netip.AddrPort, time.Duration) {
		began := time.Now()
		c, to, err := d.any(t.Context(), netip.Addr{}, all, anyHost)
		took := time.Since(began)
		g.Expect(err).NotTo(HaveOccurred())
		_ = c.Close()
		return to, took
	}
	for _, at := range []int{0, 33, 59} {
		for i := range all {
			h.set(all[i], i == at)
		}
		to, _ := open()
		g.Expect(to).To(Equal(all[at]))
		for range 30 {
			to, took := open()
			g.Expect(to).To(Equal(all[at]))
			g.Expect(took).To(BeNumerically("<", dialNext))
		}
		d.mu.Lock()
		for a, o := range d.known {
			o.at = o.at.Add(-failedFor)
			d.known[a] = o
		}
		d.mu.Unlock()
		_, took := open()
		g.Expect(took).To(BeNumerically("<", dialNext), "the marks of the others have expired")
	}
}

// TestEachGetsConnections: the first VM that accepted does not get all connections.
func TestEachGetsConnections(t *testing.T) {
	g, h := NewWithT(t), newHosts(t)
	all := h.of(10, 9)
	d := &dialer{dial: h.dial}
	got := map[netip.AddrPort]int{}
	g.Eventually(func() map[netip.AddrPort]int {
		c, to, err := d.any(t.Context(), netip.Addr{}, all, anyHost)
		g.Expect(err).NotTo(HaveOccurred())
		_ = c.Close()
		got[to]++
		return got
	}, "10s", "5ms").Should(HaveLen(9))
}

// TestManyCallersDialLittle: callers of a Service whose VMs do not accept do not make an edge dial all of them for each.
func TestManyCallersDialLittle(t *testing.T) {
	g, h := NewWithT(t), newHosts(t)
	all := h.of(300, 0)
	d := &dialer{dial: h.dial}
	const callers = 100
	ctx, cancel := context.WithCancel(t.Context())
	var failed atomic.Int32
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			if _, _, err := d.any(ctx, netip.Addr{}, all, anyHost); err != nil {
				failed.Add(1)
			}
		})
	}
	running.Wait()
	cancel()
	g.Expect(failed.Load()).To(BeEquivalentTo(callers))
	waves := int(dialLimit/dialNext) + 1
	h.mu.Lock()
	most := h.most
	h.mu.Unlock()
	g.Expect(most).To(BeNumerically("<=", callers*waves+maxSpare))
	g.Eventually(func() int { d.mu.Lock(); defer d.mu.Unlock(); return d.spare }, "5s").Should(BeZero())
}
