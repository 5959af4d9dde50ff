// This file decides when edges are held: two edges serve, and one may not be able to replace the other.

package rollout

import (
	"slices"
	"time"
)

const (
	// settled is how long both edges must have served before a lost peer is reported. The peer of a new edge is heard and
	// reported only after some time.
	settled = time.Minute
	// holdInterval is the least time between the beginnings of two holds. So edges that report a problem on and off can
	// still change half of the time.
	holdInterval = 2 * Deadline
)

// A hold says what must not happen while two edges serve and one may not be able to replace the other. They are
// partitioned if one does not hear the other: each may serve VMs that do not reach the other edge. An edge is impaired
// if the other reports that it serves VMs worse.
type hold struct {
	// edge is the first edge that does not hear its peer, after settled has passed. Empty: none.
	edge string
	// since is when the hold began. It is kept after the end, until the next hold may begin. Zero: there was none.
	since time.Time
	// If partitioned is true, no serving edge is recreated or drained. If impaired is true, no edge with an impaired
	// peer is recreated.
	partitioned, impaired bool
	// recheck is the time until a field changes without a change of the edges. 0: never.
	recheck time.Duration
}

// holdOf decides about the wanted edges. Parameter before is field since of the last hold. Whatever edges report, a
// hold ends after Deadline, and the next one begins after holdInterval at the earliest. Time also counts while no edge
// reports anything, and while an edge does not serve, because a report outlives its pod.
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

func (h hold) holds(e edge) bool { return h.partitioned || h.impaired && e.Seen.PeerImpaired }

// sooner returns the shorter of two times. 0 means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
