package waves

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/controllers/rollout"
)

var start = time.Unix(1_700_000_000, 0)

// A fleet is hosted clusters whose edges are recreated when it is their turn. The release is
// faulty in some of them.
type fleet struct {
	now      time.Time
	clusters []Cluster
	// faulty are clusters whose edges fail with the new release, blocked those that cannot begin.
	faulty, blocked map[string]bool
	last            Decision
	// began is when each cluster was first allowed to change.
	began map[string]time.Time
}

func newFleet(n int) *fleet {
	f := &fleet{now: start, faulty: map[string]bool{}, blocked: map[string]bool{}, began: map[string]time.Time{}}
	for i := range n {
		f.clusters = append(f.clusters, Cluster{Name: fmt.Sprintf("c%03d", i), Namespace: fmt.Sprint(i % 10), Created: start.Add(-time.Duration(n-i) * time.Hour),
			Edges: []Edge{{Outdated: true, Health: rollout.Serving, Since: start.Add(-time.Hour)}, {Outdated: true, Health: rollout.Serving, Since: start.Add(-time.Hour)}}})
	}
	return f
}

// step is 10 s: every cluster whose turn it is recreates its next edge.
func (f *fleet) step() Decision {
	d := Next(f.clusters, f.last, f.now)
	f.last = d
	for i := range f.clusters {
		c := &f.clusters[i]
		if !d.Turns[c.Name].Now || f.blocked[c.Name] {
			continue
		}
		if _, began := f.began[c.Name]; !began {
			f.began[c.Name] = f.now
		}
		failed := slices.ContainsFunc(c.Edges, func(e Edge) bool { return e.Health == rollout.Failed })
		if e := slices.IndexFunc(c.Edges, func(e Edge) bool { return e.Outdated }); e >= 0 && !failed {
			c.Edges[e] = Edge{Health: rollout.Serving, Since: f.now}
			if f.faulty[c.Name] {
				c.Edges[e].Health = rollout.Failed
			}
		}
	}
	f.now = f.now.Add(10 * time.Second)
	return d
}

// changing are the clusters that changed within the last Proof.
func (f *fleet) changing() int {
	n := 0
	for _, at := range f.began {
		if f.now.Sub(at) < Proof {
			n++
		}
	}
	return n
}

func TestOneThenFiveThenTheRest(t *testing.T) {
	g := NewWithT(t)
	f := newFleet(100)
	most, waves := 0, map[int]int{}
	for range 200 {
		d := f.step()
		if d.Wave == 0 {
			break
		}
		waves[d.Wave] = max(waves[d.Wave], len(f.began))
		most = max(most, f.changing())
	}
	g.Expect(waves).To(Equal(map[int]int{1: 1, 2: 6, 3: 100}), "clusters that began in each wave")
	g.Expect(most).To(BeNumerically("<=", 2*atATime), "clusters that changed within the last two minutes")
	g.Expect(f.began).To(HaveLen(100))
	g.Expect(f.began["c099"]).To(Equal(start), "the youngest is first")
	g.Expect(f.now.Sub(start)).To(BeNumerically("<", 20*time.Minute))
}

// TestFailuresStopTheUpdate: one failure makes it slow, a second one stops it, and pausing both lets it continue.
func TestFailuresStopTheUpdate(t *testing.T) {
	g := NewWithT(t)
	f := newFleet(50)
	f.faulty["c049"] = true // The first of all.
	most := 0
	for len(f.began) < 5 {
		f.step()
		most = max(most, f.changing())
	}
	g.Expect(most).To(BeNumerically("<=", 2), "one that fails, and one at a time")

	f = newFleet(50)
	f.faulty["c048"], f.faulty["c047"] = true, true // Two of the second wave.
	for range 500 {
		f.step()
	}
	g.Expect(f.last.Clusters(Failed)).To(ConsistOf("c047", "c048"))
	g.Expect(f.began).To(HaveLen(6), "no cluster of the third wave began")
	g.Expect(f.last.Turns["c000"]).To(Equal(Turn{Wave: 2, Stopped: true}))
	for i := range f.clusters {
		f.clusters[i].Paused = f.faulty[f.clusters[i].Name]
	}
	for range 500 {
		f.step()
	}
	g.Expect(f.began).To(HaveLen(50))
	g.Expect(f.last.States["c048"]).To(Equal(Paused))
}

