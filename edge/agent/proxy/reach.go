// This file decides whether an edge reaches the hosted API server, from the results of its
// checks. It is a function of ticks and results. File reach_check.go carries out the
// checks.

package proxy

import "maps"

const (
	// reachTicks is how long a good check counts, in ticks from its start: 1.5 s. After that the API
	// server counts as unreached.
	reachTicks = 3
	// openChecks is how many checks may be open. While they hang, a further check shows nothing.
	openChecks = 3
	// hungTicks is how many ticks a check may be open: 3.5 s. A worker dials for 0.75 s at
	// most, and closes a silent connection after two seconds, unless the worker hangs.
	hungTicks = 7
)

// A Reach is what the checks of an edge showed. The zero value is an edge that does not
// reach the API server.
//
// Envoy gives a new connection to the worker with the fewest connections. So connections that are
// opened together go to different workers only if all workers had equally many before. A worker
// that hangs keeps its connections. If the other workers have fewer, they get all further
// connections: checks would be good and prove nothing. So all connections of a check stay open
// until each is answered. While a check that was answered is not closed, no later check is a
// proof. The same is true while an older check has been open for hungTicks: the other workers
// have closed their connections of that check, and so have fewer. One case is not noticed: a
// worker hangs between closing a connection and counting this.
type Reach struct {
	// Reached: a recent check was good.
	Reached bool

	tick int
	// open has an entry for each open check: the tick at which the check began, and whether it was
	// answered. The map is never changed, only replaced.
	open map[int]bool
	// good is the tick at which the last good check began.
	good int
}

// Tick records that failover.Interval has passed. Missed ticks are not repeated, so an
// edge that was suspended loses nothing. Begin: a check is due, and begins at this tick.
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

// Closed records that Envoy has closed each connection of the check that began at a tick. Proof:
// the check proves that the API server is reached. Once the API server counts as unreached, only
// a check of less than one tick makes it reached again: slow answers must not make the edge's
// level go up and down.
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

// closing reports whether a check that began before a tick was answered and is not closed.
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
