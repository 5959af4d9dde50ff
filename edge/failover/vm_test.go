package failover_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/netns"
)

// A vm routes through the next-hop VIP. It begins a connection every 50 ms, and holds a
// long one.
type vm struct {
	*netns.Namespace
	address string

	mu    sync.Mutex
	tries []try // in the order in which they ended
	cuts  []cut
	// held are the long connections, in the order in which they began and ended.
	held []held
	// echoes counts the answers on long connections.
	echoes int
}

// A try is one new connection. One that is not answered yet is none.
type try struct {
	began, ended time.Time
	edge         int // 0: it failed
	err          error
}

// A cut is a long connection that was reset, and the edge of the next one.
type cut struct {
	at       time.Time
	from, to int
}

// A held is that a long connection to an edge began. Edge 0: the last one ended.
type held struct {
	at   time.Time
	edge int
}

const (
	// unanswered is how long a connection may take. One that is slow has not failed, and the next
	// one does not wait for it.
	unanswered = time.Minute
	// redial is how long the VM waits for its next long connection before it tries again.
	redial = 2 * time.Second
	// pause is the time between two connections.
	pause = 50 * time.Millisecond
)

// newVM creates a VM whose kernel does not find out itself that an edge is gone: it asks after an
// hour. So only announcements move the VM.
func newVM(t *testing.T, segment *netns.Segment, address string) *vm {
	t.Helper()
	m := &vm{Namespace: netns.New(t), address: address}
	segment.Attach(t, m.Namespace, "eth0", "", address+"/24")
	m.Sysctl(t, "net/ipv4/neigh/eth0/base_reachable_time_ms", "3600000")
	m.Sysctl(t, "net/ipv4/neigh/eth0/delay_first_probe_time", "3600")
	return m
}

// connect returns a connection to the service, and the edge that answered.
func connect(ctx context.Context) (net.Conn, *bufio.Reader, int, error) {
	d := net.Dialer{Timeout: redial}
	c, err := d.DialContext(ctx, "tcp4", net.JoinHostPort(service, port))
	if err != nil {
		return nil, nil, 0, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
	_ = c.SetDeadline(time.Now().Add(redial))
	r := bufio.NewReader(c)
	edge, err := answer(r)
	if err != nil {
		_ = c.Close()
		return nil, nil, 0, err
	}
	return c, r, edge, nil
}

// live connects until ctx ends. No connection waits for another one.
func (m *vm) live(ctx context.Context, t *testing.T, done *sync.WaitGroup) {
	done.Go(func() {
		m.Do(t, func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for ; ctx.Err() == nil; <-tick.C {
				began := time.Now()
				c, err := begin()
				done.Go(func() { m.try(ctx, c, err, began) })
			}
		})
	})
	done.Go(func() { m.Do(t, func() { m.hold(ctx) }) })
}

// begin begins a connection to the service. Reading from it waits until it is established.
func begin() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	to := netip.MustParseAddrPort(net.JoinHostPort(service, port))
	err = unix.Connect(fd, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
	if err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "connection"), nil
}

// try waits for the edge that answers on a new connection.
func (m *vm) try(ctx context.Context, c *os.File, err error, began time.Time) {
	one := try{began: began, err: err}
	if err == nil {
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(began.Add(unanswered))
		defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })()
		one.edge, one.err = answer(bufio.NewReader(c))
	}
	if ctx.Err() != nil {
		return
	}
	one.ended = time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries = append(m.tries, one)
}

// answer reads which edge answers.
func answer(r *bufio.Reader) (edge int, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line))
}

// hold keeps one connection, and opens the next when it is reset.
func (m *vm) hold(ctx context.Context) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	was, at := 0, time.Time{}
	for ; ctx.Err() == nil; <-tick.C {
		c, r, edge, err := connect(ctx)
		if err != nil {
			continue
		}
		m.mu.Lock()
		if was != 0 {
			m.cuts = append(m.cuts, cut{at, was, edge})
		}
		m.held = append(m.held, held{time.Now(), edge})
		m.mu.Unlock()
		for ; ctx.Err() == nil; <-tick.C {
			// The deadline is long: a broken connection must be reset, not time out.
			_ = c.SetDeadline(time.Now().Add(unanswered))
			if ctx.Err() != nil {
				break
			}
			if _, err := c.Write([]byte("x\n")); err != nil {
				break
			}
			stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
			_, err := r.ReadString('\n')
			stop()
			if err != nil {
				break
			}
			m.mu.Lock()
			m.echoes++
			m.mu.Unlock()
		}
		_ = c.Close()
		was, at = edge, time.Now()
		m.mu.Lock()
		m.held = append(m.held, held{at, 0})
		m.mu.Unlock()
	}
}

// holds returns the edge of the long connection at t, 0 if there was none.
func (m *vm) holds(t time.Time) (edge int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.held {
		if !x.at.After(t) {
			edge = x.edge
		}
	}
	return edge
}

// echoed returns how many answers the long connections brought.
func (m *vm) echoed() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.echoes
}

// since returns the connections that began after t and ended, in the order in which they began.
func (m *vm) since(t time.Time) (out []try) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range m.tries {
		if !x.began.Before(t) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b try) int { return a.began.Compare(b.began) })
	return out
}

// edge returns the edge of the last connection that began after t and ended, 0 if there is none
// or it failed.
func (m *vm) edge(t time.Time) int {
	all := m.since(t)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].edge
}

// inARow returns how many of the last connections that began after t were answered.
func (m *vm) inARow(t time.Time) (n int) {
	all := m.since(t)
	slices.Reverse(all)
	for _, x := range all {
		if x.edge == 0 {
			break
		}
		n++
	}
	return n
}

// gap returns the longest time after t between two answered connections, and how many failed.
func (m *vm) gap(t time.Time) (longest time.Duration, failed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := t
	for _, x := range m.tries {
		switch {
		case x.began.Before(t):
		case x.edge == 0:
			failed++
		default:
			longest, last = max(longest, x.ended.Sub(last)), x.ended
		}
	}
	return longest, failed
}

// dark returns why connections that began after t failed, without those that were in progress
// while the VM moved: the edge that takes over resets them.
func (m *vm) dark(t time.Time) (why []error) {
	for _, x := range m.since(t) {
		if x.err != nil && !errors.Is(x.err, syscall.ECONNRESET) && !errors.Is(x.err, syscall.EPIPE) {
			why = append(why, x.err)
		}
	}
	return why
}

func (m *vm) cutSince(t time.Time) []cut {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []cut
	for _, c := range m.cuts {
		if c.at.After(t) {
			out = append(out, c)
		}
	}
	return out
}
