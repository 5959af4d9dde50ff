// This file decides how long to wait for an edge whose node is in maintenance.

package rollout

import (
	"slices"
	"time"
)

// MaintenanceLimit is how long maintenance of a node excuses an unavailable edge. It is longer than the hour after which
// OpenShift alerts about a failing drain (drain_controller.go of its Machine Config Operator).
const MaintenanceLimit = 4 * time.Hour

// awaits reports whether the operator waits for the node of s, which is in maintenance.
func (s Seen) awaits(now time.Time) bool {
	return s.Exists && !s.Available && s.MaintainedNode != "" && (!s.Unavailable || now.Sub(s.Since) < MaintenanceLimit)
}

// withMaintenance returns the edges of n, each with the time from which Deadline counts. Result at is the time to
// store. Each change of it is a write, so it changes only after half of Deadline. again is the time until the next
// change, or 0 if there is none.
func (n Network) withMaintenance(now time.Time) (edges []Edge, at time.Time, again time.Duration) {
	edges, at = slices.Clone(n.Edges), n.MaintainedAt
	if at.After(now) || now.Sub(at) >= Deadline { // The clock was set back, or the maintenance is over.
		at = time.Time{}
	}
	waits := false
	for i := range edges {
		s := &edges[i].Seen
		s.maintained = at
		if s.awaits(now) {
			s.maintained, waits = now, true
		}
	}
	if waits && now.Sub(at) >= Deadline/2 {
		at = now
	}
	if waits {
		again = at.Add(Deadline / 2).Sub(now)
	}
	return edges, at, again
}
