package failover_test

import (
	"bufio"
	"context"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cldmnky/oooi/test/netns"
)

// A vm routes through the next-hop VIP. It opens a connection every 50 ms, and holds a
// long one.
type vm struct {
	*netns.Namespace
	address string

	mu    sync.Mutex
	tries []try
	cuts  []cut
}

// A try is one new connection.
type try struct {
	began, ended time.Time
	edge         int // 0: it failed
}

// A cut is a long connection that was reset, and the edge of the next one.
type cut struct {
	at       time.Time
	from, to int
}

const patience = 200 * time.Millisecond

// connect returns a connection to the service, and the edge that answered.
func connect() (net.Conn, *bufio.Reader, int) {
	d := net.Dialer{Timeout: patience}
	c, err := d.Dial("tcp4", net.JoinHostPort(service, port))
	if err != nil {
		return nil, nil, 0
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	edge, bad := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || bad != nil {
		_ = c.Close()
		return nil, nil, 0
	}
	return c, r, edge
}

// live connects until ctx ends.
func (m *vm) live(ctx context.Context, t *testing.T, done *sync.WaitGroup) {
	done.Go(func() {
		m.Do(t, func() {
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for ; ctx.Err() == nil; <-tick.C {
				one := try{began: time.Now()}
				c, _, edge := connect()
				if c != nil {
					_ = c.Close()
				}
				one.ended, one.edge = time.Now(), edge
				m.mu.Lock()
				m.tries = append(m.tries, one)
				m.mu.Unlock()
			}
		})
	})
	done.Go(func() { m.Do(t, func() { m.hold(ctx) }) })
}

// hold keeps one connection, and opens the next when it is reset.
func (m *vm) hold(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	was, at := 0, time.Time{}
	for ; ctx.Err() == nil; <-tick.C {
		c, r, edge := connect()
		if c == nil {
			continue
		}
		if was != 0 {
			m.mu.Lock()
			m.cuts = append(m.cuts, cut{at, was, edge})
			m.mu.Unlock()
		}
		for ; ctx.Err() == nil; <-tick.C {
			// The deadline is long: a broken connection must be reset, not time out.
			_ = c.SetDeadline(time.Now().Add(time.Minute))
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
		}
		_ = c.Close()
		was, at = edge, time.Now()
	}
}

func (m *vm) tried() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.tries)
}

// edge returns the edge of the last connection that began after since, 0 if there is none
// or it failed.
func (m *vm) edge(since time.Time) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.tries) == 0 || m.tries[len(m.tries)-1].began.Before(since) {
		return 0
	}
	return m.tries[len(m.tries)-1].edge
}

// gap returns the longest time after since between two successful connections, and how
// many failed.
func (m *vm) gap(since time.Time) (longest time.Duration, failed int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := since
	for _, x := range m.tries {
		switch {
		case x.began.Before(since):
		case x.edge == 0:
			failed++
		default:
			longest, last = max(longest, x.ended.Sub(last)), x.ended
		}
	}
	return longest, failed
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
