// This file decides when edges are held: where two edges serve, and one of them may be no
// substitute for the other.

package rollout

import (
	"slices"
	"time"
)

const (
	// settled is how long both edges must have served until a lost peer is reported: an edge
	// that starts is heard, and reported, a little later.
	settled = time.Minute
	// holdInterval is how long after the beginning of a hold the next one may begin. So
	// edges that report a problem on and off can change half of the time.
	holdInterval = 2 * Deadline
)

// A hold is what follows where two edges serve, and one of them may not replace
// the other. They are partitioned: one hears nothing of the other, and each may serve VMs
// that do not reach the other. Or one is impaired: it serves VMs worse, as the other reports.
type hold struct {
	// edge is the first one that hears nothing, once that is settled. Empty: none.
	edge string
	// since is when the hold began. It is kept after the end, until the next one may begin.
	// Zero: there was none.
	since time.Time
	// partitioned says that no edge that serves is recreated or drained, impaired that none
	// is recreated that has an impaired peer.
	partitioned, impaired bool
	// recheck is when one of these changes without a change of the edges. 0: never.
	recheck time.Duration
}

// holdOf looks at the wanted edges. before is since as it was decided last. It counts on
// while an edge does not serve: a report outlives its pod, and proves nothing then. It counts
// on while no edge reports anything, too. So what holds the edges ends after Deadline, and
// begins again after holdInterval at the earliest, whatever they report.
func holdOf(found []edge, before, now time.Time) hold {
	wanted := slices.DeleteFunc(slices.Clone(found), func(e edge) bool { return e.version == Unwanted })
	lost := slices.IndexFunc(wanted, func(e edge) bool { return e.Seen.PeerLost })
	impaired := slices.ContainsFunc(wanted, func(e edge) bool { return e.Seen.PeerImpaired })
	serve := !slices.ContainsFunc(wanted, func(e edge) bool { return e.health != Serving })
	h := hold{since: before}
	if before.After(now) { // The clock was set back.
		h.since = time.Time{}
	}
	switch {
	case len(wanted) < 2:
		return hold{}
	case lost < 0 && !impaired:
		return h.paused(now)
	case h.since.IsZero() && serve:
		h.since = now
	}
	if !serve {
		return h
	}
	if left := h.since.Add(Deadline).Sub(now); left > 0 {
		h.partitioned, h.impaired, h.recheck = lost >= 0, impaired, left
	}
	if lost < 0 {
		return h
	}
	youngest := slices.MaxFunc(wanted, func(a, b edge) int { return a.Seen.Since.Compare(b.Seen.Since) })
	if left := youngest.Seen.Since.Add(settled).Sub(now); left > 0 {
		h.recheck = sooner(h.recheck, left)
		return h
	}
	h.edge = wanted[lost].Name
	return h
}

// paused is h while the edges can replace each other. It is forgotten once the next may begin.
func (h hold) paused(now time.Time) hold {
	if h.since.IsZero() {
		return hold{}
	}
	left := h.since.Add(holdInterval).Sub(now)
	if left <= 0 {
		return hold{}
	}
	return hold{since: h.since, recheck: left}
}

// holds reports whether e must not be recreated.
func (h hold) holds(e edge) bool { return h.partitioned || h.impaired && e.Seen.PeerImpaired }

// sooner is the shorter of two times, where 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
