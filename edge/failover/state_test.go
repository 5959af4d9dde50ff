package failover_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// pair returns two edges that serve and have seen each other.
func pair(t *testing.T) *world {
	w := newWorld(7, 2)
	for i := range w.edges {
		w.boot(i)
		w.run(i)
		w.serve(i, true)
	}
	w.pass(5*time.Second, nil)
	g := NewWithT(t)
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
	g.Expect(w.edges[1].state.PeerState).To(Equal(failover.PeerServing))
	w.announced = nil
	return w
}

// after returns when edge by announced, counted from since.
func (w *world) after(by int, since time.Time) []time.Duration {
	var out []time.Duration
	for _, c := range w.announced {
		if c.by == by && !c.at.Before(since) {
			out = append(out, c.at.Sub(since).Round(500*time.Millisecond))
		}
	}
	return out
}

// TestCauses: which faults make an edge announce, and how often. Times are rounded to half
// a second.
func TestCauses(t *testing.T) {
	seconds := func(s ...float64) (out []time.Duration) {
		for _, s := range s {
			out = append(out, time.Duration(s*float64(time.Second)))
		}
		return out
	}
	for name, c := range map[string]struct {
		fault func(w *world)
		is    []time.Duration
	}{
		"nothing":            {func(*world) {}, nil},
		"the node is lost":   {func(w *world) { w.die(1) }, seconds(2, 3, 5, 12)},
		"its server fails":   {func(w *world) { w.serve(1, false); w.pass(3200*time.Millisecond, nil); w.serve(1, true) }, seconds(0, .5, 1, 1.5, 2, 2.5, 3)},
		"its agent crashed":  {func(w *world) { w.crash(1); w.pass(3200*time.Millisecond, nil); w.run(1); w.serve(1, true) }, seconds(1, 1.5, 2, 2.5, 3)},
		"it drains":          {func(w *world) { w.leave(1); w.pass(1500*time.Millisecond, nil); w.die(1) }, seconds(0, .5, 1, 1.5, 2, 2.5, 3, 4, 6, 13)},
		"its agent restarts": {func(w *world) { w.crash(1); w.run(1); w.serve(1, true) }, nil},
		"one way only":       {func(w *world) { w.lost[1] = 100 }, seconds(2, 3, 5, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := pair(t)
			since := w.now
			c.fault(w)
			w.pass(10*time.Minute, nil)
			got := w.after(0, since)
			g.Expect(got).To(HaveLen(len(c.is)), "%v", got)
			for i := range c.is {
				g.Expect(got[i]).To(BeNumerically("~", c.is[i], 500*time.Millisecond), "%v", got)
			}
			g.Expect(w.after(1, since)).To(BeEmpty(), "the peer has no reason to announce")
		})
	}
}

// TestDrainsUntilItsPeerHasAnnounced: an edge drains until its peer has sent an announcement. If no peer can take over, it drains
// immediately.
func TestDrainsUntilItsPeerHasAnnounced(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	since := w.now
	w.leave(1)
	w.pass(5*time.Second, func() {
		if w.edges[1].serves {
			return
		}
		g.Expect(len(w.announced)).To(BeNumerically(">=", 3))
	})
	g.Expect(w.edges[1].closed).To(BeTrue())
	w.leave(0)
	g.Expect(w.edges[0].closed).To(BeTrue(), "no peer to wait for")
	g.Expect(w.after(1, since)).To(BeEmpty())

	s := failover.NewState(failover.Self{Edge: 1, Instance: "a"}, true)
	_, do := failover.Next(s, failover.Event{Kind: failover.Drain}, w.now)
	g.Expect(do.Close).To(BeTrue())
	g.Expect(do.Send).To(BeEmpty())
}

// TestEdgesThatStartTogether: only one of them announces, whichever is first, so no VM moves in turns. Alone,
// either edge announces.
func TestEdgesThatStartTogether(t *testing.T) {
	for name, c := range map[string]struct{ serve, announce []int }{
		"edge 1 first": {[]int{0, 1}, []int{0}}, "edge 2 first": {[]int{1, 0}, []int{0}}, "edge 1 alone": {[]int{0}, []int{0}}, "edge 2 alone": {[]int{1}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(7, 2)
			for i := range w.edges {
				w.boot(i)
				w.run(i)
			}
			w.pass(5*time.Second, nil)
			since := w.now
			for _, i := range c.serve {
				w.serve(i, true)
			}
			w.pass(700*time.Millisecond, nil)
			for i := range w.edges {
				g.Expect(len(w.after(i, since)) > 0).To(Equal(slices.Contains(c.announce, i)), "edge %d: %v", i+1, w.after(i, since))
			}
		})
	}
}

