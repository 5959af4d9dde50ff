package failover_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/failover/twins"
)

const twinMAC = "02:00:00:00:00:b2"

// A starter is edge 1 of the owner "m" on a played clock. Its servers answer from the beginning.
type starter struct {
	state  failover.State
	now    time.Time
	number uint64
	// calls and announcements count what it did.
	calls, announcements int
}

func newStarter() *starter {
	s := &starter{state: failover.NewState(failover.Self{Edge: 1, Instance: "self"}, false), now: time.Unix(1000, 0)}
	s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
	return s
}

func (s *starter) event(e failover.Event) {
	next, do := failover.Next(s.state, e, s.now)
	s.state = next
	if do.Call {
		s.calls++
	}
	if do.Announce {
		s.announcements++
	}
}

// pass lets d pass. In each interval the edge hears each message, over the VLAN.
func (s *starter) pass(d time.Duration, heard ...failover.Message) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(failover.Interval)
		s.event(failover.Event{Kind: failover.Tick, Observed: failover.Observation{Frames: uint64(s.now.Unix())}})
		for _, m := range heard {
			s.number++
			m.Number, m.Edge = s.number, 2
			s.event(failover.Event{Kind: failover.Heard, Message: m})
		}
	}
}

// ofTwin is a message of edge 2 of another owner that serves.
func ofTwin(owner string) failover.Message {
	return failover.Message{Phase: failover.Serving, Level: failover.LevelServes, Instance: "twin", Peer: "its peer", MAC: twinMAC, Claim: twins.Claim{Owner: owner, Incumbent: true}}
}

// ofPeer is a message of this edge's own peer that serves.
func ofPeer() failover.Message {
	return failover.Message{Phase: failover.Serving, Level: failover.LevelServes, Instance: "peer", Peer: "self", MAC: "02:00:00:00:00:a2", Claim: twins.Claim{Owner: "m", Incumbent: true}}
}

// TestTwins: which edge yields to edges of another management cluster. The pair that already serves never yields.
func TestTwins(t *testing.T) {
	changed := func(m failover.Message, change func(*failover.Message)) failover.Message { change(&m); return m }
	starts := func(m *failover.Message) {
		m.Phase, m.Level, m.Incumbent = failover.Starting, failover.LevelNothing, false
	}
	for name, c := range map[string]struct {
		before, heard []failover.Message
		alone         time.Duration // before it hears
		yields        bool
	}{
		"the twin serves":                             {heard: []failover.Message{ofTwin("a")}, yields: true},
		"the twin serves, and sorts last":             {heard: []failover.Message{ofTwin("z")}, yields: true},
		"this edge has served for 4 s":                {alone: 4 * time.Second, heard: []failover.Message{ofTwin("a")}},
		"this edge has served for a second":           {alone: time.Second, heard: []failover.Message{ofTwin("a")}, yields: true},
		"its own peer serves":                         {heard: []failover.Message{ofPeer(), ofTwin("a")}},
		"both start, the twin sorts first":            {heard: []failover.Message{changed(ofTwin("a"), starts)}, yields: true},
		"both start, the twin sorts last":             {heard: []failover.Message{changed(ofTwin("z"), starts)}},
		"its peer yields to a twin":                   {heard: []failover.Message{changed(ofPeer(), func(m *failover.Message) { starts(m); m.Outdone = twinMAC })}, yields: true},
		"an edge of the same cluster":                 {heard: []failover.Message{ofTwin("m")}},
		"an edge of a release that names no owner":    {heard: []failover.Message{ofTwin("")}},
		"a message without a MAC":                     {heard: []failover.Message{changed(ofTwin("a"), func(m *failover.Message) { m.MAC = "x" })}},
		"the peer, which learned another owner first": {before: []failover.Message{ofPeer()}, heard: []failover.Message{changed(ofPeer(), func(m *failover.Message) { m.Owner = "a" })}},
	} {
		t.Run(name, func(t *testing.T) {
			g, s := NewWithT(t), newStarter()
			s.pass(c.alone)
			if len(c.before) > 0 {
				s.pass(time.Second, c.before...)
			}
			s.pass(5*time.Second, c.heard...)
			want := ""
			if c.yields {
				want = twinMAC
			}
			g.Expect(s.state.Outdone).To(Equal(want))
			g.Expect(s.state.Yields).To(Equal(c.yields))
			if c.yields {
				g.Expect(s.state.Self.Level).To(Equal(failover.LevelNothing))
				g.Expect(s.announcements).To(BeZero(), "VMs stay with the twin")
			}
		})
	}
}

