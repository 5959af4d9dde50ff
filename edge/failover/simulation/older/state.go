// Package older holds the decisions of the version before levels and the second path, as
// they were released. Edges of both versions meet during an upgrade, so the simulation
// runs them against each other. Do not change it.

package older

import (
	"slices"
	"time"
)

// Interval is how often an edge sends a heartbeat, and counts those that it missed.
const Interval = 500 * time.Millisecond

const (
	// missable is how many heartbeats in a row may be missed.
	missable = 3
	// maxDoubts limits the doublings of missable. A peer that ran during a silence gets
	// more time at the next one, so that a bad link does not move VMs back and forth.
	maxDoubts = 4
	// forgiven is how long a peer must be heard until one doubling is undone.
	forgiven = time.Minute
	// announceInterval is how often an edge announces while its peer answers ARP and does
	// not serve. A VM's kernel ignores an announcement within a second after its entry
	// changed (neigh/default/locktime), for example after the announcement of a new pod.
	announceInterval = Interval
	// handover is how long a draining edge keeps serving if its peer announces. VMs'
	// kernels accept an announcement within it, and the edge's own announcement ends.
	handover = 2 * time.Second
	// drainLimit is how long a draining edge waits for a peer that does not announce.
	drainLimit = 4 * time.Second
	// maxAnswers limits the answers to messages of an unknown instance in one Interval.
	maxAnswers = 8
	unbounded  = 1 << 30
)

// lostAt is when an edge announces while its peer is unreachable, counted from the first
// announcement. The list ends, so that two edges that run without hearing each other stop
// moving VMs.
var lostAt = []time.Duration{0, time.Second, 3 * time.Second, 10 * time.Second}

// aloneAt is when an edge without a peer announces, counted from when it first serves. It
// resets no connection, since no other edge has any. An edge that was removed from the
// plan may still run, and learn that late.
var aloneAt = append(slices.Clone(lostAt), 20*time.Second, 40*time.Second)

// A PeerState is what an edge knows of its peer.
type PeerState string

// States of the peer.
const (
	// Alone: the plan has one edge, so there is no peer.
	Alone PeerState = "alone"
	// Unknown: the edge has not listened for long enough.
	Unknown PeerState = "unknown"
	// PeerServing: the peer reports that it serves.
	PeerServing PeerState = "serving"
	// PeerIdle: the peer's kernel answers ARP for the next-hop VIP, but the peer does not
	// serve. It starts, it drains, or its failover agent does not run.
	PeerIdle PeerState = "idle"
	// PeerUnreachable: no message arrives.
	PeerUnreachable PeerState = "unreachable"
)

// A State is what one edge knows. It is an immutable value: Next returns the next one.
type State struct {
	// Self is what the edge sends about itself.
	Self Message
	// Peer is the last message of the peer. Zero: none yet.
	Peer      Message
	PeerState PeerState
	// Removed: the plan no longer has this edge. It announces while its peer is
	// unreachable, but not while the peer's kernel refuses heartbeats: that peer is alone by
	// plan, serves and does not listen.
	Removed bool

	missed, refused int // Intervals since a message, since a refusal
	doubts, answers int
	heardSince      time.Time // Since when PeerState is not PeerUnreachable; a doubt less restarts it
	drainingSince   time.Time
	announced       int // Of PeerState
	first, last     time.Time
}

// NewState returns the state of an edge that starts. Instance is random. Alone: the plan
// has no peer.
func NewState(edge int, instance string, alone bool) State {
	s := State{Self: Message{Phase: Starting, Edge: edge, Instance: instance}, PeerState: Unknown, refused: unbounded}
	if alone {
		s.PeerState = Alone
	}
	return s
}

// A Kind is the kind of an Event.
type Kind int

// Kinds of events.
const (
	// Tick: an Interval has passed. Missed ticks are not repeated, so an edge that was
	// suspended does not consider its peer unreachable.
	Tick Kind = iota
	// Heard: Message arrived from the peer's address.
	Heard
	// Refused: the peer's kernel reports that no process listens (ICMP port unreachable).
	Refused
	// Ready and NotReady: this edge serves, or does not. Plan may have changed.
	Ready
	NotReady
	// Drain: this edge must stop.
	Drain
)

// An Event is one thing that happened.
type Event struct {
	Kind    Kind
	Message Message
	Plan    string
}

// Actions are to be carried out in this order.
type Actions struct {
	// Announce the next-hop VIP.
	Announce bool
	// Send these to the peer.
	Send []Message
	// Close: a draining edge need not wait any longer.
	Close bool
}

