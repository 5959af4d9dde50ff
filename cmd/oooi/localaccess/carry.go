// This file copies bytes between a tunnel and a local connection, or standard input and output. The two directions end
// independently.

package localaccess

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// silentWithin applies once the destination has closed its direction. It limits the time without data from the
// local end. Without data, it is unknown whether the destination still receives.
const silentWithin = 10 * time.Second

type tunnel struct {
	net.Conn
	// Channel over is closed when both directions have ended. Nil: the tunnel cannot report that.
	over <-chan struct{}
}

type localEnd struct {
	in  io.Reader
	out io.Writer
	// closeOut closes field out. Field in stays open.
	closeOut func() error
}

// A waitingReader is a reader that reports how long its Read has waited for bytes.
type waitingReader struct {
	io.Reader
	since atomic.Pointer[time.Time]
}

// Read implements io.Reader.
func (r *waitingReader) Read(b []byte) (int, error) {
	now := time.Now()
	r.since.Store(&now)
	defer r.since.Store(nil)
	return r.Reader.Read(b)
}

// silence returns how long a call of Read has waited. 0: there is no call now.
func (r *waitingReader) silence() time.Duration {
	if since := r.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// carry copies bytes between t and local until both directions have ended, and closes t. After the destination has closed
// its direction, carry also returns when t.over is closed, or when the local end sends nothing for silentWithin. It returns
// an error if it cannot read from t, or if ctx ends. The caller must close the local end.
func carry(ctx context.Context, t tunnel, local localEnd) error {
	defer func() { _ = t.Close() }()
	type result struct{ read, write error }
	up, down := make(chan result, 1), make(chan result, 1)
	in := &waitingReader{Reader: local.in}
	go func() {
		var r result
		r.read, r.write = pump(t, in)
		if half, ok := t.Conn.(interface{ CloseWrite() error }); ok && r.read == nil && r.write == nil {
			r.write = half.CloseWrite()
		}
		up <- r
	}()
	go func() {
		var r result
		r.read, r.write = pump(local.out, t)
		if r.read == nil && r.write == nil {
			_ = local.closeOut()
		}
		down <- r
	}()
	over := t.over
	var silent <-chan time.Time
	for received := false; ; {
		select {
		case r := <-down:
			if r.read != nil || r.write != nil {
				return r.read // A failed write means that the local end has closed its connection. That is not an error.
			}
			if received = true; up == nil {
				return nil
			}
			silent = time.After(silentWithin)
		case r := <-up:
			if r.read != nil {
				return nil // The local end has closed its connection.
			}
			// The local end has sent everything, or the tunnel no longer accepts bytes. The destination may still send an
			// answer, or the reason.
			if up = nil; received {
				return nil
			}
		case <-over:
			if over = nil; received {
				return nil
			}
		case <-silent:
			rest := silentWithin - in.silence()
			if rest <= 0 {
				return nil
			}
			silent = time.After(rest)
		case <-ctx.Done():
			return ctx.Err()
		}
		if received && t.over != nil && over == nil {
			return nil
		}
	}
}

// pump copies bytes until io.EOF. Parameter from is the source, and parameter to the destination. Result read is an
// error of the source other than io.EOF, and result write an error of the destination.
func pump(to io.Writer, from io.Reader) (read, write error) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if _, write := to.Write(b[:n]); write != nil {
				return nil, write
			}
		}
		switch err {
		case nil:
		case io.EOF:
			return nil, nil
		default:
			return err, nil
		}
	}
}
