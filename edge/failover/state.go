// This file decides when an edge announces the next-hop VIP, what it sends to its peer,
// and when an edge that drains may close. It is a function of what was seen and the time.
// It never sends, receives or reads a clock.

package failover

import (
	"slices"
	"time"
)

// Interval is how often an edge sends a heartbeat, and counts those that it missed.
const Interval = 500 * time.Millisecond

const (
	// missable is how many heartbeats in a row may be missed.
	missable = 3
	// maxDoubts doublings of missable. A peer that was there though it was not heard gets
	// more time at the next silence, so that a bad link does not move VMs back and forth.
	maxDoubts = 4
	// forgiven is how long a peer is heard until one doubling is taken back.
	forgiven = time.Minute
	// announceInterval is how often an edge announces while its peer answers ARP and does
	// not serve. A VM's kernel ignores an announcement in the first second after its entry
	// changed (neigh/default/locktime), as after the announcement of a new pod.
	announceInterval = Interval
	// handover is how long an edge that drains keeps serving if its peer announces: until
	// VMs' kernels accept an announcement, and its own kernel has ended one of its own.
	handover = 2 * time.Second
	// drainLimit is how long it waits for a peer that does not announce.
	drainLimit = 4 * time.Second
	// maxAnswers to messages of an unknown instance, in one Interval.
	maxAnswers = 8
	never      = 1 << 30
)

// lostAt is when an edge announces while its peer is unreachable, counted from the first
// announcement. There is none after the last, so that two edges that both run and do not
// hear each other stop moving VMs.
var lostAt = []time.Duration{0, time.Second, 3 * time.Second, 10 * time.Second}

// aloneAt is when an edge without a peer announces, counted from when it first serves.
// It disrupts no connection, since no other edge has any. An edge that was removed from
// the plan may still run, and learn late that it was.
var aloneAt = append(slices.Clone(lostAt), 20*time.Second, 40*time.Second)

// A PeerState is what an edge knows of its peer.
type PeerState string

// States of the peer.
const (
	// Alone: the plan has one edge, so there is no peer.
	Alone PeerState = "alone"
	// Unknown: the edge has not listened for long enough.
	Unknown PeerState = "unknown"
	// PeerServing: the peer says that it serves.
	PeerServing PeerState = "serving"
	// PeerIdle: the peer's kernel answers ARP for the next-hop VIP, and nothing serves
	// there. It starts, it drains, or its failover agent is away.
	PeerIdle PeerState = "idle"
	// PeerUnreachable: no message arrives.
	PeerUnreachable PeerState = "unreachable"
)

// A State is what one edge knows. It is a value: Next returns the next one.
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

// NewState is that of an edge which starts. Instance is random. Alone: the plan has no
// peer.
func NewState(edge int, instance string, alone bool) State {
	s := State{Self: Message{Phase: Starting, Edge: edge, Instance: instance}, PeerState: Unknown, refused: never}
	if alone {
		s.PeerState = Alone
	}
	return s
}

// A Kind is what happened.
type Kind int

// What can happen.
const (
	// Tick: an Interval has passed. Missed ticks are not repeated, so an edge that slept
	// for a while does not take its peer for unreachable.
	Tick Kind = iota
	// Heard: Message arrived from the peer's address.
	Heard
	// Refused: the peer's kernel says that no process listens (ICMP port unreachable).
	Refused
	// Ready and NotReady: this edge serves, or not. Plan may have changed.
	Ready
	NotReady
	// Drain: this edge is to stop.
	Drain
)

// An Event is one thing that happened.
type Event struct {
	Kind    Kind
	Message Message
	Plan    string
}

// Actions are what to do, in this order.
type Actions struct {
	// Announce the next-hop VIP.
	Announce bool
	// Send these to the peer.
	Send []Message
	// Close: an edge that drains need not wait any longer.
	Close bool
}

// Next is the state after e, and what to do about it.
func Next(s State, e Event, now time.Time) (State, Actions) {
	was := s
	unknown := ""
	switch e.Kind {
	case Tick:
		s.missed, s.refused, s.answers = min(s.missed+1, never), min(s.refused+1, never), 0
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

// hear takes a message in. It counts only if its sender has received ours: a host that
// does not see what is sent to the peer cannot forge the peer's messages. An unknown
// instance is returned, to be answered, so that a new peer can show that it hears.
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
	s.Peer, s.missed, s.refused = m, 0, never
	return s, ""
}

// heard says whether a message of the peer arrived within the last two seconds.
func (s State) heard() bool { return s.Peer.Instance != "" && s.missed <= missable }

// look decides the peer's state from what arrived and what did not.
func (s State) look(now time.Time) State {
	state := s.PeerState
	said := PeerIdle
	if s.Peer.Phase == Serving {
		said = PeerServing
	}
	switch {
	case state == Alone:
	case s.Peer.Instance != "" && s.missed < missable:
		// A refusal can be forged. A peer that still sends is there.
		state = said
	case s.refused <= missable:
		state = PeerIdle
	case s.missed > missable<<s.doubts:
		state = PeerUnreachable
	case s.Peer.Instance != "":
		state = said
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

// due says whether to announce now. An edge that does not serve never does.
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

// mayClose says whether an edge that drains may close: its peer has taken over, or
// cannot, or did not in time.
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
