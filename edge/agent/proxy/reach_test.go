package proxy

import (
	"testing"

	. "github.com/onsi/gomega"
)

// reached is a Reach with a good check at its last tick.
func reached() Reach {
	r, _ := Reach{}.Tick()
	r, _ = closed(r, 1)
	return r
}

// closed is r after a check was answered and closed.
func closed(r Reach, began int) (Reach, bool) { return r.Answered(began).Closed(began) }

// TestReachIsLostAfterThreeTicks without a good check, whether checks fail or hang. An edge
// that had no good check reaches nothing.
func TestReachIsLostAfterThreeTicks(t *testing.T) {
	for name, fails := range map[string]bool{"checks fail": true, "checks hang": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(Reach{}.Reached).To(BeFalse())
			r := reached()
			var lost []bool
			for range 4 {
				var begin bool
				if r, begin = r.Tick(); begin && fails {
					r, _ = r.Closed(r.Now())
				}
				lost = append(lost, !r.Reached)
			}
			g.Expect(lost).To(Equal([]bool{false, false, true, true}))
		})
	}
}

// TestReachBearsSlowAnswers of less than 1.5 s. Once it is lost, only a quick answer counts.
func TestReachBearsSlowAnswers(t *testing.T) {
	g := NewWithT(t)
	r := reached()
	r, _ = r.Tick()
	for range 10 {
		var begin, proof bool
		r, begin = r.Tick()
		g.Expect(begin && r.Reached).To(BeTrue())
		r, proof = closed(r, r.Now()-1)
		g.Expect(proof).To(BeTrue())
	}
	lost := reached()
	for range reachTicks {
		lost, _ = lost.Tick()
	}
	g.Expect(lost.Reached).To(BeFalse())
	late, proof := closed(lost, lost.Now()-1)
	g.Expect(proof || late.Reached).To(BeFalse(), "a slow answer")
	back, proof := closed(lost, lost.Now())
	g.Expect(proof && back.Reached).To(BeTrue(), "a quick answer")
}

// TestReachWaitsForHangingChecks: no check begins while three hang, since the connections
// of further ones would all go to the other workers.
func TestReachWaitsForHangingChecks(t *testing.T) {
	g := NewWithT(t)
	r := reached()
	var begun []bool
	for range 5 {
		var begin bool
		r, begin = r.Tick()
		begun = append(begun, begin)
	}
	g.Expect(begun).To(Equal([]bool{true, true, true, false, false}))
	r, _ = closed(r, 2)
	r, begin := r.Tick()
	g.Expect(begin).To(BeTrue())
	r, proof := closed(r, r.Now())
	g.Expect(proof && r.Reached).To(BeTrue())
}

// TestReachNeedsClosedChecks: a worker that hangs after its answer keeps the connection, so
// the other workers get both connections of further checks.
func TestReachNeedsClosedChecks(t *testing.T) {
	g := NewWithT(t)
	r, _ := reached().Tick()
	r = r.Answered(r.Now())
	for range reachTicks {
		var begin, proof bool
		r, begin = r.Tick()
		g.Expect(begin).To(BeTrue())
		r, proof = closed(r, r.Now())
		g.Expect(proof).To(BeFalse())
	}
	g.Expect(r.Reached).To(BeFalse())
	r, proof := r.Closed(2)
	g.Expect(proof).To(BeFalse(), "it took too long")
	r, _ = r.Tick()
	r, proof = closed(r, r.Now())
	g.Expect(proof && r.Reached).To(BeTrue())
}

// TestReachSeesAWorkerThatHangs, although all further checks go to the other workers. That
// happens if the agent stalls, and these close their connections of the first check.
func TestReachSeesAWorkerThatHangs(t *testing.T) {
	g := NewWithT(t)
	r, _ := reached().Tick()
	hangs := r.Now()
	for range 3 * hungTicks {
		var begin, proof bool
		r, begin = r.Tick()
		g.Expect(begin).To(BeTrue())
		r, proof = closed(r, r.Now())
		g.Expect([]bool{proof, r.Reached}).To(HaveEach(r.Now()-hangs < hungTicks), "%d ticks later", r.Now()-hangs)
	}
	r, _ = r.Closed(hangs)
	r, _ = r.Tick()
	r, proof := closed(r, r.Now())
	g.Expect(proof && r.Reached).To(BeTrue(), "the worker goes on")
}

// TestReachBearsASilentBackend: a check that is not answered says nothing about later ones.
func TestReachBearsASilentBackend(t *testing.T) {
	g := NewWithT(t)
	r, _ := reached().Tick()
	for range 3 {
		var proof bool
		r, _ = r.Tick()
		r, proof = closed(r, r.Now())
		g.Expect(proof && r.Reached).To(BeTrue())
	}
}
