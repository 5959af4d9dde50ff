// This file decides when the address conflict detection runs, and what follows where two
// edges that serve do not hear each other.

package rollout

import (
	"slices"
	"time"
)

// Settled is how long both edges must have served until a lost peer is reported: an edge
// that starts is heard, and reported, a little later.
const Settled = time.Minute

// checking reports whether no edge may be created yet. Where an edge exists no check is
// possible: the edge would answer for the addresses.
func (n Network) checking() bool {
	wanted := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Wanted != "" })
	exists := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Seen.Exists })
	passed := n.Check.Seen.Exists && n.Check.Seen.Version == n.Check.Wanted && n.Check.Seen.Available
	return wanted && !exists && !n.Check.Owned && !passed
}

// A partition is what is known of two edges that serve while one hears nothing of the
// other. Each may serve VMs that do not reach the other edge.
type partition struct {
	// edge is the first one that hears nothing, once that is settled. Empty: none.
	edge string
	// since is when a partition was first seen. Zero: there is none.
	since time.Time
	// holds says that no edge that serves is recreated or drained.
	holds bool
	// again is when one of these changes without a change of the edges. 0: never.
	again time.Duration
}

// partitionOf looks at the wanted edges. before is since as it was decided last. It counts
// on while an edge does not serve: a report outlives its pod, and proves nothing then. So
// what holds the edges ends after Deadline, whatever they report.
func partitionOf(found []edge, before, now time.Time) partition {
	wanted := slices.DeleteFunc(slices.Clone(found), func(e edge) bool { return e.version == Unwanted })
	lost := slices.IndexFunc(wanted, func(e edge) bool { return e.Seen.PeerLost })
	serve := !slices.ContainsFunc(wanted, func(e edge) bool { return e.health != Serving })
	if len(wanted) < 2 || lost < 0 || !serve && before.IsZero() {
		return partition{}
	}
	p := partition{since: before}
	if before.IsZero() || before.After(now) { // The clock was set back.
		p.since = now
	}
	if !serve {
		return p
	}
	if left := p.since.Add(Deadline).Sub(now); left > 0 {
		p.holds, p.again = true, left
	}
	youngest := slices.MaxFunc(wanted, func(a, b edge) int { return a.Seen.Since.Compare(b.Seen.Since) })
	if left := youngest.Seen.Since.Add(Settled).Sub(now); left > 0 {
		p.again = sooner(p.again, left)
		return p
	}
	p.edge = wanted[lost].Name
	return p
}

// sooner is the shorter of two times, where 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
