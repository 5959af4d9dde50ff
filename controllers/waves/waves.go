// Package waves decides which hosted clusters get edges of a new release of oooi now. It is pure: it knows no
// Kubernetes types, and the time is an argument.
//
// A new operator would otherwise recreate the edges of all hosted clusters at once:
//
//	wave | clusters                      | begins once
//	-----+-------------------------------+------------------------------
//	1    | one                           | the new operator leads
//	2    | five                          | one cluster has proven the release
//	3    | all others, 20 at a time      | six clusters have
//
// A cluster has proven the release if all its edges run it, one of them has served for
// Proof, and none is starting. Edges that exist for the first time run the new release, so
// a new cluster counts, too.
//
// A cluster may fail by its own fault. So if the edges of one cluster fail with the release, the update continues
// with one cluster at a time. If those of two fail, it is stopped: no further cluster begins. Neither applies once
// ten times as many clusters have proven the release. Clusters that have begun continue; package rollout keeps their
// other edge serving. If hosted clusters are in several namespaces, the failing clusters of one namespace count as
// one, so that one tenant cannot stop the others.
//
// For the same reason a cluster holds its place only for a limited time. If it does not begin, the limit is Begin. If
// it does not finish, the limit is Finish. A paused cluster waits, and is ignored.
package waves

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/controllers/rollout"
)

const (
	// Proof is how long edges must have served with a release until further clusters get it.
	Proof = 2 * time.Minute
	// Begin is how long a cluster may take until its first edge changes. An error in an annotation can prevent that.
	// Then other clusters take their turn first.
	Begin = time.Minute
	// Finish is how long a changing cluster occupies a place.
	Finish = 2 * rollout.Deadline
	// outweighed is the number of clusters that must have proven the release to outweigh one that fails.
	outweighed = 10
)

// How many clusters have the new release at the end of each wave, and how many change at a time in the last wave.
const (
	firstWave  = 1
	secondWave = firstWave + 5
	atATime    = 20
)

// Last is the number of the last wave.
const Last = 3

// A Cluster is one hosted cluster that has edges.
type Cluster struct {
	// Name is unique.
	Name string
	// Namespace is that of the HostedCluster.
	Namespace string
	Created   time.Time
	// Paused is true if nothing of the cluster may change.
	Paused bool
	Edges  []Edge
}

// An Edge is one edge of a cluster.
type Edge struct {
	// Outdated is true if the edge runs another release than the operator's.
	Outdated bool
	Health   rollout.Health
	// Since is when the edge began to serve, if it serves.
	Since time.Time
}

// A State says how far the update of one cluster is.
type State string

// Blocked: the cluster had its turn, and did not begin. Updating: it has begun, and neither proven the release nor
// failed. Unproven: it runs the release and serves nothing, but not because of the release.
const (
	Waiting  State = "waiting"
	Blocked  State = "blocked"
	Updating State = "updating"
	Updated  State = "updated"
	Unproven State = "unproven"
	Failed   State = "failed"
	Paused   State = "paused"
)

// States returns all states.
func States() []State {
	return []State{Waiting, Blocked, Updating, Updated, Unproven, Failed, Paused}
}

// A Turn says what a Decision means for one cluster with an outdated edge.
type Turn struct {
	// Now is true if the cluster's edges may be recreated with the new release.
	Now bool
	// Wave is the present wave, from 1 to Last. 0: unknown yet.
	Wave int
	// Stopped is true if no further cluster begins.
	Stopped bool
}

// A Decision says how far the update is.
type Decision struct {
	// Wave is the present wave, from 1 to Last. 0: no edge is outdated.
	Wave int
	// States has the state of each cluster, by its name.
	States map[string]State
	// Turns are the turns of clusters with an outdated edge, by name.
	Turns map[string]Turn
	// Stopped is true if no further cluster begins, because edges fail with the release.
	Stopped bool
	// places has each cluster with a place now, and the time at which it got the place.
	places map[string]time.Time
	// blocked are the clusters that did not begin in time, with the end of their last turn.
	blocked map[string]time.Time
}

// Count returns how many clusters are in state s.
func (d Decision) Count(s State) int { return len(d.Clusters(s)) }

