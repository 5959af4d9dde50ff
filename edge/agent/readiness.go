// This file decides when an edge is ready, which the change of the other edge waits
// for. It is a function of what was seen and the time.

package agent

import (
	"errors"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

const (
	// unseenLimit is how long an edge that serves waits for its peer to say that it
	// sees it. A peer that runs and never says so must not block everything.
	unseenLimit = 45 * time.Second
	// unreachableFor is how long a peer must be unreachable: a port that was just
	// plugged in may take some seconds to forward.
	unreachableFor = 10 * time.Second
)

// A Readiness is what is remembered for the decision. The zero value is that of an
// edge which does not serve.
type Readiness struct {
	// since is when the edge began to serve, unreachable when its peer became so.
	since, unreachable time.Time
	// seen: the peer has seen this edge serve, or cannot. It holds for as long as the
	// edge serves.
	seen bool
}

// ErrUnseen is why an edge is not ready that its peer has not seen: its peer would
// not notice if it were unreachable.
var ErrUnseen = errors.New("the other edge does not say yet that it sees this one")

// Next takes in why the edge does not serve, nil where it does, and what its failover
// agent knows. The error is why the edge is not ready at now, nil where it is.
func (r Readiness) Next(serves error, state failover.State, now time.Time) (Readiness, error) {
	if serves != nil {
		return Readiness{}, serves
	}
	if r.since.IsZero() {
		r.since = now
	}
	if state.PeerState != failover.PeerUnreachable {
		r.unreachable = time.Time{}
	} else if r.unreachable.IsZero() {
		r.unreachable = now
	}
	switch state.PeerState {
	case failover.Alone:
		r.seen = true
	case failover.PeerUnreachable:
		r.seen = r.seen || now.Sub(r.unreachable) >= unreachableFor
	case failover.PeerServing, failover.PeerIdle:
		r.seen = r.seen || state.Self.Phase == failover.Serving && state.Peer.Sees
	}
	r.seen = r.seen || now.Sub(r.since) >= unseenLimit
	if !r.seen {
		return r, ErrUnseen
	}
	return r, nil
}
