// This file decides when an edge claims the next hop, what it says to its
// sibling, and when one that leaves may close. It is a function of what was seen
// and the time; it never sends, receives or reads a clock.

package failover

import (
	"slices"
	"time"
)

// Interval is how often an edge says what it does, and counts what it has not
// heard.
const Interval = 500 * time.Millisecond

const (
	// missable is how many heartbeats in a row may be missed.
	missable = 3
	// maxDoubts doublings of missable. A sibling that was only not heard is given
	// more time at the next silence, so that a bad link does not herd machines.
	maxDoubts = 4
	// forgiven is how long a sibling is heard until one doubt is forgotten.
	forgiven = time.Minute
	// claimAgain is how often what answers and does not serve is claimed against. A
	// machine's kernel ignores a claim in the first second after its entry changed
	// (neigh/default/locktime), as by the announcement of a pod just born.
	claimAgain = Interval
	// handover is how long an edge that leaves serves on, if its sibling claims:
	// until machines' kernels heed a claim, and its own kernel has done with a claim
	// of its own.
	handover = 2 * time.Second
	// leaveLimit is how long it waits for a sibling that does not claim.
	leaveLimit = 4 * time.Second
	// maxAnswers to messages that don't know us, in one Interval.
	maxAnswers = 8
	never      = 1 << 30
)

// lostAt is when a silence is claimed against, counted from the first claim.
// After the last there is none, so that two edges which both live and don't hear
// each other leave the machines in peace.
var lostAt = []time.Duration{0, time.Second, 3 * time.Second, 10 * time.Second}

// aloneAt is when an edge that is alone claims, counted from when it first serves.
// That cuts nobody's connection, since nobody else is to have any. The edge that a
// plan had before may be there for a while yet, and hear late that it is no more.
var aloneAt = append(slices.Clone(lostAt), 20*time.Second, 40*time.Second)

// A Sight is what an edge makes of its sibling.
type Sight string

// The sights.
const (
	// Alone: the plan has one edge.
	Alone Sight = "alone"
	// Unknown: it has not been looked for long enough.
	Unknown Sight = "unknown"
	// Serves: it says so.
	Serves Sight = "serves"
	// Idle: its kernel answers machines that ask for the next hop, and nothing
	// serves there: it starts, it leaves, or its guard is not there.
	Idle Sight = "idle"
	// Lost: nothing is heard.
	Lost Sight = "lost"
)

// A State is what one edge knows. It is a value: Next makes the one that
// follows.
type State struct {
	// Self is what the edge says of itself.
	Self Message
	// Sibling is what its sibling said last. Zero: nothing yet.
	Sibling Message
	Sight   Sight
	// Yields: the plan has this edge no more. It claims against a sibling that is
	// lost, and not against one whose kernel refuses: that is alone by plan, serves
	// and does not listen.
	Yields bool

	missed, refused int // Intervals since a message, since a refusal
	doubts, answers int
	heardSince      time.Time // Since when Sight is not Lost; a doubt less restarts it
	leaving         time.Time
	claims          int // Of Sight
	first, last     time.Time
}

// NewState is that of an edge which starts. Instance is by chance. Alone: there
// is no sibling by plan.
func NewState(edge int, instance string, alone bool) State {
	s := State{Self: Message{Phase: Starting, Edge: edge, Instance: instance}, Sight: Unknown, refused: never}
	if alone {
		s.Sight = Alone
	}
	return s
}

// A Kind is what happened.
type Kind int

// What can happen.
const (
	// Tick: an Interval has passed. Those that were missed are not made up for, so
	// an edge that slept for a while does not take its sibling for lost.
	Tick Kind = iota
	// Heard: Message came from the sibling's address.
	Heard
	// Refused: the sibling's kernel says that nobody listens (ICMP port
	// unreachable).
	Refused
	// Ready and NotReady: this edge serves, or not. Plan may have changed.
	Ready
	NotReady
	// Leave: this edge is to close.
	Leave
)

// An Event is one thing that happened.
type Event struct {
	Kind    Kind
	Message Message
	Plan    string
}

// Actions are what is to be done, in this order.
type Actions struct {
	// Claim the next hop.
	Claim bool
	// Say these to the sibling.
	Say []Message
	// Close: an edge that leaves need not wait any longer.
	Close bool
}

