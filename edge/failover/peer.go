// This file decides the state of the peer: whether it is reachable, and whether its level is lower than this edge's.

package failover

import "time"

const (
	// riseFor is how long an edge waits after its level rose above its peer's: both edges may be recovering from one
	// cause.
	riseFor = 3 * time.Second
	// patience limits the heartbeats over the VLAN that may be missed from a peer that is heard over the cluster network.
	patience = 6
	// promptLimit is how many answers of the API server in a row, each within an Interval, prove LevelReaches.
	promptLimit = 3
	// firstLimit is how many Intervals a new edge waits for the first message of a peer whose kernel answers.
	firstLimit = 8
)

// An advantage records when the levels of the edges changed.
type advantage struct {
	// mine and theirs are when this edge's and the peer's level changed last.
	mine, theirs time.Time
	// messages is how many messages of the peer arrived since either level changed.
	messages int
}

// changed returns the advantage after this edge's level changed at now.
func (a advantage) changed(now time.Time) advantage {
	return advantage{mine: now, theirs: a.theirs}
}

// heard returns the advantage after a message of the peer. Parameters was and is have the levels in its previous message
// and in this one.
func (a advantage) heard(was, is Level, now time.Time) advantage {
	if was != is {
		a.theirs, a.messages = now, 0
	}
	a.messages++
	return a
}

// proven records that the API server answered the probe which started at began. Slow answers prove nothing: if the API
// server is slow, a quick answer is luck on either edge.
func (s State) proven(began, now time.Time) State {
	s.reached = true
	if s.prompt++; now.Sub(began) >= Interval {
		s.prompt = 0
	}
	if s.prompt >= promptLimit {
		s.provenAt = began
	}
	return s
}

// better reports whether this edge is provably better than a peer that serves. The peer's last two messages must have a
// lower level, and this edge must have proven its own level since the first of them. See also riseFor. A cause that
// affects both edges prevents the proof.
func (s State) better(now time.Time) bool {
	a := s.advantage
	proven := s.provenAt
	if s.Self.Level == LevelServes {
		proven = s.seen.frame
		if s.seen.last.Frames == 0 {
			proven = now
		}
	}
	rose := a.mine.After(a.theirs) && now.Sub(a.mine) < riseFor
	return s.Peer.Level.below(s.Self.Level) && a.messages >= 2 && proven.After(a.theirs) && !rose
}

// look updates PeerState, and removes a doubt if the peer has been heard for long enough.
func (s State) look(now time.Time) State {
	state := s.peerState(now)
	if state != s.PeerState {
		if s.PeerState == PeerUnreachable || s.PeerState == Unknown {
			s.heardSince = now
		}
		s.PeerState = state
	}
	if s.doubts > 0 && s.PeerState != PeerUnreachable && now.Sub(s.heardSince) >= forgiven {
		s.doubts, s.heardSince = s.doubts-1, now
	}
	return s
}

func (s State) peerState(now time.Time) PeerState {
	silent, known := s.paths[VLAN].silent, s.Peer.Instance != ""
	switch {
	case s.PeerState == Alone:
		return Alone
	case known && silent < missable:
		// A VM can forge a refusal, so refusals are ignored while the peer's messages arrive.
		return s.reported(now)
	case s.refused <= missable && !s.Heard(ClusterNetwork):
		return PeerIdle
	case known && (silent <= s.limit(now) || s.thereUnheard(now)):
		return s.reported(now)
	case silent <= s.limit(now) || !known && silent <= firstLimit && s.seen.peerAnswered(now):
		return s.PeerState
	}
	return PeerUnreachable
}

// limit returns for how many Intervals the peer may be silent over the VLAN before it counts as unreachable. The limit is
// high while the peer is heard over the cluster network, since then only the VLAN can be bad.
func (s State) limit(now time.Time) int {
	switch {
	case s.Heard(ClusterNetwork):
		return patience + 2*min(s.doubts, 3)
	case s.hasSecondPath():
		return missable
	case s.Self.Edge > s.Peer.Edge && s.seen.peerAnswered(now):
		// If both edges serve and only heartbeats are lost, they do not announce at the same time.
		return missable<<s.doubts + 1
	}
	return missable << s.doubts
}

// peerLost reports whether the peer is silent on both paths, while the API server answers through this edge. So the peer,
// not this edge, has lost the cluster network.
func (s State) peerLost() bool {
	return s.hasSecondPath() && !s.PeerHeard() && s.reached && s.provenAt.After(s.heardAt)
}

// thereUnheard reports whether the peer counts as reachable because it is heard over the cluster network. This holds
// while only heartbeats seem to be lost on the VLAN, or while nothing proves that this edge receives what VMs send to it.
func (s State) thereUnheard(now time.Time) bool {
	unproven := s.seen.ignored(now) || s.Peer.Sees && !s.seen.proven(now)
	return s.Heard(ClusterNetwork) && (s.seen.missed <= s.limit(now) || s.seen.peerAnswered(now) || unproven)
}

// reported returns the state of a reachable peer, as the peer's last message shows it.
func (s State) reported(now time.Time) PeerState {
	switch {
	case s.Peer.Phase != Serving:
		return PeerIdle
	case s.better(now):
		return PeerImpaired
	}
	return PeerServing
}
