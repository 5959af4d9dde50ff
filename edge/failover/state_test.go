package failover_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// pair is two edges that serve and see each other, after a while.
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
	w.claim = nil
	return w
}

// after is when edge by claimed, counted from since.
func (w *world) after(by int, since time.Time) []time.Duration {
	var out []time.Duration
	for _, c := range w.claim {
		if c.by == by && !c.at.Before(since) {
			out = append(out, c.at.Sub(since).Round(500*time.Millisecond))
		}
	}
	return out
}

// TestCauses: what makes an edge claim, and how often. Times are to the half
// second.
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
		"its agent is gone":  {func(w *world) { w.crash(1); w.pass(3200*time.Millisecond, nil); w.run(1); w.serve(1, true) }, seconds(1, 1.5, 2, 2.5, 3)},
		"it leaves":          {func(w *world) { w.leave(1); w.pass(1500*time.Millisecond, nil); w.die(1) }, seconds(0, .5, 1, 1.5, 2, 2.5, 3, 4, 6, 13)},
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
			g.Expect(w.after(1, since)).To(BeEmpty(), "the other has no reason")
		})
	}
}

// TestLeavesAfterItsPeerHasClaimed; and where nobody can take over,
// at once.
func TestLeavesAfterItsPeerHasClaimed(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	since := w.now
	w.leave(1)
	w.pass(5*time.Second, func() {
		if w.edges[1].serves {
			return
		}
		g.Expect(len(w.claim)).To(BeNumerically(">=", 3))
	})
	g.Expect(w.edges[1].closed).To(BeTrue())
	w.leave(0)
	g.Expect(w.edges[0].closed).To(BeTrue(), "there is nobody to wait for")
	g.Expect(w.after(1, since)).To(BeEmpty())

	s := failover.NewState(1, "a", true)
	_, do := failover.Next(s, failover.Event{Kind: failover.Drain}, w.now)
	g.Expect(do.Close).To(BeTrue())
	g.Expect(do.Send).To(BeEmpty())
}

// TestTwoThatDontSeeEachOther both live: they claim four times each, and then
// leave the machines in peace.
func TestTwoThatDontSeeEachOther(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.lost = [2]int{100, 100}
	w.pass(20*time.Second, nil)
	g.Expect(w.claim).To(HaveLen(8))
	w.pass(time.Hour, nil)
	g.Expect(w.claim).To(HaveLen(8))
	w.lost = [2]int{}
	w.pass(time.Minute, nil)
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
	g.Expect(w.claim).To(HaveLen(8))
}

// TestBadLink: a link that fails again and again herds machines ever more
// seldom; after a good time a loss is noticed as fast as ever.
func TestBadLink(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	for range 60 {
		w.lost = [2]int{100, 100}
		w.pass(6*time.Second, nil)
		w.lost = [2]int{}
		w.pass(6*time.Second, nil)
	}
	g.Expect(len(w.claim)).To(BeNumerically("<", 60), "of 60 times that each edge was not heard")
	w.pass(6*time.Minute, nil)
	w.claim = nil
	since := w.now
	w.die(1)
	w.pass(4*time.Second, nil)
	g.Expect(w.after(0, since)).NotTo(BeEmpty())
}

// TestAlone: a predecessor's MAC may be in the machines' tables.
func TestAlone(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(0, 0)
	s := failover.NewState(1, "a", true)
	claims, said := 0, 0
	step := func(k failover.Kind) {
		var do failover.Actions
		s, do = failover.Next(s, failover.Event{Kind: k}, now)
		said += len(do.Send)
		if do.Announce {
			claims++
		}
		now = now.Add(failover.Interval)
	}
	for range 10 {
		step(failover.Tick)
	}
	g.Expect(claims).To(BeZero(), "it does not serve yet")
	step(failover.Ready)
	g.Expect(claims).To(Equal(1))
	for range 1000 {
		step(failover.Tick)
	}
	g.Expect(claims).To(Equal(6))
	g.Expect(said).To(BeZero())
}

// TestTheEdgeThatGoes leaves the machines to the one that stays, which is alone by
// plan and does not listen; and has them while that one's pod is made anew.
func TestTheEdgeThatGoes(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.edges[0].state.Removed = true
	w.crash(1) // Its kernel refuses.
	w.pass(10*time.Minute, nil)
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerIdle))
	g.Expect(w.claim).To(BeEmpty())
	w.die(1)
	w.pass(time.Minute, nil)
	g.Expect(w.claim).To(HaveLen(4))
	w.boot(1)
	w.pass(time.Minute, nil)
	g.Expect(w.claim).To(HaveLen(4))

	// One that has not taken the plan in is heard, and taken over from as ever.
	w = pair(t)
	w.edges[0].state.Removed = true
	w.leave(1)
	w.pass(time.Second, nil)
	g.Expect(w.claim).NotTo(BeEmpty())
}

// TestForgery: who sends from the peer's address, but does not see what the
// peer is sent, changes nothing and hides nothing.
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
	g.Expect(w.claim).To(BeEmpty())
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
	g.Expect(w.edges[1].state.PeerState).To(Equal(failover.PeerServing))
	since := w.now
	w.die(1)
	w.pass(4*time.Second, forge)
	g.Expect(w.after(0, since)).NotTo(BeEmpty(), "the loss is noticed all the same")

	// A flood of them is not answered by a flood.
	answers := 0
	for range 1000 {
		n++
		next, do := failover.Next(w.edges[0].state, failover.Event{Kind: failover.Heard, Message: failover.Message{Phase: failover.Serving, Instance: "forged", Number: n}}, w.now)
		w.edges[0].state, answers = next, answers+len(do.Send)
	}
	g.Expect(answers).To(BeNumerically("<=", 8))

	// An old message does not undo a newer one.
	w = pair(t)
	old := w.edges[0].state.Peer
	w.serve(1, false)
	w.pass(100*time.Millisecond, nil)
	w.handle(0, failover.Event{Kind: failover.Heard, Message: old})
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerIdle))
}

// TestASleepIsNoLoss: an edge that did not run for a while does not take its
// peer for lost.
func TestASleepIsNoLoss(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.now = w.now.Add(time.Minute)
	w.pass(5*time.Second, nil)
	g.Expect(w.claim).To(BeEmpty())
}

// TestPlansAndSightAreTold: each edge knows what the other serves, and whether
// it is seen.
func TestPlansAndSightAreTold(t *testing.T) {
	g := NewWithT(t)
	w := pair(t)
	w.handle(1, failover.Event{Kind: failover.Ready, Plan: "next"})
	w.pass(100*time.Millisecond, nil)
	g.Expect(w.edges[0].state.Peer.Plan).To(Equal("next"), "without waiting for the next Interval")
	g.Expect(w.edges[0].state.Peer.Edge).To(Equal(2))
	g.Expect(w.edges[0].state.Peer.Sees).To(BeTrue())
	w.lost[0] = 100
	w.pass(5*time.Second, nil)
	g.Expect(w.edges[0].state.Peer.Sees).To(BeFalse(), "it is heard, and says that it hears nothing")
	g.Expect(w.edges[0].state.PeerState).To(Equal(failover.PeerServing))
}
