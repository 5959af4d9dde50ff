// This file holds what one edge knows, and Next, which decides what follows from an event.
// Next decides when to announce, what to send, and when a draining edge may close. It is a
// function of the events and the time. It never sends, receives or reads a clock. The
// parts of the decision are in hear.go, observe.go, peer.go and due.go.

package failover

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover/twins"
	"github.com/cldmnky/oooi/reported"
)

// Interval is how often an edge sends a heartbeat, and checks for how long its peer has been silent.
const Interval = 500 * time.Millisecond

const (
	// missable limits the heartbeats in a row that may be missed.
	missable = 3
	// handover is how long a draining edge keeps serving if its peer announces. Within this time
	// VMs' kernels accept the peer's announcement, and the kernel stops repeating the edge's own
	// last one.
	handover = 2 * time.Second
	// drainLimit is how long a draining edge waits for a peer that does not announce.
	drainLimit = 4 * time.Second
	unbounded  = 1 << 30
)

// A PeerState is what an edge knows about its peer.
type PeerState string

// States of the peer.
const (
	// Alone: the plan has one edge, so there is no peer.
	Alone PeerState = "alone"
	// Unknown: the edge has not listened for long enough.
	Unknown PeerState = "unknown"
	// PeerServing: the peer reports that it serves, at no lower level than this edge.
	PeerServing PeerState = reported.PeerServing
	// PeerImpaired: the peer reports that it serves, at a lower level than this edge.
	PeerImpaired PeerState = reported.PeerImpaired
	// PeerIdle: the peer's kernel answers ARP for the next-hop VIP, but the peer does not
	// serve. It starts, it drains, or its failover agent does not run.
	PeerIdle PeerState = "idle"
	// PeerUnreachable: no message arrives over the VLAN, and no other sign shows that the peer serves.
	PeerUnreachable PeerState = reported.PeerUnreachable
)

// A Path is a network between the two edges.
type Path int

// The paths.
const (
	// VLAN is the network of the VMs.
	VLAN Path = iota
	// ClusterNetwork is the pod network. It is the second path, and may be missing.
	ClusterNetwork
)

// A Self identifies one run of an edge.
type Self struct {
	// Edge is the edge's number in the plan.
	Edge int
	// Instance is random for each run.
	Instance string
	// Generation is when the edge's pod first started, in milliseconds of Unix time. 0: unknown.
	Generation int64
	// Address is the pod's address on the cluster network. Zero: the edge has no second path.
	Address netip.Addr
	// MAC is the MAC of the edge's interface on the VLAN. Empty: unknown.
	MAC string
	// New: this run is the first one of the pod. The edge listens for twins (package twins) for three seconds before it
	// announces.
	New bool
}

// A State is what one edge knows. It is an immutable value: Next returns the next one.
type State struct {
	// Self is what the edge sends about itself.
	Self Message
	// Peer is the last message of the peer, over either path. Zero: none yet.
	Peer      Message
	PeerState PeerState
	// Removed: the plan no longer has this edge. This edge announces while its peer is unreachable,
	// but not while the peer's kernel refuses heartbeats. The peer is then the only edge of the
	// plan, so it serves and does not listen.
	Removed bool
	// Deaf: this edge receives nothing over the VLAN although it should.
	Deaf bool
	// Yields: a younger pod has this edge's number, or Outdone is not empty. This edge does not announce.
	Yields bool
	// Outdone is the MAC of an edge of another management cluster that serves in place of this edge. Empty: none.
	Outdone string
	// Twins is what this edge knows about edges of other management clusters.
	Twins twins.State

	clock clock
	// seen summarizes what arrived over the VLAN, and paths what arrived from the peer over each network.
	seen    reception
	paths   [2]path
	peerMAC string        // as named over the cluster network
	pods    [2]netip.Addr // of the peer and of its previous pod, as heard over the cluster network, where no VM can forge
	heardAt time.Time     // when a message of the peer arrived last
	// refused counts Intervals since a refusal, and elder since a message of a previous pod of the
	// peer. sighted counts Intervals in a row in which sightedOnly was true.
	refused, elder, sighted int
	younger                 bool   // a younger pod has this edge's number
	answers                 [2]int // to unknown instances in this Interval
	// doubts counts the silences of the peer without a known cause, less those that were forgiven. heardSince is when the
	// peer was heard again, or when the last doubt was forgiven.
	doubts     int
	heardSince time.Time
	// reached: the API server answers. prompt counts the probes in a row that it answered within an Interval. provenAt
	// is the start of the latest probe after which prompt was at least promptLimit. Zero: there was none since the API
	// server last failed to answer.
	reached       bool
	prompt        int
	provenAt      time.Time
	advantage     advantage
	drainingSince time.Time
	schedule      schedule
}

// A clock records when an edge ran.
type clock struct {
	ticks int
	last  time.Time // tick
	held  int       // Intervals for which the edge does not announce, after a start or a stall
}

// A path is what arrived from the peer over one network.
type path struct {
	silent int    // Intervals since a message
	number uint64 // of the last message
}

// NewState returns the state of an edge that starts. If alone is true, the plan has no peer.
func NewState(self Self, alone bool) State {
	s := State{
		Self:      Message{Phase: Starting, Edge: self.Edge, Instance: self.Instance, Generation: self.Generation, Address: self.Address, MAC: self.MAC, Level: LevelNothing},
		PeerState: Unknown, refused: unbounded, elder: unbounded, paths: [2]path{{}, {silent: unbounded}},
	}
	if alone {
		s.PeerState = Alone
	} else if self.New {
		s.clock.held = patience
	}
	return s
}

