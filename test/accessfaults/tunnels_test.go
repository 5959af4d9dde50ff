// This file holds the tunnels that faults happen to, and what each sees.

package accessfaults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access/dial"
)

const (
	// each is how many tunnels run through each edge. A caller may have 64.
	each = 50
	// pause is between two round trips of a tunnel, tries how long a caller waits for an edge before it tries the other one, and
	// retry its pause between two tunnels.
	pause, tries, retry = 20 * time.Millisecond, time.Second, 20 * time.Millisecond
)

// dial opens a tunnel through an edge to a port of the VM.
func (w *world) dial(ctx context.Context, t *testing.T, edge, port int) (net.Conn, error) {
	d := dial.Dialer{Proxy: fmt.Sprintf("%s:%d", edgeOnPods(edge), accessPort), Token: w.token, Forward: func(ctx context.Context, _, address string) (c net.Conn, err error) {
		w.pod.Do(t, func() { c, err = new(net.Dialer).DialContext(ctx, "tcp4", address) })
		return c, err
	}}
	return d.DialContext(ctx, "tcp", fmt.Sprintf("%s:%d", vmName, port))
}

// opens opens one tunnel through an edge, with one byte and its answer.
func (w *world) opens(t *testing.T, edge int) error {
	ctx, cancel := context.WithTimeout(t.Context(), tries)
	defer cancel()
	c, err := w.dial(ctx, t, edge, keptPort)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(tries))
	return trip(c)
}

// trip sends one byte and waits for it.
func trip(c net.Conn) error {
	b := []byte{1}
	if _, err := c.Write(b); err != nil {
		return err
	}
	_, err := io.ReadFull(c, b)
	return err
}

// A tunnel is one that runs until it ends or the test stops it.
type tunnel struct {
	edge, port int
	conn       net.Conn

	mu sync.Mutex
	// trips counts the answers. last is the last one, longest the longest time between two.
	trips   int
	last    time.Time
	longest time.Duration
	// ended is when it ended, and how. Zero: it lives.
	ended time.Time
	how   string
}

// run makes round trips until the tunnel ends.
func (x *tunnel) run() {
	x.last = time.Now()
	for {
		err := trip(x.conn)
		x.mu.Lock()
		now := time.Now()
		if err != nil {
			x.ended, x.how = now, ending(err)
			x.mu.Unlock()
			return
		}
		x.trips++
		x.longest, x.last = max(x.longest, now.Sub(x.last)), now
		x.mu.Unlock()
		<-time.After(pause)
	}
}

// ending is how a tunnel ended, for its caller.
func ending(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.EOF):
		return "looks complete"
	}
	return err.Error()
}

// A crowd is all tunnels of a row, and a caller that opens new ones.
type crowd struct {
	tunnels []*tunnel
	began   time.Time
	stop    context.CancelFunc
	fresh   sync.WaitGroup

	mu sync.Mutex
	// without is the edge that the Service does not forward to. 0: it forwards to both.
	without int
	// last is the last time that a new tunnel opened, and worst the longest time between two.
	last  time.Time
	worst time.Duration
}

// newCrowd opens the tunnels, half of those of each edge to each port.
func (w *world) newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{}
	for i := range 2 * each {
		x := &tunnel{edge: 1 + i%2, port: keptPort + i/2%2}
		var err error
		x.conn, err = w.dial(t.Context(), t, x.edge, x.port)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = x.conn.Close() })
		c.tunnels = append(c.tunnels, x)
		go x.run()
	}
	ctx, stop := context.WithCancel(t.Context())
	c.began, c.last, c.stop = time.Now(), time.Now(), stop
	c.fresh.Go(func() {
		for next := 0; ctx.Err() == nil; next++ {
			edge := 1 + next%2
			c.mu.Lock()
			left := edge == c.without
			c.mu.Unlock()
			if !left && w.opens(t, edge) == nil {
				c.mu.Lock()
				c.worst, c.last = max(c.worst, time.Since(c.last)), time.Now()
				c.mu.Unlock()
				<-time.After(retry)
			}
		}
	})
	t.Cleanup(c.end)
	return c
}

// end ends the caller of new tunnels.
func (c *crowd) end() { c.stop(); c.fresh.Wait() }

// leave has the Service forward to the other edge only.
func (c *crowd) leave(edge int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.without = edge
}

// begin begins to count: a fault begins.
func (c *crowd) begin() {
	for _, x := range c.tunnels {
		x.mu.Lock()
		x.longest = 0
		x.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.began, c.worst = time.Now(), 0
}

// newTunnel is how long no new tunnel opened.
func (c *crowd) newTunnel() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.worst, time.Since(c.last))
}

// A fate is how some tunnels ended.
type fate struct {
	live int
	// ended is how many ended by how they did, first and last when after the fault began.
	ended       map[string]int
	first, last time.Duration
	// silence is the longest one of those that live, also if it lasts.
	silence time.Duration
}

// fate of the tunnels that match.
func (c *crowd) fate(match func(*tunnel) bool) fate {
	out := fate{ended: map[string]int{}}
	for _, x := range c.tunnels {
		if !match(x) {
			continue
		}
		x.mu.Lock()
		if x.ended.IsZero() {
			out.live++
			out.silence = max(out.silence, x.longest, time.Since(x.last))
		} else {
			after := x.ended.Sub(c.began)
			if len(out.ended) == 0 || after < out.first {
				out.first = after
			}
			out.ended[x.how]++
			out.last = max(out.last, after)
		}
		x.mu.Unlock()
	}
	return out
}

// String is a cell of the table.
func (f fate) String() string {
	var all []string
	if f.live > 0 {
		all = append(all, fmt.Sprintf("%d live, silent for %d ms at most", f.live, f.silence.Milliseconds()))
	}
	for _, how := range slices.Sorted(maps.Keys(f.ended)) {
		all = append(all, fmt.Sprintf("%d %s after %d-%d ms", f.ended[how], how, f.first.Milliseconds(), f.last.Milliseconds()))
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}

// carry waits until each tunnel that lives carries bytes again.
func (c *crowd) carry(t *testing.T) {
	t.Helper()
	for _, x := range c.tunnels {
		trips, _ := x.carried()
		NewWithT(t).Eventually(func() bool { now, lives := x.carried(); return now > trips || !lives }).WithPolling(pause).Should(BeTrue(), "a tunnel through edge %d carries bytes", x.edge)
	}
}

// carried is how many answers the tunnel had, and whether it lives.
func (x *tunnel) carried() (trips int, lives bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.trips, x.ended.IsZero()
}
