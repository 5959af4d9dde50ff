// Package rollout decides what happens to the edges of one network: which are
// created, recreated, left alone or removed now, and what a change costs. It is
// pure: it knows no Kubernetes types, no labels and no clock but the time passed in.
//
// Next looks at one network. What it sees of each edge is a version (Current,
// Outdated or Unwanted) and a health (Absent, Serving, Starting, Failed or
// Stuck). A wanted edge that is Current is applied again, which changes nothing. All
// other wanted edges are due. An edge that is due waits for its peer where the table
// says so:
//
//	the peer is      |          the edge is
//	                 |  Absent    Serving     not Serving
//	-----------------+------------------------------------------
//	Absent           |  create    hold        hold          the peer is created first
//	Outdated         |  create    recreate    recreate      the peer's turn comes later
//	recreated now    |  create    hold        hold *        one at a time
//	Current Serving  |  create    recreate    recreate
//	Current Starting |  create    hold        hold          the peer may start soon
//	Current Failed   |  create    hold        recreate      the version may be at fault
//	Current Stuck    |  create    recreate    recreate      the node or the API is at fault
//
//	* recreate where the peer was Failed or Stuck before.
//
// An edge without a wanted peer never waits, because no other edge would come.
// Turn gives the order among edges that are due. An edge that is postponed is not due while
// it exists.
//
// An edge that is no longer wanted is removed, except while it serves and no
// wanted edge of the network can replace it:
//
//	a wanted edge is        |  an unwanted edge that serves is
//	------------------------+---------------------------------
//	Current Serving         |  removed
//	Current Stuck           |  removed: it may occupy the place that the other needs
//	anything else           |  kept
//	(no edge is wanted)     |  removed: the network is retired
//
// Where two edges serve and one hears nothing of the other, the network is partitioned. Each
// edge may serve VMs that do not reach the other one. So neither is recreated, and neither
// can be drained, until they hear each other or Deadline is over. An edge that reports an
// impaired peer is not recreated for the same time. The next such hold begins ten minutes
// after Deadline at the earliest, so reports cannot stop a change.
//
// Before the first edge of a network exists, an address conflict detection (ACD)
// runs, and no edge is created until it has passed.
package rollout

import (
	"slices"
	"time"
)

// A Network is what is wanted and what exists on one network.
type Network struct {
	// Edges are all that are wanted or exist. Names are unique.
	Edges []Edge
	// Check is the address conflict detection.
	Check Check
	// HeldSince is Decision.HeldSince of the decision before. Zero: unknown.
	HeldSince time.Time
}

// An Edge is one edge, wanted or existing or both.
type Edge struct {
	Name string
	// Wanted is the version that it is to run. Empty: the edge is not wanted.
	Wanted string
	// Postponed says that the edge keeps what it runs for now, if it exists, although Wanted is
	// another version: other hosted clusters get a new release of oooi first.
	Postponed bool
	// Seen is what exists. The zero value: nothing does.
	Seen Seen
}

// Seen is what is known of an edge's Deployment.
type Seen struct {
	Exists bool
	// Version that was last applied. Empty: none.
	Version string
	// Drifted says that someone else changed what runs, so that to apply even the
	// same version again recreates the pod.
	Drifted bool
	// Available says that the pod of the newest version is ready, and no other runs.
	Available bool
	// Observed says that the status belongs to the newest version.
	Observed bool
	// Unavailable says that the Deployment's condition Available is False. It differs
	// from !Available while nothing is known yet.
	Unavailable bool
	// Since is when availability changed last. Zero: unknown.
	Since time.Time
	// Created is when the Deployment was.
	Created  time.Time
	Progress Progress
	// Progressed is when Progress was reported last.
	Progressed time.Time
	// Unproven is Step.Unproven of the step that applied Version.
	Unproven bool
	// PeerLost says that the edge reports that it hears nothing of its peer on the network.
	PeerLost bool
	// PeerImpaired says that the edge reports that its peer serves VMs worse than itself.
	PeerImpaired bool
}

// Progress is how far a Deployment says that its newest version is.
type Progress string

// A Deployment stays Complete for a version even if the pod fails later. It is
// Exceeded if the version was not available within Deadline.
const (
	Unknown  Progress = ""
	Complete Progress = "Complete"
	Exceeded Progress = "DeadlineExceeded"
)

// A Check is an address conflict detection.
type Check struct {
	// Wanted is its version, and with it the addresses that it probes.
	Wanted string
	// Seen is its Deployment. Available: no address is in use.
	Seen Seen
	// Owned says that edges of oooi held these very addresses until a moment ago.
	// They may still answer, so a check would find them in use.
	Owned bool
}

// A Decision is what happens to the edges of one network now.
type Decision struct {
	// Check says that the address conflict detection runs. Then no edge exists and
	// none is created: all of Steps are Hold.
	Check bool
	// Steps are in the order of Network.Edges.
	Steps []Step
	// Budget says that a PodDisruptionBudget protects the edges: one of them may be drained.
	Budget bool
	// Held says that no edge may be recreated or drained, since they are partitioned.
	Held bool
	// HeldSince is when Held was first true, or a peer was first seen to be impaired. It is to
	// be stored, with the budget, and passed to the next decision. Zero: not lately.
	HeldSince time.Time
	// Disruptions are connections that the steps reset.
	Disruptions []Disruption
	// Partitioned is the first edge that hears nothing of its peer though both have served
	// for settled. Empty: none.
	Partitioned string
	// Again is how soon to look again, though no object changes. 0: no need.
	Again time.Duration
}

