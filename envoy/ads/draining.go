// This file bounds the memory that former versions of listeners take in Envoy: above the bound, listeners do not change. It also
// keeps the clusters that earlier connections may still need.

package ads

import (
	"maps"
	"time"

	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/envoy/resources"
)

// The memory in bytes that a former listener, and each of its chains, takes in Envoy for the drain time. It was measured with
// Envoy 1.39 and rounded up.
const (
	formerListener = 16 << 10
	formerChain    = 4 << 10
	// formerAtOnce is how much former listeners may take before changes wait: 20 changes of a listener with 50 names.
	formerAtOnce = 4 << 20
	// formerPerMinute is how much former listeners may take in each further minute: a change every 5 s with 50 names. So all of them
	// take at most 34 MiB in the drain time.
	formerPerMinute = 3 << 20
)

// draining is the memory that former listeners take, and the clusters that they may still need.
type draining struct {
	room *rate.Limiter
	// Field left holds the clusters whose server names moved to another cluster, by hash. The value is until when an earlier
	// connection may still dial the cluster.
	left map[uint32]time.Time
}

func newDraining() *draining {
	return &draining{rate.NewLimiter(formerPerMinute/rate.Limit(time.Minute.Seconds()), formerAtOnce), map[uint32]time.Time{}}
}

// add counts parameter former, a listener that Envoy has replaced by version, or removed if version is empty.
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

// leftUntil returns until when a connection may still dial a cluster whose server names moved to another one. Zero: no connection
// may.
func (d *draining) leftUntil(cluster string, now time.Time) time.Time {
	if until := d.left[hashed(cluster)]; now.Before(until) {
		return until
	}
	return time.Time{}
}

// until returns when listeners may be added or changed. Zero: now. Removing a listener never waits.
func (d *draining) until(now time.Time) time.Time {
	lacking := -d.room.TokensAt(now)
	if lacking <= 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(lacking/float64(d.room.Limit())*float64(time.Second)) + time.Millisecond)
}