// A Kind is the kind of an Event.
type Kind int

// Kinds of events.
const (
	// Tick: an Interval has passed, and Observed was seen in it. Missed ticks are not
	// repeated, so an edge that was suspended does not consider its peer unreachable.
	Tick Kind = iota
	// Heard: Message arrived over Path, from the peer's address.
	Heard
	// Refused: the peer's kernel reports that no process listens on the VLAN (ICMP port
	// unreachable).
	Refused
	// Ready and NotReady: this edge serves, or does not. Plan, Owner and Stale may have changed.
	Ready
	NotReady
	// Reached: the API server answered a probe through this edge's Envoy, begun at Began.
	Reached
	// Unreached: the API server answered no recent probe.
	Unreached
	// Drain: this edge must stop.
	Drain
)

// An Event is one thing that happened.
type Event struct {
	Kind     Kind
	Message  Message
	Path     Path
	Plan     string
	Owner    string
	Stale    bool
	Began    time.Time
	Observed Observation
}

// Actions are to be carried out in this order.
type Actions struct {
	// Announce: send a failover announcement of the VIPs, and of the published addresses on the link.
	Announce bool
	// Call: make the peer's kernel store this edge's MAC for this edge's address, as an announcement does for the VIPs.
	// The peer's kernel may still have the MAC of a previous pod.
	Call bool
	// Answers are sent before Send.
	Answers []Answer
	// Send are the messages to send to the peer, over both paths.
	Send []Message
	// Probe: probe the peer's kernel and known VMs over the VLAN. The next Tick observes answers.
	Probe bool
	// Close: a draining edge need not wait any longer.
	Close bool
}

// An Answer is for one instance that is not, or not yet, the peer. It is sent over the
// VLAN, and to Address on the cluster network if that is valid.
type Answer struct {
	Message  Message
	Address  netip.Addr
	instance string
}

// Next returns the state after e, and the actions.
func Next(s State, e Event, now time.Time) (State, Actions) {
	was := s
	s, answer := s.wake(now).take(e, now)
	s = s.yield()
	s.Deaf = s.deaf(now)
	if level := s.level(); level != s.Self.Level {
		s.Self.Level = level
		s.advantage = s.advantage.changed(now)
	}
	s = s.look(now)
	var a Actions
	s, a.Announce = s.announce(now)
	s.Self.Peer, s.Self.PeerGeneration = s.Peer.Instance, s.Peer.Generation
	s.Self.Sees = s.Heard(VLAN) && !s.seen.last.NoLink
	s.Self.Announcements = s.schedule.count
	if answer.instance != "" {
		s.Self.Number++
		answer.Message = s.Self
		answer.Message.Peer = answer.instance
		a.Answers = append(a.Answers, answer)
	}
	changed := s.Self.Phase != was.Self.Phase || s.Self.Plan != was.Self.Plan || s.Self.Level != was.Self.Level || s.Self.Stale != was.Self.Stale || a.Announce
	if s.PeerState != Alone && (e.Kind == Tick || changed) {
		s.Self.Number++
		a.Send = append(a.Send, s.Self)
	}
	if e.Kind == Tick {
		a.Call, a.Probe = s.calls(), s.probes()
	}
	a.Close = s.mayClose(now)
	return s, a
}

// take returns the state after e, before any decision. The Answer has no Message yet. Its instance is empty if no answer
// is due.
func (s State) take(e Event, now time.Time) (State, Answer) {
	switch e.Kind {
	case Tick:
		s = s.tick(e.Observed, now)
	case Heard:
		return s.hear(e.Message, e.Path, now)
	case Refused:
		s.refused = 0
	case Ready, NotReady:
		s.Self.Stale, s.Self.Owner = e.Stale, e.Owner
		if s.Self.Phase == Draining {
			break
		}
		if e.Kind == Ready && s.Self.Phase == Starting && s.mayStartTogether() {
			s.clock.held = max(s.clock.held, 1)
		}
		s.Self.Phase, s.Self.Plan = Starting, e.Plan
		if e.Kind == Ready {
			s.Self.Phase = Serving
		}
	case Reached:
		s = s.proven(e.Began, now)
	case Unreached:
		s.reached, s.prompt, s.provenAt = false, 0, time.Time{}
	case Drain:
		if s.Self.Phase != Draining {
			s.Self.Phase, s.drainingSince = Draining, now
		}
	}
	return s, Answer{}
}

// mayStartTogether reports whether the peer may start to serve at the same time. Two edges that
// announce at the same time move VMs back and forth while their kernels repeat the announcements.
// So the edge with the higher number waits for its next tick. By then it has usually heard that
// its peer serves.
func (s State) mayStartTogether() bool {
	return s.Self.Edge > s.Peer.Edge && s.Peer.Phase == Starting && s.PeerHeard()
}

// mayClose reports whether a draining edge may close: its peer has announced, cannot take over, or has not announced in
// time.
func (s State) mayClose(now time.Time) bool {
	if s.Self.Phase != Draining {
		return false
	}
	switch s.PeerState {
	case Alone, PeerUnreachable:
		return true
	case PeerIdle:
		if s.Peer.Phase == Draining || !s.PeerHeard() {
			return true
		}
	}
	waited := now.Sub(s.drainingSince)
	return s.PeerHeard() && s.Peer.Announcements > 0 && waited >= handover || waited >= drainLimit
}
