package rollout

import (
	"testing"
	"time"
)

// TestTable is the table of the package's doc comment: its rows are the peer, its
// columns the edge.
func TestTable(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	with := func(version string, health Health) Seen {
		s := Seen{Exists: true, Observed: true, Version: version, Created: ago(48 * time.Hour), Progress: Complete, Since: ago(time.Hour)}
		switch health {
		case Serving:
			s.Available = true
		case Starting:
			s.Unavailable, s.Progress, s.Since, s.Progressed = true, Unknown, ago(time.Minute), ago(time.Minute)
		case Failed:
			s.Unavailable, s.Progress, s.Progressed = true, Exceeded, ago(time.Hour).Add(Deadline)
		case Stuck:
			s.Unavailable = true
		}
		return s
	}
	edges := []Seen{{}, with("old", Serving), with("old", Starting)}
	for name, c := range map[string]struct {
		peer Seen
		want [3]Action
	}{
		"Absent": {Seen{}, [3]Action{Create, Hold, Hold}},
		// The peer's turn is first, so it is "recreated now" in the other two columns.
		"Legacy":           {with("", Stuck), [3]Action{Hold, Hold, Recreate}},
		"Current Serving":  {with("new", Serving), [3]Action{Create, Recreate, Recreate}},
		"Current Starting": {with("new", Starting), [3]Action{Create, Hold, Hold}},
		"Current Failed":   {with("new", Failed), [3]Action{Create, Hold, Recreate}},
		"Current Stuck":    {with("new", Stuck), [3]Action{Create, Recreate, Recreate}},
	} {
		for i, e := range edges {
			d := Next(Network{Check: Check{Owned: true}, Edges: []Edge{{Name: "edge", Wanted: "new", Seen: e}, {Name: "peer", Wanted: "new", Seen: c.peer}}}, now)
			if got := d.Steps[0].Action; got != c.want[i] {
				t.Errorf("the peer is %s, the edge %s: %s, not %s", name, d.Steps[0].Health, got, c.want[i])
			}
		}
	}
}

// TestUnwantedEdges is the second table: which edge stays until a wanted one replaces
// it.
func TestUnwantedEdges(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	serves := Seen{Exists: true, Version: "v", Observed: true, Available: true}
	unwanted := Edge{Name: "unwanted", Seen: serves}
	for name, c := range map[string]struct {
		wanted []Edge
		action Action
	}{
		"replaced":           {[]Edge{{Name: "e", Wanted: "v", Seen: serves}}, Remove},
		"not yet":            {[]Edge{{Name: "e", Wanted: "v"}}, Keep},
		"its turn comes":     {[]Edge{{Name: "e", Wanted: "w", Seen: serves}}, Keep},
		"network is retired": {nil, Remove},
	} {
		d := Next(Network{Edges: append(c.wanted, unwanted)}, now)
		if got := d.Steps[len(d.Steps)-1].Action; got != c.action {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPartitionTable: while two edges serve and one hears nothing of the other, neither is
// recreated, for ten minutes from when that was first seen. An edge that does not serve is
// changed as ever.
func TestPartitionTable(t *testing.T) {
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
		"they hear each other again":        {serves, serves, ago(time.Minute), [2]Action{Hold, Recreate}, false, time.Time{}, 0},
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