// TestIncumbentBlinks: edges that have served for long do not yield after a short time in which they did not serve, as when a switch
// restarts.
func TestIncumbentBlinks(t *testing.T) {
	g, s := NewWithT(t), newStarter()
	s.pass(10 * time.Second)
	s.event(failover.Event{Kind: failover.NotReady, Owner: "m"})
	s.pass(failover.Interval, ofTwin("a"))
	s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
	s.pass(5*time.Second, ofTwin("a"))
	g.Expect(s.state.Outdone).To(BeEmpty())
}

// TestTwinKeepsItsMAC: a host that sends as an edge with many MACs is one twin.
func TestTwinKeepsItsMAC(t *testing.T) {
	g, s := NewWithT(t), newStarter()
	s.pass(5 * time.Second)
	seen := map[string]bool{}
	for i := range 100 {
		m := ofTwin("a")
		m.Number, m.MAC = uint64(i+1), fmt.Sprintf("02:00:00:00:01:%02x", i)
		s.event(failover.Event{Kind: failover.Heard, Message: m})
		seen[s.state.Twins.MAC()] = true
	}
	g.Expect(seen).To(HaveLen(1))
}

// TestTwinIsGone: an edge that yields serves 30 s after the last message of the twin. Until then, it reports the twin as silent: the twin
// may send only to its own peer.
func TestTwinIsGone(t *testing.T) {
	g, s := NewWithT(t), newStarter()
	s.pass(20*time.Second, ofTwin("a"))
	g.Expect(s.calls).To(Equal(1), "when it started")
	s.pass(29 * time.Second)
	g.Expect(s.state.Outdone).To(Equal(twinMAC))
	g.Expect(s.calls).To(Equal(3))
	s.pass(5 * time.Second)
	g.Expect(s.state.Outdone).To(BeEmpty())
	g.Expect(s.state.Self.Level).To(Equal(failover.LevelServes))
	s.pass(20*time.Second, ofTwin("a"))
	g.Expect(s.state.Outdone).To(BeEmpty(), "it serves now, so the twin yields")
	g.Expect(s.state.Twins.MAC()).To(Equal(twinMAC), "it is reported")
}

// TestTwinThatNeverServes: an edge that sorts after a twin waits for ten seconds until the twin serves.
func TestTwinThatNeverServes(t *testing.T) {
	g, s, m := NewWithT(t), newStarter(), ofTwin("a")
	m.Phase, m.Level, m.Incumbent = failover.Starting, failover.LevelNothing, false
	s.pass(9*time.Second, m)
	g.Expect(s.state.Outdone).To(Equal(twinMAC))
	s.pass(2*time.Second, m)
	g.Expect(s.state.Outdone).To(BeEmpty())
	g.Expect(s.state.Self.Level).To(Equal(failover.LevelServes))
}

// TestNewPodListensForTwins: a new pod listens for twins before it sends announcements. An agent that restarts in its pod does not listen
// first.
func TestNewPodListensForTwins(t *testing.T) {
	for fresh, announces := range map[bool]int{true: 0, false: 1} {
		g, s := NewWithT(t), newStarter()
		s.state = failover.NewState(failover.Self{Edge: 1, Instance: "self", New: fresh}, false)
		s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
		s.event(failover.Event{Kind: failover.Refused})
		g.Expect(s.announcements).To(Equal(announces), "the peer does not run")
	}
	g, s := NewWithT(t), newStarter()
	s.state = failover.NewState(failover.Self{Edge: 1, Instance: "self", New: true}, false)
	s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
	s.event(failover.Event{Kind: failover.Refused})
	s.pass(5*time.Second, ofTwin("z"))
	g.Expect(s.announcements).To(BeZero(), "VMs stay with the twin")
}

// TestTwinOfASingleEdge: without a peer, an edge exchanges no heartbeats, so it notices no twin.
func TestTwinOfASingleEdge(t *testing.T) {
	g, s := NewWithT(t), newStarter()
	s.state = failover.NewState(failover.Self{Edge: 1, Instance: "self", New: true}, true)
	s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
	g.Expect(s.announcements).To(Equal(1))
	s.pass(5*time.Second, ofTwin("a"))
	g.Expect(s.state.Outdone).To(BeEmpty())
	g.Expect(s.state.Twins.MAC()).To(BeEmpty())
}

// TestNewPodListensOnItsLink: the time without a link does not count.
func TestNewPodListensOnItsLink(t *testing.T) {
	g, s := NewWithT(t), newStarter()
	s.state = failover.NewState(failover.Self{Edge: 1, Instance: "self", New: true}, false)
	for range 8 {
		s.now = s.now.Add(failover.Interval)
		s.event(failover.Event{Kind: failover.Tick, Observed: failover.Observation{NoLink: true}})
	}
	s.event(failover.Event{Kind: failover.Ready, Owner: "m"})
	s.pass(failover.Interval)
	s.event(failover.Event{Kind: failover.Refused})
	g.Expect(s.announcements).To(BeZero())
}
