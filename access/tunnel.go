// This file runs one tunnel until both sides have closed, one side fails, or this program ends it.

package access

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// An End is how a tunnel ended.
type End string

// The ends of tunnels.
const (
	// Closed: both sides have closed the tunnel.
	Closed End = "closed"
	// CallerReset and DestinationReset: one side has reset its connection.
	CallerReset      End = "caller-reset"
	DestinationReset End = "destination-reset"
	// CallerLost and DestinationLost: one side has acknowledged nothing for two minutes.
	CallerLost      End = "caller-lost"
	DestinationLost End = "destination-lost"
	// Idle: no byte came from either side for a day, or for an hour through a load balancer.
	Idle End = "idle"
	// NotOpenAnyMore: the plan no longer opens the destination to the caller.
	NotOpenAnyMore End = "plan"
	// Stopped: the edge stops, or must not serve.
	Stopped End = "stopped"
	// OverShare: all tunnels were in use, and another caller had less than an equal part.
	OverShare End = "share-limit"
)

// ends returns all ends.
func ends() []End {
	return []End{Closed, CallerReset, DestinationReset, CallerLost, DestinationLost, Idle, NotOpenAnyMore, Stopped, OverShare}
}

// A Tunnel describes a tunnel that has ended.
type Tunnel struct {
	Caller netip.AddrPort
	// Account is the ServiceAccount of the caller, "namespace/name". Empty: callers need no token.
	Account string
	// Asked is the authority that the caller named. Empty: a plain TCP port.
	Asked string
	// Listen is the plain TCP port that the caller dialed. 0: the port of CONNECT.
	Listen uint16
	// Target is the destination of the plan, without its addresses. Dialed is the address that was dialed.
	Target Target
	Dialed netip.AddrPort
	// Sent are bytes from the caller, Received bytes to the caller.
	Sent, Received int64
	Took           time.Duration
	End            End
}

// A tunnel is a caller's connection through the proxy, from its request to its end.
type tunnel struct {
	Tunnel
	caller, destination *net.TCPConn
	began               time.Time
	sent, received      atomic.Int64
	// active is the time from began to the latest byte, in nanoseconds.
	active atomic.Int64
	// cut is why this program ends the tunnel. Nil: it does not.
	cut atomic.Pointer[End]
	// giveUp cancels the dial of the destination. Nil: the dial has ended.
	giveUp context.CancelFunc
	// directions counts the directions that have ended. After both, done is called.
	directions atomic.Int32
	done       func(End)
}

// silentSince returns when the latest byte was carried, or else when the caller came.
func (t *tunnel) silentSince() time.Time { return t.began.Add(time.Duration(t.active.Load())) }

// abort resets both sides because of end. If abort is called again, the first end remains.
func (t *tunnel) abort(end End) {
	t.cut.CompareAndSwap(nil, &end)
	abort(t.caller)
	abort(t.destination)
}

// run carries bytes, beginning with those in parameter first from the caller, until the tunnel has ended. Then it calls
// function done. If this program is killed, the kernel resets both sides: an orderly end would look as if all data had
// arrived.
func (t *tunnel) run(first []byte, b *buffers, m *Metrics, done func(End)) {
	t.done = done
	resetWhenKilled(t.caller)
	resetWhenKilled(t.destination)
	go (&direction{t: t, from: t.caller, to: t.destination, buffers: b, carried: &t.sent, metric: m.carried("destinations")}).run(first)
	go (&direction{t: t, from: t.destination, to: t.caller, buffers: b, carried: &t.received, metric: m.carried("callers")}).run(nil)
}

// ended is called once by each direction.
func (t *tunnel) ended() {
	if t.directions.Add(1) < 2 {
		return
	}
	endInOrder(t.caller)
	endInOrder(t.destination)
	if end := t.cut.Load(); end != nil {
		t.done(*end)
		return
	}
	t.done(Closed)
}

// failed returns the End for err, the error of one side.
func (t *tunnel) failed(err error) End {
	reset, lost := CallerReset, CallerLost
	if i, ok := information(t.destination); ok && i.State == tcpClose {
		reset, lost = DestinationReset, DestinationLost
	}
	var number syscall.Errno
	if errors.As(err, &number) && (number == syscall.ETIMEDOUT || number == syscall.EHOSTUNREACH) {
		return lost
	}
	return reset
}

// over returns how t must end: a peer is lost, or both sides are silent. Empty: t continues.
func (t *tunnel) over(unanswered, idle time.Duration) End {
	caller, first := information(t.caller)
	destination, second := information(t.destination)
	switch {
	case first && lost(caller, unanswered):
		return CallerLost
	case second && lost(destination, unanswered):
		return DestinationLost
	case first && second && quiet(caller, idle) && quiet(destination, idle):
		return Idle
	}
	return ""
}

// result returns the description of t after its end.
func (t *tunnel) result(end End, now time.Time) Tunnel {
	out := t.Tunnel
	out.Sent, out.Received, out.Took, out.End = t.sent.Load(), t.received.Load(), now.Sub(t.began), end
	return out
}
