// This file decides whether an edge reaches the hosted API server, from ticks and the results of
// its checks.

package proxy

import "maps"

const (
	// reachTicks is how long a successful check proves reachability, in ticks from its start: 1.5 s.
	reachTicks = 3
	// openChecks limits the checks that are open. While they hang, a further check shows nothing.
	openChecks = 3
	// hungTicks is how many ticks a check may be open before a worker counts as hung: 3.5 s. A
	// worker dials for 0.75 s at most, and closes a silent connection after two seconds.
	hungTicks = 7
)

// A Reach is the result of the checks of an edge. The zero value does not reach the API server.
//
// Envoy gives a new connection to the worker with the fewest connections. So connections that are
// opened together go to different workers only if all workers had equally many connections before.
// A worker that hangs keeps its connections. Workers with fewer connections would get all further
// ones, so checks would succeed and prove nothing. So all connections of a check stay open until
// each is answered. A check is no proof while an earlier check was answered and is not closed, or
// while any check has been open for hungTicks. By then, the other workers have closed their
// connections, and so have fewer. One case is not noticed: a worker hangs between closing a
// connection and counting the close.
type Reach struct {
	// Reached: a recent check succeeded.
	Reached bool

	tick int
	// open has the tick at which each open check began, and whether it was answered. It is replaced,
	// never changed.
	open map[int]bool
	// good is the tick at which the last successful check began.
	good int
}

// Tick records that failover.Interval has passed. Missed ticks are not repeated. begin reports
// whether a check begins at this tick.
func (r Reach) Tick() (next Reach, begin bool) {
	r.tick++
	if r.tick-r.good >= reachTicks || r.hangs() {
		r.Reached = false
	}
	if begin = len(r.open) < openChecks; begin {
		r = r.with(r.tick, false)
	}
	return r, begin
}

// Now returns the number of the last tick.
func (r Reach) Now() int { return r.tick }

// Answered records that each connection of the check that began at a tick was answered.
func (r Reach) Answered(began int) Reach { return r.with(began, true) }

// Closed records that Envoy has closed each connection of the check that began at a tick. proof
// reports whether this shows that the API server is reached. While it is not reached, only a check
// of less than one tick is a proof. Slow answers must not make the edge's level go up and down.
func (r Reach) Closed(began int) (next Reach, proof bool) {
	answered, late := r.open[began], r.tick-began
	r.open = maps.Clone(r.open)
	delete(r.open, began)
	if !answered || late >= reachTicks || !r.Reached && late > 0 || r.closing(began) || r.hangs() {
		return r, false
	}
	r.Reached, r.good = true, max(r.good, began)
	return r, true
}

// closing reports whether a check that began before this tick was answered, and is not closed yet.
func (r Reach) closing(before int) bool {
	for began, answered := range r.open {
		if began < before && answered {
			return true
		}
	}
	return false
}

// hangs reports whether a check has been open for so long that a worker must hang.
func (r Reach) hangs() bool {
	for began := range r.open {
		if r.tick-began >= hungTicks {
			return true
		}
	}
	return false
}

func (r Reach) with(began int, answered bool) Reach {
	open := maps.Clone(r.open)
	if open == nil {
		open = map[int]bool{}
	}
	open[began] = answered
	r.open = open
	return r
}
