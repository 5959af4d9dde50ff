// This file dials a destination that may have several addresses. Attempts overlap, so that an address without a host costs
// a quarter of a second, and addresses that failed a moment ago come last.

package access

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// dialLimit is how long all attempts for one caller take, at most.
	dialLimit = 3 * time.Second
	// dialNext is how long one attempt may take until the next address is dialed, too.
	dialNext = 250 * time.Millisecond
	// failedFor is how long an address comes last after a failure, and maxFailed the number of such addresses.
	failedFor = 10 * time.Second
	maxFailed = 4096
)

// errNoAddress is why a destination is not dialed.
var errNoAddress = errors.New("no VM with a lease is there")

// A DialFunc opens a connection on the network's device, from an edge's address.
type DialFunc func(ctx context.Context, from netip.Addr, to netip.AddrPort) (*net.TCPConn, error)

// A dialer dials the addresses of a destination.
type dialer struct {
	dial DialFunc

	mu     sync.Mutex
	failed map[netip.AddrPort]time.Time
}

// any returns a connection to the first of all that accepts within dialLimit, and of which check returns nil.
func (d *dialer) any(ctx context.Context, from netip.Addr, all []netip.AddrPort, check func(netip.Addr) error) (*net.TCPConn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	type result struct {
		conn *net.TCPConn
		to   netip.AddrPort
		err  error
	}
	results := make(chan result)
	attempt := func(to netip.AddrPort) {
		conn, err := d.dial(ctx, from, to)
		if err == nil {
			if err = check(to.Addr()); err != nil {
				abort(conn)
			}
		}
		if err == nil || ctx.Err() == nil { // An attempt that was given up for another one says nothing.
			d.note(to, err == nil)
		}
		select {
		case results <- result{conn, to, err}:
		case <-ctx.Done():
			if err == nil {
				abort(conn)
			}
		}
	}
	last, pending := errNoAddress, 0
	var dialed netip.AddrPort // the latest, at began
	var began time.Time
	next := time.NewTimer(0)
	defer next.Stop()
	for left := d.ordered(all); len(left) > 0 || pending > 0; {
		timer := next.C
		if len(left) == 0 {
			timer = nil
		}
		select {
		case <-timer:
			if pending > 0 && time.Since(began) >= dialNext {
				d.note(dialed, false)
			}
			dialed, began = left[0], time.Now()
			go attempt(dialed)
			left = left[1:]
			pending++
			next.Reset(dialNext)
		case r := <-results:
			if r.err == nil {
				return r.conn, r.to, nil
			}
			pending, last = pending-1, r.err
			next.Reset(0)
		case <-ctx.Done():
			return nil, netip.AddrPort{}, why(ctx.Err())
		}
	}
	return nil, netip.AddrPort{}, why(last)
}

// note remembers whether an address accepts. One that has not within dialNext does not for now.
func (d *dialer) note(to netip.AddrPort, accepts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case accepts:
		delete(d.failed, to)
	case len(d.failed) < maxFailed:
		if d.failed == nil {
			d.failed = map[netip.AddrPort]time.Time{}
		}
		d.failed[to] = time.Now()
	default:
		clear(d.failed)
	}
}

// ordered returns all in random order, those that failed of late last.
func (d *dialer) ordered(all []netip.AddrPort) []netip.AddrPort {
	out := slices.Clone(all)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	failed := func(a netip.AddrPort) int {
		if at, ok := d.failed[a]; ok && now.Sub(at) < failedFor {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b netip.AddrPort) int { return failed(a) - failed(b) })
	return out
}

// why returns an error of a dial without addresses.
func why(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer within %v", dialLimit)
	case errors.As(err, &number):
		return number
	}
	return err
}
