// This file decides what follows where one of two edges that serve may be no substitute for
// the other.

package rollout

import (
	"slices"
	"time"
)

// Settled is how long both edges must have served until a lost peer is reported: an edge
// that starts is heard, and reported, a little later.
const Settled = time.Minute

// A doubt is what follows where two edges serve, and one of them may be no substitute for
// the other. They are partitioned: one hears nothing of the other, and each may serve VMs
// that do not reach the other. Or one is impaired: it serves VMs worse, as the other reports.
type doubt struct {
	// edge is the first one that hears nothing, once that is settled. Empty: none.
	edge string
	// since is when a doubt was first seen. Zero: there is none.
	since time.Time
	// partitioned says that no edge that serves is recreated or drained, impaired that none
	// is recreated that has an impaired peer.
	partitioned, impaired bool
	// again is when one of these changes without a change of the edges. 0: never.
	again time.Duration
}

// doubtOf looks at the wanted edges. before is since as it was decided last. It counts on
// while an edge does not serve: a report outlives its pod, and proves nothing then. So what
// holds the edges ends after Deadline, whatever they report.
func doubtOf(found []edge, before, now time.Time) doubt {
	wanted := slices.DeleteFunc(slices.Clone(found), func(e edge) bool { return e.version == Unwanted })
	lost := slices.IndexFunc(wanted, func(e edge) bool { return e.Seen.PeerLost })
	impaired := slices.ContainsFunc(wanted, func(e edge) bool { return e.Seen.PeerImpaired })
	serve := !slices.ContainsFunc(wanted, func(e edge) bool { return e.health != Serving })
	if len(wanted) < 2 || lost < 0 && !impaired || !serve && before.IsZero() {
		return doubt{}
	}
	d := doubt{since: before}
	if before.IsZero() || before.After(now) { // The clock was set back.
		d.since = now
	}
	if !serve {
		return d
	}
	if left := d.since.Add(Deadline).Sub(now); left > 0 {
		d.partitioned, d.impaired, d.again = lost >= 0, impaired, left
	}
	if lost < 0 {
		return d
	}
	youngest := slices.MaxFunc(wanted, func(a, b edge) int { return a.Seen.Since.Compare(b.Seen.Since) })
	if left := youngest.Seen.Since.Add(Settled).Sub(now); left > 0 {
		d.again = sooner(d.again, left)
		return d
	}
	d.edge = wanted[lost].Name
	return d
}

// holds reports whether e must not be recreated.
func (d doubt) holds(e edge) bool { return d.partitioned || d.impaired && e.Seen.PeerImpaired }

// sooner is the shorter of two times, where 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
