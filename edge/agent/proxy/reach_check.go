// This file checks twice a second whether the hosted API server answers through each worker of the edge's Envoy.

package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/envoy/resources"
)

// A ReachCheck checks whether the hosted API server answers through Envoy.
type ReachCheck struct {
	// Socket is resources.Dirs.Reach. While it does not exist, the API server is not reached.
	Socket string
	Log    *slog.Logger
}

// A checked is one of the results of a check. tick and began are when the check started.
type checked struct {
	tick  int
	began time.Time
	// closed: Envoy has closed each connection. False: each connection was answered.
	closed bool
	// err is why a connection was not answered.
	err error
}

// Run makes one check immediately, and then one every failover.Interval until ctx ends. It reports the start of each
// check that succeeds. When no check succeeded recently, it reports the zero time once. See failover.Options.
func (c ReachCheck) Run(ctx context.Context, report func(began time.Time)) {
	hello := clientHello()
	var r Reach
	var last error
	news := make(chan checked)
	tick := time.NewTicker(failover.Interval)
	defer tick.Stop()
	due := func() {
		begin := false
		if r, begin = r.Tick(); begin {
			go c.check(ctx, hello, checked{tick: r.Now(), began: time.Now()}, news)
		}
	}
	due() // A restarted agent knows its level before it sends a second message.
	for {
		was, proof := r.Reached, false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			due()
		case n := <-news:
			if !n.closed {
				r = r.Answered(n.tick)
				continue
			}
			if r, proof = r.Closed(n.tick); proof {
				report(n.began)
			}
			last = n.err
		}
		switch {
		case was && !r.Reached:
			report(time.Time{})
			c.Log.Warn("the hosted API server does not answer through Envoy", "err", cmp.Or(last, errWorkerSilent))
		case !was && r.Reached:
			c.Log.Info("the hosted API server answers through Envoy")
		}
	}
}

// check opens a connection for each worker and sends the results to news. All connections stay open until each is
// answered or closed. A worker that hangs does not close a silent connection: then the check stays open.
func (c ReachCheck) check(ctx context.Context, hello []byte, n checked, news chan<- checked) {
	var open []*net.UnixConn
	for range resources.Workers {
		var conn *net.UnixConn
		if conn, n.err = rundir.Dial(ctx, c.Socket); n.err != nil {
			break
		}
		open = append(open, conn)
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		defer func() { _ = conn.Close() }()
	}
	send := func() {
		select {
		case news <- n:
		case <-ctx.Done():
		}
	}
	if err := each(open, func(conn *net.UnixConn) error { return ask(conn, hello) }); err != nil {
		n.err = err
	}
	if n.err == nil {
		send()
	}
	_ = each(open, hangUp)
	n.closed = true
	send()
}

// each calls f for all connections concurrently, and returns the first error.
func each(open []*net.UnixConn, f func(*net.UnixConn) error) error {
	var g errgroup.Group
	for _, conn := range open {
		g.Go(func() error { return f(conn) })
	}
	return g.Wait()
}

// The reasons for which the API server is not reached.
var (
	errClosedUnanswered = errors.New("Envoy closed the connection without an answer")
	errWorkerSilent     = errors.New("a worker of Envoy neither answers nor closes the connection")
)

// ask sends a ClientHello and waits for the first byte of an answer.
func ask(conn *net.UnixConn, hello []byte) error {
	if _, err := conn.Write(hello); err != nil {
		return errClosedUnanswered
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return errClosedUnanswered
	}
	return nil
}

// maxReachAnswer limits the answer to a ClientHello, in bytes: a VM may have compromised Envoy.
const maxReachAnswer = 1 << 20

// hangUp ends the connection in order, without a reset, and waits until Envoy has closed it.
func hangUp(conn *net.UnixConn) error {
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, io.LimitReader(conn, maxReachAnswer))
	return err
}