// Clusters returns the names of the clusters in state s, sorted.
func (d Decision) Clusters(s State) []string {
	var out []string
	for name, x := range d.States {
		if x == s {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Next decides about all hosted clusters. Parameter last is the previous decision. It is zero for an operator that has
// just started.
func Next(all []Cluster, last Decision, now time.Time) Decision {
	d := Decision{States: map[string]State{}, Turns: map[string]Turn{}, places: map[string]time.Time{}, blocked: map[string]time.Time{}}
	changes := false
	for _, c := range all {
		d.States[c.Name] = d.follow(c, last, now)
		changes = changes || c.outdated()
	}
	if !changes {
		return d
	}
	var free int
	d.Wave, free, d.Stopped = d.free(all)
	for _, c := range slices.SortedFunc(slices.Values(all), d.first) {
		if !c.outdated() {
			continue
		}
		s := d.States[c.Name]
		begun := s != Waiting && s != Blocked && s != Paused
		if _, has := d.places[c.Name]; !has && !begun && s != Paused && free > 0 {
			free--
			d.places[c.Name] = now
		}
		_, has := d.places[c.Name]
		d.Turns[c.Name] = Turn{Now: begun || has && !d.Stopped, Wave: d.Wave, Stopped: d.Stopped}
	}
	return d
}

// follow returns the state of c, and copies its place or the end of its last turn from the previous decision, last.
func (d Decision) follow(c Cluster, last Decision, now time.Time) State {
	s := c.state(now)
	since, has := last.places[c.Name]
	switch {
	case s == Waiting && has && now.Sub(since) < Begin:
		d.places[c.Name] = since
	case s == Waiting && has:
		d.blocked[c.Name] = now
	case s == Waiting && !last.blocked[c.Name].IsZero():
		d.blocked[c.Name] = last.blocked[c.Name]
	case s == Updating && has:
		d.places[c.Name] = since
	case s == Updating && (c.outdated() || last.States == nil):
		// The cluster began under the previous operator, or a user changed it.
		d.places[c.Name] = now
	}
	if since, has = d.places[c.Name]; s == Updating && has && now.Sub(since) >= Finish {
		return Unproven
	}
	if !d.blocked[c.Name].IsZero() {
		return Blocked
	}
	return s
}

// free returns the present wave, how many more clusters may begin, and whether failing edges stop the update.
func (d Decision) free(all []Cluster) (wave, free int, stopped bool) {
	updated, failing, taken := d.Count(Updated), d.failing(all), 0
	for name := range d.places {
		if d.States[name] != Unproven {
			taken++
		}
	}
	switch {
	case updated < firstWave:
		wave, free = 1, firstWave-updated-taken
	case updated < secondWave:
		wave, free = 2, secondWave-updated-taken
	default:
		wave, free = Last, atATime-taken
	}
	if failing*outweighed > updated {
		free, stopped = min(free, 1-taken), failing > 1
	}
	if stopped {
		free = 0
	}
	return wave, free, stopped
}

// failing returns the number of failing clusters. If there are several namespaces, the failing clusters of each count as one.
func (d Decision) failing(all []Cluster) int {
	failing, namespaces, failingIn := 0, map[string]bool{}, map[string]bool{}
	for _, c := range all {
		namespaces[c.Namespace] = true
		if d.States[c.Name] == Failed {
			failing++
			failingIn[c.Namespace] = true
		}
	}
	if len(namespaces) > 1 {
		return len(failingIn)
	}
	return failing
}

// first compares clusters, for sorting by their turn. Clusters that did not begin in their turn are last, the one that
// waits longest before the others. Of the rest, clusters that lose least with a faulty release come first: all edges
// serve, and there are two. Of these the youngest comes first.
func (d Decision) first(a, b Cluster) int {
	risk := func(c Cluster) int {
		if len(c.Edges) > 1 && !slices.ContainsFunc(c.Edges, func(e Edge) bool { return e.Health != rollout.Serving }) {
			return 0
		}
		return 1
	}
	return cmp.Or(d.blocked[a.Name].Compare(d.blocked[b.Name]), cmp.Compare(risk(a), risk(b)),
		b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
}

func (c Cluster) outdated() bool {
	return slices.ContainsFunc(c.Edges, func(e Edge) bool { return e.Outdated })
}

// state returns the state of c, whatever its turn is.
func (c Cluster) state(now time.Time) State {
	changed := slices.DeleteFunc(slices.Clone(c.Edges), func(e Edge) bool { return e.Outdated })
	has := func(h rollout.Health) bool {
		return slices.ContainsFunc(changed, func(e Edge) bool { return e.Health == h })
	}
	proven := slices.ContainsFunc(changed, func(e Edge) bool { return e.Health == rollout.Serving && now.Sub(e.Since) >= Proof })
	switch {
	case c.Paused:
		return Paused
	case len(changed) == 0:
		return Waiting
	case has(rollout.Failed):
		return Failed
	case len(changed) < len(c.Edges) || has(rollout.Starting) || has(rollout.Serving) && !proven:
		return Updating
	case proven:
		return Updated
	}
	return Unproven
}