// An Action is what happens to one edge.
type Action string

// The actions. Apply leaves the pod as it is. Hold leaves the edge at its previous
// version, or absent, for now. Keep leaves an edge that is no longer wanted.
const (
	Create   Action = "Create"
	Recreate Action = "Recreate"
	Apply    Action = "Apply"
	Hold     Action = "Hold"
	Keep     Action = "Keep"
	Remove   Action = "Remove"
)

// A Step is what happens to one edge, and why.
type Step struct {
	Name   string
	Action Action
	// Version and Health are how the edge was found.
	Version Version
	Health  Health
	// Peer is the edge that Hold waits for. Empty: none.
	Peer string
	// Unproven is to be stored with the edge: it was given its version while it was
	// unavailable and a previous version may have been why.
	Unproven bool
}

// A Disruption is an edge that serves and whose pod ends by a step: open
// connections through it are reset.
type Disruption struct {
	Edge string
	// Action is Recreate or Remove.
	Action Action
	// Peer takes the traffic over. Empty: no other edge serves, so VMs get no
	// answer until the edge serves again.
	Peer string
}

// Next decides what happens on n at now.
func Next(n Network, now time.Time) Decision {
	if n.checking() {
		return Decision{Check: true, Steps: holdAll(n.Edges)}
	}
	found := make([]edge, len(n.Edges))
	for i, e := range n.Edges {
		found[i] = edge{Edge: e, version: versionOf(e), health: HealthOf(e.Seen, now)}
	}
	h := holdOf(found, n.HeldSince, now)
	d := Decision{
		Steps: stepsOf(found, h), Budget: budgeted(found), Held: h.partitioned, HeldSince: h.since, Partitioned: h.edge}
	d.Disruptions = disruptions(found, d.Steps)
	d.Again = sooner(h.recheck, nextDeadline(n.Edges, now))
	return d
}

// checking reports whether no edge may be created yet. Where an edge exists no check is
// possible: the edge would answer for the addresses.
func (n Network) checking() bool {
	wanted := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Wanted != "" })
	exists := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Seen.Exists })
	passed := n.Check.Seen.Exists && n.Check.Seen.Version == n.Check.Wanted && n.Check.Seen.Available
	return wanted && !exists && !n.Check.Owned && !passed
}

// stepsOf decides each edge of a network that is checked.
func stepsOf(found []edge, h hold) []Step {
	waiting := waitingOf(found, h)
	steps := make([]Step, len(found))
	for i, e := range found {
		s := Step{Name: e.Name, Version: e.version, Health: e.health, Action: Apply}
		peer, held := waiting[e.Name]
		switch {
		case e.version == Unwanted && replaced(e, found):
			s.Action = Remove
		case e.version == Unwanted:
			s.Action = Keep
		case held:
			s.Action, s.Peer = Hold, peer
		case e.health == Absent:
			s.Action = Create
		case e.version != Current:
			s.Action = Recreate
		}
		s.Unproven = e.Seen.Unproven
		if s.Action == Recreate {
			s.Unproven = e.health != Serving && e.Seen.suspect()
		}
		steps[i] = s
	}
	return steps
}

func holdAll(edges []Edge) []Step {
	steps := make([]Step, len(edges))
	for i, e := range edges {
		steps[i] = Step{Name: e.Name, Action: Hold, Version: versionOf(e), Health: Absent}
	}
	return steps
}

// replaced reports whether e, which is not wanted, can be removed.
func replaced(e edge, all []edge) bool {
	wanted := slices.ContainsFunc(all, func(x edge) bool { return x.version != Unwanted })
	return e.health != Serving || !wanted || slices.ContainsFunc(all, func(x edge) bool {
		return x.version == Current && (x.health == Serving || x.health == Stuck)
	})
}

// budgeted reports whether a budget may protect the edges. One edge alone has none: it
// would stop every drain of its node. Neither has an edge whose peer is overdue: it
// would stop that drain for as long as the peer is, maybe for ever.
func budgeted(all []edge) bool {
	wanted := 0
	for _, e := range all {
		if e.version == Unwanted {
			continue
		}
		if e.health == Failed || e.health == Stuck {
			return false
		}
		wanted++
	}
	return wanted > 1
}

// disruptions are the pods that serve and that steps end. On a network that is
// retired nothing takes over, which is not an event of one edge.
func disruptions(found []edge, steps []Step) []Disruption {
	wanted := slices.ContainsFunc(found, func(e edge) bool { return e.version != Unwanted })
	var out []Disruption
	for i, s := range steps {
		if found[i].health != Serving || s.Action != Recreate && (s.Action != Remove || !wanted) {
			continue
		}
		d := Disruption{Edge: s.Name, Action: s.Action}
		if peer := slices.IndexFunc(found, func(x edge) bool { return x.Name != s.Name && x.health == Serving }); peer >= 0 {
			d.Peer = found[peer].Name
		}
		out = append(out, d)
	}
	return out
}
