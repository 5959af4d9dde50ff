// This file decides when an edge is ready, from the state and the time. A rollout of the peer waits
// until this edge is ready.

package agent

import (
	"errors"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

const (
	// unseenLimit is how long an edge that serves waits until its peer sees it, and until it reaches the API server as its
	// peer does. If that never happens, it must not block a rollout.
	unseenLimit = 45 * time.Second
	// unreachableFor is how long a peer must be unreachable before the edge is ready without it. A
	// switch port may need some seconds until it forwards.
	unreachableFor = 10 * time.Second
	// partitionLimit is how long an edge waits until it sees a peer that serves. It is less than the
	// Deployment's progress deadline of ten minutes, since the version is not at fault.
	partitionLimit = 8 * time.Minute
)

// A Readiness is the state of the decision whether an edge is ready. The zero value is an edge that
// does not serve.
type Readiness struct {
	// since is when the edge began to serve, unreachable when its peer became unreachable.
	since, unreachable time.Time
	// seen: the edge serves VMs as well as its peer, and the peer has seen it serve, or cannot see it. While the edge
	// serves, this stays true.
	seen bool
}

// ErrUnseen is why an edge is not ready at first: the peer would not notice the loss of the
// edge.
var ErrUnseen = errors.New("the peer has not reported yet that it sees this edge")

// errReachesLess is why an edge is not ready at first: VMs would lose the API server if the peer were replaced now. Other
// nodes may apply NetworkPolicies to a new pod after it has started.
var errReachesLess = errors.New("the API server answers through the peer, but not through this edge yet")

// errPeerNotHeard is why an edge is not ready while VMs may reach only the peer, which must not
// be replaced then.
var errPeerNotHeard = errors.New("the peer serves, but it is heard on the cluster network only")

// partitioned reports whether this edge does not see a peer that serves, and only hears it over
// the cluster network. The elder of the two does not wait, so that a network that is partitioned
// from its start gets one edge that is ready.
func partitioned(s failover.State) bool {
	return !s.Heard(failover.VLAN) && s.Heard(failover.ClusterNetwork) &&
		s.Peer.Phase == failover.Serving && s.Peer.Generation <= s.Self.Generation
}

// Next returns the Readiness at now, and why the edge is not ready, or nil. Parameter serves is the
// reason why the edge does not serve, or nil. state is the state of its failover agent.
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
	if !r.seen && partitioned(state) && now.Sub(r.since) < partitionLimit {
		return r, errPeerNotHeard
	}
	late := now.Sub(r.since) >= unseenLimit
	if !r.seen && !late && state.PeerState == failover.PeerServing && state.Self.Level == failover.LevelServes && state.Peer.Level == failover.LevelReaches {
		return r, errReachesLess
	}
	switch state.PeerState {
	case failover.Alone:
		r.seen = true
	case failover.PeerUnreachable:
		r.seen = r.seen || now.Sub(r.unreachable) >= unreachableFor
	case failover.PeerServing, failover.PeerImpaired, failover.PeerIdle:
		r.seen = r.seen || state.Self.Phase == failover.Serving && state.Peer.Sees
	}
	if r.seen = r.seen || late; !r.seen {
		return r, ErrUnseen
	}
	return r, nil
}