// Next is the state after e, and what is to be done about it.
func Next(s State, e Event, now time.Time) (State, Actions) {
	was := s
	stranger := ""
	switch e.Kind {
	case Tick:
		s.missed, s.refused, s.answers = min(s.missed+1, never), min(s.refused+1, never), 0
	case Heard:
		s, stranger = s.hear(e.Message, now)
	case Refused:
		s.refused = 0
	case Ready, NotReady:
		if s.Self.Phase == Leaving {
			break
		}
		s.Self.Phase, s.Self.Plan = Starting, e.Plan
		if e.Kind == Ready {
			s.Self.Phase = Serving
		}
	case Leave:
		if s.Self.Phase != Leaving {
			s.Self.Phase, s.leaving = Leaving, now
		}
	}
	s = s.look(now)
	var a Actions
	if s.due(now) {
		a.Claim = true
		if s.claims == 0 {
			s.first = now
		}
		s.claims, s.last = s.claims+1, now
	}
	s.Self.Peer, s.Self.Sees = s.Sibling.Instance, s.heard()
	s.Self.Claims = s.claims
	if stranger != "" {
		s.Self.Number++
		m := s.Self
		m.Peer = stranger
		a.Say = append(a.Say, m)
	}
	changed := s.Self.Phase != was.Self.Phase || s.Self.Plan != was.Self.Plan || a.Claim
	if s.Sight != Alone && (e.Kind == Tick || changed) {
		s.Self.Number++
		a.Say = append(a.Say, s.Self)
	}
	a.Close = s.mayClose(now)
	return s, a
}

// hear takes a message in. It counts only if its sender has heard us: who can't
// see what the sibling is sent can't speak for it. The instance of another is
// returned, to be answered, so that a sibling which starts can show that it hears.
func (s State) hear(m Message, now time.Time) (next State, stranger string) {
	switch {
	case s.Sight == Alone || m.Instance == s.Self.Instance:
		return s, ""
	case m.Peer != s.Self.Instance:
		if s.answers >= maxAnswers {
			return s, ""
		}
		s.answers++
		return s, m.Instance
	case m.Instance == s.Sibling.Instance && m.Number <= s.Sibling.Number:
		return s, ""
	case m.Instance == s.Sibling.Instance && s.Sight == Lost:
		// The same run of it: it was there all the time.
		s.doubts = min(s.doubts+1, maxDoubts)
		s.heardSince = now
	}
	s.Sibling, s.missed, s.refused = m, 0, never
	return s, ""
}

// heard says whether the sibling has been heard lately.
func (s State) heard() bool { return s.Sibling.Instance != "" && s.missed <= missable }

// look decides the sight from what was heard and what was not.
func (s State) look(now time.Time) State {
	sight := s.Sight
	said := Idle
	if s.Sibling.Phase == Serving {
		said = Serves
	}
	switch {
	case sight == Alone:
	case s.Sibling.Instance != "" && s.missed < missable:
		// A refusal can be forged; who still speaks is there.
		sight = said
	case s.refused <= missable:
		sight = Idle
	case s.missed > missable<<s.doubts:
		sight = Lost
	case s.Sibling.Instance != "":
		sight = said
	}
	if sight != s.Sight {
		s.claims, s.first, s.last = 0, time.Time{}, time.Time{}
		if s.Sight == Lost || s.Sight == Unknown {
			s.heardSince = now
		}
		s.Sight = sight
	}
	if s.doubts > 0 && s.Sight != Lost && now.Sub(s.heardSince) >= forgiven {
		s.doubts, s.heardSince = s.doubts-1, now
	}
	return s
}

// due says whether to claim now. Who does not serve never claims.
func (s State) due(now time.Time) bool {
	// What falls due within half an Interval is done now, not one Interval late.
	const early = Interval / 2
	if s.Self.Phase != Serving {
		return false
	}
	switch s.Sight {
	case Idle:
		if s.Yields && (s.Sibling.Phase == Serving || !s.heard()) {
			return false
		}
		return s.claims == 0 || now.Sub(s.last) >= claimAgain-early
	case Lost:
		return s.claims == 0 || s.claims < len(lostAt) && now.Sub(s.first) >= lostAt[s.claims]-early
	case Alone:
		return s.claims == 0 || s.claims < len(aloneAt) && now.Sub(s.first) >= aloneAt[s.claims]-early
	}
	return false
}

// mayClose says whether an edge that leaves may close: its sibling has taken the
// machines over, or can't, or was waited for long enough.
func (s State) mayClose(now time.Time) bool {
	if s.Self.Phase != Leaving {
		return false
	}
	switch s.Sight {
	case Alone, Lost:
		return true
	case Idle:
		if s.Sibling.Phase == Leaving || !s.heard() {
			return true
		}
	}
	waited := now.Sub(s.leaving)
	return s.heard() && s.Sibling.Claims > 0 && waited >= handover || waited >= leaveLimit
}