// TestPartition: two edges that do not hear each other announce four times each, then
// stop.
func TestPartition(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.lost = [2]int{100, 100}
	w.pass(20*time.Second, nil)
	g.Expect(w.announced).To(HaveLen(8))
	w.pass(time.Hour, nil)
	g.Expect(w.announced).To(HaveLen(8))
	w.lost = [2]int{}
	w.pass(time.Minute, nil)
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
	g.Expect(w.announced).To(HaveLen(8))
}

// TestBadLink: a link that fails repeatedly moves VMs less and less often. After a time without failures, a loss is noticed as fast as
// before.
func TestBadLink(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	for range 60 {
		w.lost = [2]int{100, 100}
		w.pass(6*time.Second, nil)
		w.lost = [2]int{}
		w.pass(6*time.Second, nil)
	}
	g.Expect(len(w.announced)).To(BeNumerically("<", 60), "each edge was silent 60 times")
	w.pass(6*time.Minute, nil)
	w.announced = nil
	since := w.now
	w.die(1)
	w.pass(4*time.Second, nil)
	g.Expect(w.after(0, since)).NotTo(BeEmpty())
}

// TestAlone: a single edge sends an announcement when it starts to serve, because VMs may still have the MAC of a previous edge.
func TestAlone(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(0, 0)
	s := failover.NewState(failover.Self{Edge: 1, Instance: "a"}, true)
	announcements, said := 0, 0
	step := func(k failover.Kind) {
		var do failover.Actions
		s, do = failover.Next(s, failover.Event{Kind: k}, now)
		said += len(do.Send)
		if do.Announce {
			announcements++
		}
		now = now.Add(failover.Interval)
	}
	for range 10 {
		step(failover.Tick)
	}
	g.Expect(announcements).To(BeZero(), "it does not serve yet")
	step(failover.Ready)
	g.Expect(announcements).To(Equal(1))
	for range 1000 {
		step(failover.Tick)
	}
	g.Expect(announcements).To(Equal(6))
	g.Expect(said).To(BeZero())
}

// TestRemovedEdge leaves the VMs to the remaining edge, which is alone by plan and does
// not listen. It takes over while the pod of the remaining edge is recreated.
func TestRemovedEdge(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.edges[0].state.Removed = true
	w.crash(1) // Its kernel refuses.
	w.pass(10*time.Minute, nil)
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerIdle))
	g.Expect(w.announced).To(BeEmpty())
	w.die(1)
	w.pass(time.Minute, nil)
	g.Expect(w.announced).To(HaveLen(4))
	w.boot(1)
	w.pass(time.Minute, nil)
	g.Expect(w.announced).To(HaveLen(4))

	// A remaining edge with the old plan is heard and taken over from as usual.
	w = pair(t)
	w.edges[0].state.Removed = true
	w.leave(1)
	w.pass(time.Second, nil)
	g.Expect(w.announced).NotTo(BeEmpty())
}

// TestForgery: a host that sends from the peer's address, but does not receive what is
// sent to the peer, changes nothing and hides nothing.
func TestForgery(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	other := w.edges[0].state.Peer
	n := uint64(1 << 40)
	forge := func() {
		for _, phase := range []failover.Phase{failover.Serving, failover.Draining, failover.Starting} {
			for _, peer := range []string{"", "guess", other.Instance} {
				n++
				w.handle(0, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: phase, Edge: 2, Instance: "forged", Number: n, Peer: peer, Announcements: 9}})
				w.handle(0, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: phase, Edge: 2, Instance: other.Instance, Number: n, Peer: peer, Announcements: 9}})
			}
		}
		w.handle(0, failover.Event{Kind: failover.Refused})
	}
	w.pass(time.Minute, forge)
	g.Expect(w.announced).To(BeEmpty())
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
	g.Expect(w.edges[1].state.PeerState).To(Equal(failover.PeerServing))
	since := w.now
	w.die(1)
	w.pass(4*time.Second, forge)
	g.Expect(w.after(0, since)).NotTo(BeEmpty(), "the loss is still noticed")

	// A flood of forged messages does not cause a flood of answers.
	answers := 0
	w.edges[0].state, _ = failover.Next(w.edges[0].state, failover.Event{Kind: failover.Tick}, w.now)
	for range 1000 {
		n++
		next, do := failover.Next(w.edges[0].state, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: failover.Serving, Instance: "forged", Number: n}}, w.now)
		w.edges[0].state, answers = next, answers+len(do.Send)+len(do.Answers)
	}
	g.Expect(answers).To(Equal(8))

	// An old message does not undo a newer one.
	w = pair(t)
	old := w.edges[0].state.Peer
	w.serve(1, false)
	w.pass(100*time.Millisecond, nil)
	w.handle(0, failover.Event{Kind: failover.Heard, Message: old})
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerIdle))
}