// TestOneTenantDoesNotStopOthers: whatever the clusters of one namespace do, all others get the release.
func TestOneTenantDoesNotStopOthers(t *testing.T) {
	for name, harm := range map[string]func(*fleet, *Cluster){
		"their edges fail":                  func(f *fleet, c *Cluster) { f.faulty[c.Name] = true },
		"they do not begin":                 func(f *fleet, c *Cluster) { f.blocked[c.Name] = true },
		"their edges start again and again": func(f *fleet, c *Cluster) { c.Edges[0].Since = f.now },
		"they are new": func(f *fleet, c *Cluster) {
			c.Edges = []Edge{{Health: rollout.Serving, Since: f.now}, {Health: rollout.Starting}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := newFleet(60)
			others := 0
			for i := range f.clusters {
				if i >= 40 { // The youngest, which are first.
					f.clusters[i].Namespace = "hostile"
				} else {
					others++
				}
			}
			for range 3 * 60 * 6 {
				for i := range f.clusters {
					if f.clusters[i].Namespace == "hostile" {
						harm(f, &f.clusters[i])
					}
				}
				f.step()
			}
			updated := 0
			for _, c := range f.clusters {
				if c.Namespace != "hostile" && f.last.States[c.Name] == Updated {
					updated++
				}
			}
			g.Expect(updated).To(Equal(others), "within three hours")
		})
	}
}

func TestWhoGoesFirst(t *testing.T) {
	g := NewWithT(t)
	served := Edge{Outdated: true, Health: rollout.Serving, Since: start.Add(-time.Hour)}
	down := Edge{Outdated: true, Health: rollout.Stuck}
	for name, c := range map[string]Cluster{
		"has one edge":              {Name: "other", Created: start, Edges: []Edge{served}},
		"has an edge that is down":  {Name: "other", Created: start, Edges: []Edge{served, down}},
		"is older":                  {Name: "other", Created: start.Add(-2 * time.Hour), Edges: []Edge{served, served}},
		"is paused":                 {Name: "other", Created: start, Paused: true, Edges: []Edge{served, served}},
		"runs the release, unheard": {Name: "other", Created: start, Edges: []Edge{{Health: rollout.Stuck}}},
	} {
		d := Next([]Cluster{c, {Name: "safe", Created: start.Add(-time.Hour), Edges: []Edge{served, served}}}, Decision{}, start)
		g.Expect(d.Turns["safe"].Now).To(BeTrue(), "the other one %s", name)
		g.Expect(d.Turns["other"].Now).To(BeFalse(), "the other one %s", name)
	}
}

// TestNothingIsEverStuck: whatever state the fleet is in, either every cluster is updated or
// paused, or one may change, or is changing, or a failure stops the update.
func TestNothingIsEverStuck(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	healths := []rollout.Health{rollout.Serving, rollout.Starting, rollout.Failed, rollout.Stuck}
	for range 20_000 {
		var all []Cluster
		for i := range 1 + r.IntN(30) {
			c := Cluster{Name: fmt.Sprint(i), Created: start.Add(time.Duration(r.IntN(9)) * time.Hour), Paused: r.IntN(8) == 0}
			for range 1 + r.IntN(2) {
				c.Edges = append(c.Edges, Edge{Outdated: r.IntN(2) == 0, Health: healths[r.IntN(len(healths))], Since: start.Add(-time.Duration(r.IntN(300)) * time.Second)})
			}
			all = append(all, c)
		}
		d := Next(all, Decision{}, start)
		taken := 0
		for _, at := range d.places {
			if at.Equal(start) {
				taken++
			}
		}
		waiting, begin := 0, 0
		for _, c := range all {
			if d.States[c.Name] == Waiting {
				waiting++
				if d.Turns[c.Name].Now {
					begin++
				}
			}
		}
		if waiting > 0 && taken == 0 && !d.Stopped {
			t.Fatalf("%d clusters wait for nothing: %+v", waiting, all)
		}
		if begin > 0 && d.Stopped {
			t.Fatalf("a cluster begins while %v fail", d.Clusters(Failed))
		}
		if begin > atATime {
			t.Fatalf("%d clusters begin at a time", begin)
		}
	}
}
