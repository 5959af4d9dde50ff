// This file knows former versions of listeners. It bounds what they take of Envoy's memory: while it is much, listeners do not
// change. And it keeps the clusters that their connections may still need.

package ads

import (
	"maps"
	"time"

	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/envoy/resources"
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

// draining is what former listeners take and need, as far as the time for it is not over.
type draining struct {
	room *rate.Limiter
	// left are the clusters that names have left for another one, hashed: until when a connection may begin there that a former
	// listener took.
	left map[uint32]time.Time
}

func newDraining() *draining {
	return &draining{rate.NewLimiter(formerPerMinute/rate.Limit(time.Minute.Seconds()), formerAtOnce), map[uint32]time.Time{}}
}

// add counts a listener that Envoy has no longer, and has another version instead, empty for none.
func (d *draining) add(former held, version string, now time.Time) {
	then := map[uint32]uint32{}
	for _, l := range leadsOf(version) {
		then[l.chain] = l.cluster
	}
	maps.DeleteFunc(d.left, func(_ uint32, until time.Time) bool { return !now.Before(until) })
	cost := formerListener
	for _, version := range former.maybe {
		leads := leadsOf(version)
		cost += len(leads) * formerChain
		for _, l := range leads {
			if to, stays := then[l.chain]; stays && to != l.cluster {
				d.left[l.cluster] = now.Add(resources.LongestStart)
			}
		}
	}
	d.room.ReserveN(now, min(cost, formerAtOnce))
}

// leftUntil returns until when a connection may begin at a cluster that its names have left. Zero: none may.
func (d *draining) leftUntil(cluster string, now time.Time) time.Time {
	if until := d.left[hashed(cluster)]; now.Before(until) {
		return until
	}
	return time.Time{}
}

// until returns when listeners may change, or new ones be made. Zero: now. One that goes never waits.
func (d *draining) until(now time.Time) time.Time {
	lacking := -d.room.TokensAt(now)
	if lacking <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(lacking/float64(d.room.Limit())*float64(time.Second)) + time.Millisecond)
}
