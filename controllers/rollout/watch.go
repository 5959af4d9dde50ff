// This file decides when the address conflict detection runs and when edges count as
// partitioned, and how soon to look again: both are reported in Leases, which the
// operator cannot watch.

package rollout

import (
	"slices"
	"time"
)

const (
	// PartitionInterval is how soon to look again while an edge does not hear its peer.
	PartitionInterval = 30 * time.Second
	// CheckInterval is how soon to look for the report of a check. That a check passed
	// is an event of its Deployment. Only the addresses in use are read from a Lease.
	CheckInterval = 5 * time.Second
	// SlowCheckInterval replaces CheckInterval once a check has run for slowCheckAfter.
	SlowCheckInterval = time.Minute
	slowCheckAfter    = 2 * time.Minute
	// Settled is how long both edges must have served until a lost peer is believed:
	// an edge that starts is heard, and reported, a little later.
	Settled = time.Minute
)

// checking reports whether no edge may be created yet. Where an edge exists no check is
// possible: the edge would answer for the addresses.
func (n Network) checking() bool {
	wanted := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Wanted != "" })
	exists := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Seen.Exists })
	passed := n.Check.Seen.Exists && n.Check.Seen.Version == n.Check.Wanted && n.Check.Seen.Available
	return wanted && !exists && !n.Check.Owned && !passed
}

// again is how soon to look for c's report. What changed last in its Deployment, or
// its creation, starts it.
func (c Check) again(now time.Time) time.Duration {
	since := c.Seen.Created
	if c.Seen.Progressed.After(since) {
		since = c.Seen.Progressed
	}
	if c.Seen.Exists && now.Sub(since) >= slowCheckAfter {
		return SlowCheckInterval
	}
	return CheckInterval
}

// partitioned is the first wanted edge that does not hear its peer while all wanted
// edges serve. It is named once they have served for Settled.
func partitioned(found []edge, now time.Time) (name string, again time.Duration) {
	var since time.Time
	wanted := 0
	for _, e := range found {
		if e.version == Unwanted {
			continue
		}
		if e.health != Serving {
			return "", 0
		}
		wanted++
		if e.Seen.Since.After(since) {
			since = e.Seen.Since
		}
		if e.Seen.PeerLost && name == "" {
			name = e.Name
		}
	}
	switch {
	case wanted < 2 || name == "":
		return "", 0
	case now.Sub(since) < Settled:
		return "", PartitionInterval
	}
	return name, PartitionInterval
}