// TestSuspendedEdge: an edge that was suspended does not consider its peer unreachable.
func TestSuspendedEdge(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.now = w.now.Add(time.Minute)
	w.pass(5*time.Second, nil)
	g.Expect(w.announced).To(BeEmpty())
}

// TestPeerReports: each edge knows the plan of its peer, and whether the peer receives its messages.
func TestPeerReports(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.handle(1, failover.Event{Kind: failover.Ready, Plan: "next"})
	w.pass(100*time.Millisecond, nil)
	g.Expect(w.edges[0].state.Peer.Plan).To(Equal("next"), "without waiting for the next Interval")
	g.Expect(w.edges[0].state.Peer.Edge).To(Equal(2))
	g.Expect(w.edges[0].state.Peer.Sees).To(BeTrue())
	w.lost[0] = 100
	w.pass(5*time.Second, nil)
	g.Expect(w.edges[0].state.Peer.Sees).To(BeFalse(), "the peer is heard, and reports that it hears nothing")
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
}

// TestOnlyAPromptAnswerIsAProof: an edge whose checks are answered late sends no announcement when its peer loses the API server. The
// peer's checks may only be later.
func TestOnlyAPromptAnswerIsAProof(t *testing.T) {
	for late, announces := range map[time.Duration]bool{
		0: true, failover.Interval - time.Millisecond: true, failover.Interval: false, 1400 * time.Millisecond: false,
	} {
		t.Run(late.String(), func(t *testing.T) {
			g := NewWithT(t)
			w := pair(t)
			answered := func() {
				w.handle(0, failover.Event{Kind: failover.Reached, Began: w.now.Add(-late)})
			}
			answered()
			w.handle(1, failover.Event{Kind: failover.Reached, Began: w.now})
			w.pass(5*time.Second, answered)
			w.handle(1, failover.Event{Kind: failover.Unreached})
			w.pass(5*time.Second, answered)
			g.Expect(w.edges[0].state.Self.Level).To(Equal(failover.LevelReaches), "a late answer is an answer")
			g.Expect(w.edges[0].state.Peer.Level).To(Equal(failover.LevelServes))
			g.Expect(len(w.announced) > 0).To(Equal(announces))
		})
	}
}

// TestAMomentMovesNoVM: an edge takes over only after two messages of its peer. A peer that loses the API server, and reaches it again
// before its next heartbeat, has sent only one.
func TestAMomentMovesNoVM(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	peer := failover.NewState(failover.Self{Edge: 2, Instance: "b"}, false)
	next := func(e failover.Event) failover.Actions {
		var do failover.Actions
		peer, do = failover.Next(peer, e, now)
		return do
	}
	n := uint64(0)
	hear := func(l failover.Level) bool {
		n++
		return next(failover.Event{Kind: failover.Heard, Message: failover.Message{
			Phase: failover.Serving, Edge: 1, Instance: "a", Number: n, Peer: "b", Sees: true, Level: l}}).Announce
	}
	// interval ends with a heartbeat of each edge. The peer's own check is answered promptly.
	interval := func(l failover.Level) bool {
		now = now.Add(failover.Interval)
		ticked := next(failover.Event{Kind: failover.Tick}).Announce
		reached := next(failover.Event{Kind: failover.Reached, Began: now}).Announce
		return hear(l) || ticked || reached
	}
	next(failover.Event{Kind: failover.Ready})
	for range 10 {
		interval(failover.LevelReaches)
	}
	for range 10 {
		now = now.Add(failover.Interval / 4)
		g.Expect(hear(failover.LevelServes)).To(BeFalse(), "Unreached")
		now = now.Add(failover.Interval / 4)
		g.Expect(next(failover.Event{Kind: failover.Reached, Began: now}).Announce).To(BeFalse(), "its own check")
		g.Expect(hear(failover.LevelReaches)).To(BeFalse(), "Reached")
		g.Expect(interval(failover.LevelReaches)).To(BeFalse())
	}
	g.Expect(hear(failover.LevelServes)).To(BeFalse())
	g.Expect(interval(failover.LevelServes)).To(BeTrue(), "not only a moment")
}
