// This file decides which reports are too old to count.

package reported

import "time"

// How old a report may be. Each step is renewed several times before the next one counts it as old.
const (
	// FileEvery is how often a report that stays the same is stored again in its file, which says that its container lives.
	FileEvery = 20 * time.Second
	// RenewEvery is how often an edge renews the time of a report that stays the same, while its failover agent reports. With
	// 500 hosted clusters of two edges, that is eight writes a second.
	RenewEvery = 2 * time.Minute
	// OldAfter is the age from which a report counts as none.
	OldAfter = 5 * time.Minute
)

// Old reports whether r, which was last renewed at renewed, counts as none at now: an edge that has lost the API server, or whose
// failover agent hangs, reports nothing current. Without a time, r is current, and so is r if the clock of its edge is not set.
func (r EdgeReport) Old(renewed, now time.Time) bool {
	return !renewed.IsZero() && now.Sub(renewed) > OldAfter && r.ClockUnsynchronized.Cause == ""
}
