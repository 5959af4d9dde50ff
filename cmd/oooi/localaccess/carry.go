// This file copies bytes between a tunnel and a local connection, or standard input and output. Directions end
// independently.

package localaccess

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// silentWithin is how long a local end may be silent after the destination has sent everything. Only data shows whether
// the destination still receives.
const silentWithin = 10 * time.Second

type tunnel struct {
	net.Conn
	// over is closed when neither direction is open any longer. Nil: that is not known.
	over <-chan struct{}
}

type localEnd struct {
	in  io.Reader
	out io.Writer
	// closeOut closes the direction to the local end.
	closeOut func() error
}

// A waitingReader knows how long its Read has waited for bytes.
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

// silence returns how long Read has waited. 0: it does not wait.
func (r *waitingReader) silence() time.Duration {
	if since := r.since.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// carry copies bytes until both directions have ended, and closes the tunnel. After the destination has sent
// everything, carry also returns when t.over is closed, or when the local end is silent for silentWithin. An error is
// about the tunnel, or means that ctx has ended. The caller closes the local end.
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
				return r.read // If writing fails, the local end has closed its connection. That is not an error.
			}
			if received = true; up == nil {
				return nil
			}
			silent = time.After(silentWithin)
		case r := <-up:
			if r.read != nil {
				return nil // The local end has closed its connection.
			}
			// The tunnel no longer accepts bytes, and these are lost. Its other direction may still bring the reason
			// or an answer.
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

// pump copies until from ends. At io.EOF both errors are nil.
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
