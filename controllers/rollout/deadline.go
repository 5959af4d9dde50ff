// This file decides how long to wait for an unavailable edge, and whether its version may be the cause.

package rollout

import "time"

const (
	// Deadline is how long the operator waits for an unavailable edge. It equals a Deployment's default
	// progressDeadlineSeconds.
	Deadline = 10 * time.Minute
	// ending is how long after a new version was applied an edge may be seen to become
	// unavailable by it: the previous pod has to end first.
	ending = 2 * time.Minute
)

// Health is the state of an edge.
type Health string

// Starting is unavailable, and waited for. Failed and Stuck are unavailable and overdue.
// Failed may be the fault of the version, so the peer does not get it. Stuck is not: the
// edge was never available, or ran this version before, or was already unavailable when
// the version came.
const (
	Absent   Health = "Absent"
	Serving  Health = "Serving"
	Starting Health = "Starting"
	Failed   Health = "Failed"
	Stuck    Health = "Stuck"
)

// HealthOf returns the health at now of an edge that was seen as s.
func HealthOf(s Seen, now time.Time) Health {
	switch {
	case !s.Exists:
		return Absent
	case s.Available:
		return Serving
	case !s.overdue(now):
		return Starting
	case s.suspect():
		return Failed
	}
	return Stuck
}

// suspect reports whether the version of s, which is not available, may be why. If one
// faulty version replaces another, the edge was already unavailable, which proves
// nothing about the second: Unproven remembers that.
func (s Seen) suspect() bool {
	given := s.Progressed
	if s.Progress == Exceeded {
		given = given.Add(-Deadline)
	}
	neverAvailable := s.Since.Before(s.Created.Add(ending))
	return s.Progress != Complete && !neverAvailable && (s.Unproven || !s.Since.Before(given.Add(-ending)))
}

// overdue reports whether s, which is not available, has not been for long, and has long
// had the version that it is to run.
func (s Seen) overdue(now time.Time) bool {
	if !s.Observed || !s.Unavailable {
		return false
	}
	return s.Progress == Exceeded || s.Progress == Complete && now.Sub(s.Since) >= Deadline
}

// nextDeadline is when the next edge becomes overdue without any change of its
// Deployment. 0: none does.
func nextDeadline(edges []Edge, now time.Time) time.Duration {
	next := time.Duration(0)
	for _, e := range edges {
		s := e.Seen
		if !s.Exists || s.Available || !s.Observed || !s.Unavailable || s.Progress != Complete {
			continue
		}
		if left := s.Since.Add(Deadline).Sub(now); left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}