// Next returns the state after e, and the actions.
func Next(s State, e Event, now time.Time) (State, Actions) {
	was := s
	unknown := ""
	switch e.Kind {
	case Tick:
		s.missed, s.refused, s.answers = min(s.missed+1, unbounded), min(s.refused+1, unbounded), 0
	case Heard:
		s, unknown = s.hear(e.Message, now)
	case Refused:
		s.refused = 0
	case Ready, NotReady:
		if s.Self.Phase == Draining {
			break
		}
		s.Self.Phase, s.Self.Plan = Starting, e.Plan
		if e.Kind == Ready {
			s.Self.Phase = Serving
		}
	case Drain:
		if s.Self.Phase != Draining {
			s.Self.Phase, s.drainingSince = Draining, now
		}
	}
	s = s.look(now)
	var a Actions
	if s.due(now) {
		a.Announce = true
		if s.announced == 0 {
			s.first = now
		}
		s.announced, s.last = s.announced+1, now
	}
	s.Self.Peer, s.Self.Sees = s.Peer.Instance, s.heard()
	s.Self.Announcements = s.announced
	if unknown != "" {
		s.Self.Number++
		m := s.Self
		m.Peer = unknown
		a.Send = append(a.Send, m)
	}
	changed := s.Self.Phase != was.Self.Phase || s.Self.Plan != was.Self.Plan || a.Announce
	if s.PeerState != Alone && (e.Kind == Tick || changed) {
		s.Self.Number++
		a.Send = append(a.Send, s.Self)
	}
	a.Close = s.mayClose(now)
	return s, a
}

// hear takes in a message. A message counts only if its sender has received this edge's
// messages: a host that does not see what is sent to the peer cannot forge the peer's
// messages. An unknown instance is returned and gets an answer, so that a new peer can
// prove that it hears.
func (s State) hear(m Message, now time.Time) (next State, unknown string) {
	switch {
	case s.PeerState == Alone || m.Instance == s.Self.Instance:
		return s, ""
	case m.Peer != s.Self.Instance:
		if s.answers >= maxAnswers {
			return s, ""
		}
		s.answers++
		return s, m.Instance
	case m.Instance == s.Peer.Instance && m.Number <= s.Peer.Number:
		return s, ""
	case m.Instance == s.Peer.Instance && s.PeerState == PeerUnreachable:
		// The same run: the peer was there all the time.
		s.doubts = min(s.doubts+1, maxDoubts)
		s.heardSince = now
	}
	s.Peer, s.missed, s.refused = m, 0, unbounded
	return s, ""
}

// heard reports whether a message of the peer arrived within the last two seconds.
func (s State) heard() bool { return s.Peer.Instance != "" && s.missed <= missable }

// look updates the peer's state from what arrived and what did not.
func (s State) look(now time.Time) State {
	state := s.PeerState
	reported := PeerIdle
	if s.Peer.Phase == Serving {
		reported = PeerServing
	}
	switch {
	case state == Alone:
	case s.Peer.Instance != "" && s.missed < missable:
		// A refusal can be forged. A peer that still sends is there.
		state = reported
	case s.refused <= missable:
		state = PeerIdle
	case s.missed > missable<<s.doubts:
		state = PeerUnreachable
	case s.Peer.Instance != "":
		state = reported
	}
	if state != s.PeerState {
		s.announced, s.first, s.last = 0, time.Time{}, time.Time{}
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

// due reports whether to announce now. An edge that does not serve never does.
func (s State) due(now time.Time) bool {
	// What falls due within half an Interval is done now, not one Interval late.
	const early = Interval / 2
	if s.Self.Phase != Serving {
		return false
	}
	switch s.PeerState {
	case PeerIdle:
		if s.Removed && (s.Peer.Phase == Serving || !s.heard()) {
			return false
		}
		return s.announced == 0 || now.Sub(s.last) >= announceInterval-early
	case PeerUnreachable:
		return s.announced == 0 || s.announced < len(lostAt) && now.Sub(s.first) >= lostAt[s.announced]-early
	case Alone:
		return s.announced == 0 || s.announced < len(aloneAt) && now.Sub(s.first) >= aloneAt[s.announced]-early
	}
	return false
}

// mayClose reports whether a draining edge may close: its peer has taken over, cannot take
// over, or did not in time.
func (s State) mayClose(now time.Time) bool {
	if s.Self.Phase != Draining {
		return false
	}
	switch s.PeerState {
	case Alone, PeerUnreachable:
		return true
	case PeerIdle:
		if s.Peer.Phase == Draining || !s.heard() {
			return true
		}
	}
	waited := now.Sub(s.drainingSince)
	return s.heard() && s.Peer.Announcements > 0 && waited >= handover || waited >= drainLimit
}
