package rollout

import (
	"testing"
	"time"
)

var (
	cordoned = func(s *simulation) {
		edge := 1 + s.r.IntN(2)
		s.lost[edge], s.inMaintenance[edge] = true, true
	}
	uncordoned = func(s *simulation) {
		for edge := range s.inMaintenance {
			delete(s.lost, edge)
			delete(s.inMaintenance, edge)
		}
	}
)

// checkMaintenance is the law of an edge whose node is in maintenance: for four hours its peer that serves is neither recreated nor
// drained.
func (s *simulation) checkMaintenance(t *testing.T, n Network, d Decision) {
	t.Helper()
	if s.count < 2 || len(n.Edges) < 2 {
		return
	}
	for edge, peer := range map[int]int{1: 2, 2: 1} {
		live := s.edges[edge]
		if !s.inMaintenance[edge] || live == nil || !live.unavailable || !live.observed || s.now.Sub(live.since) >= 4*time.Hour || !n.Edges[peer-1].Seen.Available {
			continue
		}
		if !d.Budget || d.Steps[peer-1].Action == Recreate {
			t.Fatalf("takes %s while the node of its peer is in maintenance: %+v\n%v", name(peer), d, s.last())
		}
	}
}

// TestMaintenanceIsAwaited: whatever else happens, the peer of an edge whose node is in maintenance serves. At the end all run as wanted.
func TestMaintenanceIsAwaited(t *testing.T) {
	all := schedule{pauses: true, events: []func(*simulation){cordoned, cordoned, uncordoned, uncordoned, newVersion, badVersion, nodeLost, nodeBack, otherCount, handDelete, quiet}}
	for seed := range uint64(seeds) {
		run(t, seed, all, func(*simulation) {})
	}
}

// TestMaintenanceTimes: the time is stored every five minutes, the next decision is due in time, and the limit counts from when the edge
// became unavailable.
func TestMaintenanceTimes(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for name, c := range map[string]struct {
		since, stored time.Time
		node          string
		health        Health
		names         bool
		stores        time.Time
		again         time.Duration
	}{
		"drained just now":             {ago(time.Minute), time.Time{}, "a", Starting, false, now, 5 * time.Minute},
		"stored before":                {ago(8 * time.Minute), ago(3 * time.Minute), "a", Starting, false, ago(3 * time.Minute), 2 * time.Minute},
		"unavailable for long":         {ago(30 * time.Minute), ago(5 * time.Minute), "a", Starting, true, now, 5 * time.Minute},
		"the operator was away":        {ago(30 * time.Minute), ago(20 * time.Minute), "a", Starting, true, now, 5 * time.Minute},
		"the clock was set back":       {ago(30 * time.Minute), now.Add(time.Hour), "a", Starting, true, now, 5 * time.Minute},
		"nearly at the limit":          {ago(239 * time.Minute), ago(time.Minute), "a", Starting, true, ago(time.Minute), time.Minute},
		"at the limit":                 {ago(4 * time.Hour), ago(time.Minute), "a", Stuck, false, ago(time.Minute), 0},
		"the node is back":             {ago(30 * time.Minute), ago(4 * time.Minute), "", Starting, false, ago(4 * time.Minute), 6 * time.Minute},
		"the node has been back":       {ago(30 * time.Minute), ago(10 * time.Minute), "", Stuck, false, time.Time{}, 0},
		"no node was in maintenance":   {ago(4 * time.Minute), time.Time{}, "", Starting, false, time.Time{}, 6 * time.Minute},
		"unavailable, and known first": {ago(time.Hour), time.Time{}, "a", Starting, true, now, 5 * time.Minute},
	} {
		seen := Seen{Exists: true, Observed: true, Version: "v", Unavailable: true, Since: c.since, Created: ago(48 * time.Hour), Progress: Complete, MaintainedNode: c.node}
		peer := Seen{Exists: true, Observed: true, Version: "v", Available: true, Since: ago(time.Hour), Created: ago(48 * time.Hour), Progress: Complete}
		d := Next(Network{MaintainedAt: c.stored, Edges: []Edge{{Name: "edge", Wanted: "v", Seen: seen}, {Name: "peer", Wanted: "w", Seen: peer}}}, now)
		s := d.Steps[0]
		if s.Health != c.health || (s.Node != "") != c.names || !d.MaintainedAt.Equal(c.stores) || d.Again != c.again {
			t.Errorf("%s: %s, names %q, stores %v, again in %v", name, s.Health, s.Node, now.Sub(d.MaintainedAt), d.Again)
		}
		if waits := c.health == Starting; d.Budget != waits || (d.Steps[1].Action == Hold) != waits {
			t.Errorf("%s: budget %v, the peer gets %s", name, d.Budget, d.Steps[1].Action)
		}
	}
}
