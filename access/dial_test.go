// This file tests dials on a played clock: a host accepts or refuses in no time, or is silent.

package access

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// hosts are those that a dialer dials. One that neither accepts nor refuses is silent.
type hosts struct {
	mu             sync.Mutex
	accepts        map[netip.AddrPort]bool
	refuses        netip.AddrPort
	dials, pending map[netip.AddrPort]int
	most           int
}

func newHosts() *hosts {
	return &hosts{accepts: map[netip.AddrPort]bool{}, dials: map[netip.AddrPort]int{}, pending: map[netip.AddrPort]int{}}
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
	accepts, refuses := h.accepts[to], h.refuses == to
	h.dials[to]++
	h.pending[to]++
	all := 0
	for _, n := range h.pending {
		all += n
	}
	h.most = max(h.most, all)
	h.mu.Unlock()
	defer func() { h.mu.Lock(); h.pending[to]--; h.mu.Unlock() }()
	switch {
	case accepts:
		return &net.TCPConn{}, nil
	case refuses:
		return nil, syscall.ECONNREFUSED
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// set makes a accept or not.
func (h *hosts) set(a netip.AddrPort, accepts bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.accepts[a] = accepts
}

func anyHost(netip.Addr) error { return nil }

// connected is a connection to one of all, and how long the dialer took.
func connected(t *testing.T, d *dialer, all []netip.AddrPort) (to netip.AddrPort, took time.Duration) {
	t.Helper()
	began := time.Now()
	_, to, err := d.any(t.Context(), netip.Addr{}, all, anyHost)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return to, time.Since(began)
}

// TestDelays: an address that is silent delays a caller by a quarter of a second once, one that refuses not at all, and if all are
// silent, it is over after three seconds.
func TestDelays(t *testing.T) { synctest.Test(t, delays) }

func delays(t *testing.T) {
	defer func() { <-time.After(dialNext) }() // As long as a dial that finds out about one more address.
	g, h := NewWithT(t), newHosts()
	all := h.of(2, 1)
	d, slow := &dialer{dial: h.dial, limit: dialLimit}, 0
	for range 20 {
		to, took := connected(t, d, all)
		g.Expect(to).To(Equal(all[0]))
		if took > 0 {
			g.Expect(took).To(Equal(dialNext))
			slow++
		}
	}
	g.Expect(slow).To(BeNumerically("<=", 1))
	h.refuses = all[1]
	for range 20 {
		_, took := connected(t, &dialer{dial: h.dial, limit: dialLimit}, all)
		g.Expect(took).To(BeZero())
	}
	h.refuses = netip.AddrPort{}
	h.set(all[0], false)
	began := time.Now()
	_, _, err := d.any(t.Context(), netip.Addr{}, all, anyHost)
	g.Expect(err).To(MatchError("no answer within 3s"))
	g.Expect(time.Since(began)).To(Equal(dialLimit))
}

// TestOneOfMany: of sixty VMs one accepts, as with a Service that only VMs with one of its pods serve. It is found in time, further
// connections do not look for it again, and when the pod moves, the other VM is found.
func TestOneOfMany(t *testing.T) { synctest.Test(t, oneOfMany) }

func oneOfMany(t *testing.T) {
	defer func() { <-time.After(dialNext) }() // As long as a dial that finds out about one more address.
	g, h := NewWithT(t), newHosts()
	all := h.of(60, 1)
	d := &dialer{dial: h.dial, limit: dialLimit}
	for _, at := range []int{0, 33, 59} {
		for i := range all {
			h.set(all[i], i == at)
		}
		to, _ := connected(t, d, all)
		g.Expect(to).To(Equal(all[at]))
		for range 30 {
			to, took := connected(t, d, all)
			g.Expect(to).To(Equal(all[at]))
			g.Expect(took).To(BeZero())
		}
		<-time.After(failedFor)
		_, took := connected(t, d, all)
		g.Expect(took).To(BeZero(), "the marks of the others have expired")
	}
}

// TestEachGetsConnections: the first VM that accepted does not get all connections.
func TestEachGetsConnections(t *testing.T) { synctest.Test(t, eachGetsConnections) }

func eachGetsConnections(t *testing.T) {
	defer func() { <-time.After(dialNext) }() // As long as a dial that finds out about one more address.
	g, h := NewWithT(t), newHosts()
	all := h.of(10, 9)
	d := &dialer{dial: h.dial, limit: dialLimit}
	got := map[netip.AddrPort]int{}
	for range 2000 {
		to, _ := connected(t, d, all)
		got[to]++
		<-time.After(5 * time.Millisecond)
	}
	g.Expect(got).To(HaveLen(9))
}

// TestManyCallersDialLittle: callers of a Service whose VMs do not accept do not make an edge dial all of them for each.
func TestManyCallersDialLittle(t *testing.T) { synctest.Test(t, manyCallersDialLittle) }

func manyCallersDialLittle(t *testing.T) {
	g, h := NewWithT(t), newHosts()
	all := h.of(300, 0)
	d := &dialer{dial: h.dial, limit: dialLimit}
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
	synctest.Wait()
	g.Expect(d.spare).To(BeZero())
}
