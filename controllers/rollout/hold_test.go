package rollout

import (
	"testing"
	"time"
)

// TestHoldTable: while two edges serve and one hears nothing of the other, neither is
// recreated, for ten minutes from when that was first seen. The next ten minutes are free,
// whatever they report. An edge that does not serve is changed as ever.
func TestHoldTable(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	serves := Seen{Exists: true, Observed: true, Version: "old", Available: true, Progress: Complete, Since: ago(time.Hour), Created: ago(2 * time.Hour)}
	with := func(change func(*Seen)) Seen { s := serves; change(&s); return s }
	lost := with(func(s *Seen) { s.PeerLost = true })
	better := with(func(s *Seen) { s.PeerImpaired = true })
	current := with(func(s *Seen) { s.Version = "new" })
	fails := with(func(s *Seen) { s.PeerLost, s.Available, s.Unavailable, s.Since = true, false, true, ago(time.Minute) })
	for name, c := range map[string]struct {
		one, two Seen
		before   time.Time
		actions  [2]Action
		held     bool
		since    time.Time
		again    time.Duration
	}{
		"they hear each other":              {serves, serves, time.Time{}, [2]Action{Hold, Recreate}, false, time.Time{}, 0},
		"one hears nothing":                 {lost, serves, time.Time{}, [2]Action{Hold, Hold}, true, now, Deadline},
		"neither hears, for nine minutes":   {lost, lost, ago(9 * time.Minute), [2]Action{Hold, Hold}, true, ago(9 * time.Minute), time.Minute},
		"for ten minutes":                   {lost, lost, ago(Deadline), [2]Action{Hold, Recreate}, false, ago(Deadline), 0},
		"they hear each other again":        {serves, serves, ago(time.Minute), [2]Action{Hold, Recreate}, false, ago(time.Minute), 19 * time.Minute},
		"after a pause":                     {lost, serves, ago(6 * time.Minute), [2]Action{Hold, Hold}, true, ago(6 * time.Minute), 4 * time.Minute},
		"after a pause, for too long":       {lost, serves, ago(12 * time.Minute), [2]Action{Hold, Recreate}, false, ago(12 * time.Minute), 0},
		"without a pause, for an hour":      {lost, lost, ago(time.Hour), [2]Action{Hold, Recreate}, false, ago(time.Hour), 0},
		"they heard each other for long":    {serves, serves, ago(20 * time.Minute), [2]Action{Hold, Recreate}, false, time.Time{}, 0},
		"half of the roll is done":          {lost, current, time.Time{}, [2]Action{Hold, Apply}, true, now, Deadline},
		"nothing is due":                    {with(func(s *Seen) { s.Version, s.PeerLost = "new", true }), current, time.Time{}, [2]Action{Apply, Apply}, true, now, Deadline},
		"the time is to come":               {lost, lost, now.Add(time.Hour), [2]Action{Hold, Hold}, true, now, Deadline},
		"the peer is impaired":              {serves, better, time.Time{}, [2]Action{Recreate, Hold}, false, now, Deadline},
		"the impaired one was recreated":    {current, better, ago(time.Minute), [2]Action{Apply, Hold}, false, ago(time.Minute), 9 * time.Minute},
		"impaired for ten minutes":          {current, better, ago(Deadline), [2]Action{Apply, Recreate}, false, ago(Deadline), 0},
		"it does not serve, and did report": {fails, serves, time.Time{}, [2]Action{Recreate, Hold}, false, time.Time{}, 9 * time.Minute},
		"it does not serve any more":        {fails, serves, ago(3 * time.Minute), [2]Action{Recreate, Hold}, false, ago(3 * time.Minute), 9 * time.Minute},
	} {
		d := Next(Network{HeldSince: c.before, Edges: []Edge{{Name: "one", Wanted: "new", Seen: c.one}, {Name: "two", Wanted: "new", Seen: c.two}}}, now)
		if got := [2]Action{d.Steps[0].Action, d.Steps[1].Action}; got != c.actions || d.Held != c.held || !d.HeldSince.Equal(c.since) || d.Again != c.again {
			t.Errorf("%s: %v, held %v since %v, again in %v", name, got, d.Held, now.Sub(d.HeldSince), d.Again)
		}
		if !d.Budget {
			t.Errorf("%s: no budget", name)
		}
	}
	single := Next(Network{Edges: []Edge{{Name: "one", Wanted: "new", Seen: lost}}}, now)
	if single.Held || single.Steps[0].Action != Recreate {
		t.Errorf("one edge waits for a peer that it does not have: %+v", single)
	}
}

// checkHold is the law of two edges that serve, where one may not replace the
// other. For ten minutes, as the operator's own clock has them, neither is recreated or
// drained while one does not hear the other, and none is recreated that has an impaired
// peer. Nothing that edges report holds them for longer than ten of any twenty minutes.
func (s *simulation) checkHold(t *testing.T, n Network, d Decision) {
	t.Helper()
	lost, impaired, serve := false, [3]bool{}, s.count == 2
	for edge := 1; edge <= 2; edge++ {
		live := s.edges[edge]
		lost = lost || live != nil && live.peerLost
		impaired[edge] = live != nil && live.peerImpaired
		serve = serve && live != nil && live.observed && live.ready
	}
	if d.Held {
		if s.heldFrom.IsZero() || s.now.Sub(s.heldFrom) >= 20*time.Minute {
			s.heldFrom = s.now
		}
		if s.now.Sub(s.heldFrom) >= 10*time.Minute {
			t.Fatalf("holds edges %v after it first did: %+v\n%v", s.now.Sub(s.heldFrom), n, s.last())
		}
	}
	quiet := !lost && !impaired[1] && !impaired[2]
	if s.count < 2 || quiet && s.now.Sub(s.unequal) >= 20*time.Minute {
		s.unequal = time.Time{}
	}
	if s.count < 2 || quiet {
		return
	}
	if d.Held && (!lost || !serve) {
		t.Fatalf("holds edges that are not partitioned: %+v\n%v", n, s.last())
	}
	if !serve {
		return
	}
	if s.unequal.IsZero() {
		s.unequal = s.now
	}
	early := s.now.Sub(s.unequal) < 10*time.Minute
	for i, step := range d.Steps {
		if early && (step.Action == Recreate || step.Action == Remove) && (lost || impaired[i+1]) {
			t.Fatalf("takes %s, whose peer cannot replace it, after %v: %+v\n%v", step.Name, s.now.Sub(s.unequal), d, s.last())
		}
	}
	if early && lost && (!d.Held || !d.Budget) {
		t.Fatalf("lets an edge be drained that is partitioned: %+v\n%v", d, s.last())
	}
}

// TestUnequalEdgesAreHeld: while the network is cut between two edges that serve, or one of them
// is impaired, no rollout takes an edge that cannot be replaced for ten minutes. When the cut
// ends, or an edge never stops to report one, everything runs as it is wanted.
func TestUnequalEdgesAreHeld(t *testing.T) {
	cuts := schedule{pauses: true, events: []func(*simulation){
		newVersion, newVersion, badVersion, nodeLost, nodeBack, nodeBack, vlanCut, vlanCut, vlanBack, impairs, otherCount, handEdit, quiet}}
	liars := schedule{pauses: true, events: []func(*simulation){newVersion, newVersion, nodeLost, nodeBack, nodeBack, lies, toggles, impairs, vlanCut, vlanBack, quiet}}
	for seed := range uint64(seeds) {
		run(t, seed, cuts, func(*simulation) {})
		run(t, seed, liars, func(*simulation) {})
	}
}
