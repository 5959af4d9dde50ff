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
		"recreated now":    {with("old", Stuck), [3]Action{Create, Hold, Recreate}},
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

// TestPostponed: an edge keeps what it runs until it is its cluster's turn, whatever its peer
// does. One that does not exist is created.
func TestPostponed(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	runs := Seen{Exists: true, Version: "old", Observed: true, Available: true, Progress: Complete}
	for name, c := range map[string]struct {
		edge Edge
		want Action
	}{
		"exists":         {Edge{Wanted: "new", Postponed: true, Seen: runs}, Hold},
		"is absent":      {Edge{Wanted: "new", Postponed: true}, Create},
		"is current":     {Edge{Wanted: "old", Postponed: true, Seen: runs}, Apply},
		"has its turn":   {Edge{Wanted: "new", Seen: runs}, Recreate},
		"is wanted away": {Edge{Postponed: true, Seen: runs}, Keep},
	} {
		c.edge.Name = "edge"
		peer := Edge{Name: "peer", Wanted: "new", Seen: runs, Postponed: true}
		s := Next(Network{Check: Check{Owned: true}, Edges: []Edge{c.edge, peer}}, now).Steps[0]
		if s.Action != c.want || s.Peer != "" {
			t.Errorf("an edge that %s: %+v, not %s", name, s, c.want)
		}
	}
}

// TestRestoredEdges: edges that a backup tool restored are removed before the check, whatever else is true. Next to an
// edge that was not restored, no check is possible.
func TestRestoredEdges(t *testing.T) {
	serves := Seen{Exists: true, Version: "v", Observed: true, Available: true}
	restored := serves
	restored.Restored = true
	passed := Seen{Exists: true, Version: "check", Available: true}
	for name, test := range map[string]struct {
		edges [2]Seen
		check Check
		want  [2]Action
		runs  bool
	}{
		"both":                            {[2]Seen{restored, restored}, Check{}, [2]Action{Remove, Remove}, true},
		"one, and none":                   {[2]Seen{restored, {}}, Check{}, [2]Action{Remove, Hold}, true},
		"the check passed before":         {[2]Seen{restored, restored}, Check{Seen: passed}, [2]Action{Remove, Remove}, true},
		"their addresses seem to be ours": {[2]Seen{restored, restored}, Check{Owned: true}, [2]Action{Remove, Remove}, true},
		"one, and one that is ours":       {[2]Seen{restored, serves}, Check{}, [2]Action{Apply, Apply}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.check.Wanted = "check"
			d := Next(Network{Edges: []Edge{{Name: "1", Wanted: "v", Seen: test.edges[0]}, {Name: "2", Wanted: "v", Seen: test.edges[1]}}, Check: test.check}, time.Unix(1_700_000_000, 0))
			if got := [2]Action{d.Steps[0].Action, d.Steps[1].Action}; got != test.want || d.Check != test.runs {
				t.Errorf("the steps are %v, and the check runs: %v", got, d.Check)
			}
		})
	}
}
