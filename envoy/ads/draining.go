// This file bounds what former versions of listeners take of Envoy's memory: while it is much, listeners do not change.

package ads

import (
	"time"

	"golang.org/x/time/rate"
)

// What a previous listener takes of Envoy's memory for the drain time, as measured with Envoy 1.39 and rounded up.
const (
	formerListener = 16 << 10
	formerChain    = 4 << 10
	// formerAtOnce is what former listeners may take until changes wait: 20 changes of a listener of 50 names.
	formerAtOnce = 4 << 20
	// formerPerMinute is what they may take after that, so that it is 34 MiB at most in the drain time: a change each
	// 5 s with 50 names.
	formerPerMinute = 3 << 20
)

// draining is what former listeners take, as far as the time for it is not over.
type draining struct{ room *rate.Limiter }

func newDraining() *draining {
	return &draining{rate.NewLimiter(formerPerMinute/rate.Limit(time.Minute.Seconds()), formerAtOnce)}
}

// add counts a listener that Envoy has no longer. The chains of a listener of a previous release are unknown.
func (d *draining) add(former held, now time.Time) {
	cost := formerListener
	for _, version := range former.maybe {
		leads, _ := leadsOf(version)
		cost += len(leads) * formerChain
	}
	d.room.ReserveN(now, min(cost, formerAtOnce))
}

// until returns when listeners may change, or new ones be made. Zero: now. One that goes never waits.
func (d *draining) until(now time.Time) time.Time {
	lacking := -d.room.TokensAt(now)
	if lacking <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(lacking/float64(d.room.Limit())*float64(time.Second)) + time.Millisecond)
}
