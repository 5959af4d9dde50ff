// This file decides how long to wait for an unavailable edge, and whether its version may be the cause.

package rollout

import "time"

const (
	// Deadline is how long the operator waits for an unavailable edge. It is the default progressDeadlineSeconds of a Deployment.
	Deadline = 10 * time.Minute
	// ending is how long after a new version an edge may become unavailable because of it: the previous pod has to end
	// first.
	ending = 2 * time.Minute
)

// Health is the state of an edge.
type Health string

// A Starting edge is unavailable, and the operator waits for it. A Failed or Stuck edge is unavailable and overdue.
// Failed: its version may be at fault, so its peer does not get this version. Stuck: its version is not at fault,
// because the edge was never available, ran this version before, or was unavailable already when it got this version.
const (
	Absent   Health = "Absent"
	Serving  Health = "Serving"
	Starting Health = "Starting"
	Failed   Health = "Failed"
	Stuck    Health = "Stuck"
)

// HealthOf returns the health of an edge in state s at the time now.
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

// suspect reports whether the version of s, which is unavailable, may be the cause. An edge that was already
// unavailable when it got this version proves nothing: see Unproven.
func (s Seen) suspect() bool {
	given := s.Progressed
	if s.Progress == Exceeded {
		given = given.Add(-Deadline)
	}
	neverAvailable := s.Since.Before(s.Created.Add(ending))
	return s.Progress != Complete && !neverAvailable && (s.Unproven || !s.Since.Before(given.Add(-ending)))
}

// overdue reports whether s has been unavailable for long, and got its wanted version long ago. While its node is in
// maintenance, s is not overdue, until Deadline has passed after the maintenance was last stored, or until
// MaintenanceLimit.
func (s Seen) overdue(now time.Time) bool {
	if !s.Observed || !s.Unavailable || now.Sub(s.maintained) < Deadline && now.Sub(s.Since) < MaintenanceLimit {
		return false
	}
	return s.Progress == Exceeded || s.Progress == Complete && now.Sub(s.Since) >= Deadline
}

// nextDeadline returns the time until the next edge becomes overdue without any change, or 0 if none does.
func nextDeadline(edges []Edge, now time.Time) time.Duration {
	next := time.Duration(0)
	for _, e := range edges {
		s := e.Seen
		if !s.Exists || s.Available || !s.Observed || !s.Unavailable || s.Progress == Unknown || s.overdue(now) {
			continue
		}
		for _, at := range []time.Time{s.Since.Add(Deadline), s.maintained.Add(Deadline), s.Since.Add(MaintenanceLimit)} {
			if left := at.Sub(now); left > 0 {
				next = sooner(next, left)
			}
		}
	}
	return next
}
