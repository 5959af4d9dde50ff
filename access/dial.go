// This file dials a destination that may have several addresses. Addresses that accepted come first, those that failed last. If
// none is known to accept, several are dialed at the same time.

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
	// dialLimit limits all attempts for one caller together, unless Options has another limit.
	dialLimit = 3 * time.Second
	// dialNext is how long one attempt may take before further addresses are dialed.
	dialNext = 250 * time.Millisecond
	// dialWaves is the number of parts in which the addresses are dialed. The last part still has half of dialLimit to accept.
	dialWaves = 6
	// failedFor is how long after a failure an address is dialed last.
	failedFor = time.Minute
	// maxKnown is for how many addresses the latest outcome is remembered.
	maxKnown = 1 << 14
	// maxSpare limits the spare dials of all callers together: all dials except the first one of each wave.
	maxSpare = 512
)

// errNoAddress is the error for a destination that has no address to dial.
var errNoAddress = errors.New("no VM has a lease for it")

// A DialFunc opens a connection on the network's device, from an edge's address.
type DialFunc func(ctx context.Context, from netip.Addr, to netip.AddrPort) (*net.TCPConn, error)

// A dialer dials the addresses of a destination.
type dialer struct {
	dial  DialFunc
	limit time.Duration // of all attempts for one caller together

	mu    sync.Mutex
	known map[netip.AddrPort]outcome
	spare int
}

// An outcome is how the latest dial of an address ended.
type outcome struct {
	accepted bool
	at       time.Time
}

// The ranks of addresses, in the order in which these are dialed.
const (
	accepting = iota
	unknown
	failing
)

type checkFunc func(netip.Addr) error

// any returns a connection to one of the addresses that accepts within d.limit, and that function check permits.
func (d *dialer) any(ctx context.Context, from netip.Addr, all []netip.AddrPort, check checkFunc) (*net.TCPConn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	type result struct {
		conn *net.TCPConn
		to   netip.AddrPort
		err  error
	}
	results, pending := make(chan result), map[netip.AddrPort]time.Time{}
	left := slices.Clone(all)
	rand.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	d.order(left)
	start := func(count int) {
		for i := range min(count, len(left)) {
			spare := i > 0
			if spare && !d.reserve() {
				return
			}
			to := left[0]
			left, pending[to] = left[1:], time.Now()
			go func() {
				conn, err := d.attempt(ctx, from, to, check)
				if spare {
					d.release()
				}
				select {
				case results <- result{conn, to, err}:
				case <-ctx.Done():
					if err == nil {
						abort(conn)
					}
				}
			}()
		}
	}
	width := (len(all) + dialWaves - 1) / dialWaves
	if len(left) > 0 && d.rank(left[0]) == accepting {
		start(1)
	} else {
		start(width)
	}
	next := time.NewTicker(dialNext)
	defer next.Stop()
	last := errNoAddress
	for len(left) > 0 || len(pending) > 0 {
		select {
		case now := <-next.C:
			d.silent(pending, now)
			d.order(left) // Dials of other callers may have changed the ranks meanwhile.
			start(width)
		case r := <-results:
			if r.err == nil {
				d.explore(ctx, from, left, check)
				return r.conn, r.to, nil
			}
			delete(pending, r.to)
			last = r.err
			start(1)
		case <-ctx.Done():
			return nil, netip.AddrPort{}, d.why(ctx.Err())
		}
	}
	return nil, netip.AddrPort{}, d.why(last)
}

// attempt dials an address, and remembers whether it accepts.
func (d *dialer) attempt(ctx context.Context, from netip.Addr, to netip.AddrPort, check checkFunc) (*net.TCPConn, error) {
	conn, err := d.dial(ctx, from, to)
	if err == nil {
		if err = check(to.Addr()); err != nil {
			abort(conn)
		}
	}
	if err == nil || ctx.Err() == nil { // A canceled attempt does not show whether the address accepts.
		d.note(to, err == nil)
	}
	return conn, err
}

// explore dials one address of parameter left whose rank is unknown. Otherwise the first address that accepted would get all
// connections.
func (d *dialer) explore(ctx context.Context, from netip.Addr, left []netip.AddrPort, check checkFunc) {
	i := slices.IndexFunc(left, func(a netip.AddrPort) bool { return d.rank(a) == unknown })
	if i < 0 || !d.reserve() {
		return
	}
	to := left[i]
	go func() {
		defer d.release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialNext)
		defer cancel()
		conn, err := d.attempt(ctx, from, to, check)
		if err == nil {
			abort(conn)
			return
		}
		d.note(to, false)
	}()
}

// silent records which pending addresses did not accept within dialNext.
func (d *dialer) silent(pending map[netip.AddrPort]time.Time, now time.Time) {
	for to, began := range pending {
		if now.Sub(began) >= dialNext {
			d.note(to, false)
		}
	}
}

// note records whether an address accepts connections.
func (d *dialer) note(to netip.AddrPort, accepts bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxKnown {
		d.known = map[netip.AddrPort]outcome{}
	}
	d.known[to] = outcome{accepts, time.Now()}
}

// reserve counts one more spare dial. False: there are maxSpare already.
func (d *dialer) reserve() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spare >= maxSpare {
		return false
	}
	d.spare++
	return true
}

func (d *dialer) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spare--
}

// order sorts the addresses in parameter all by rank. Addresses of equal rank stay in their order.
func (d *dialer) order(all []netip.AddrPort) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	slices.SortStableFunc(all, func(a, b netip.AddrPort) int { return d.rankAt(a, now) - d.rankAt(b, now) })
}

func (d *dialer) rank(a netip.AddrPort) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rankAt(a, time.Now())
}

// rankAt returns the rank of an address. The caller holds d.mu.
func (d *dialer) rankAt(a netip.AddrPort, now time.Time) int {
	switch o, ok := d.known[a]; {
	case ok && o.accepted:
		return accepting
	case ok && now.Sub(o.at) < failedFor:
		return failing
	}
	return unknown
}

// why returns the error of a dial without the addresses in it.
func (d *dialer) why(err error) error {
	var number syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("no answer within %v", d.limit)
	case errors.As(err, &number):
		return number
	}
	return err
}
