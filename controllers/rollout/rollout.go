// Package rollout decides what happens to the edges of one network: which are created, recreated, left alone or removed
// now, and which connections a change resets. The package is pure: it knows no Kubernetes types and no labels, and the
// time is an argument.
//
// Next looks at one network. For each edge it sees a version (Current, Outdated or Unwanted) and a health (Absent,
// Serving, Starting, Failed or Stuck). A wanted edge that is Current is applied again, which changes nothing. All
// other wanted edges are due. An edge that is due waits for its peer if the table says "hold":
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
// An edge without a wanted peer never waits, because no other edge would come. Function turn orders the edges that
// are due. A postponed edge that exists is not due.
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
// If two edges serve and one does not hear the other, the network is partitioned. Each edge may serve VMs that do not
// reach the other one. So neither is recreated, and neither can be drained, until they hear each other or Deadline is
// over. For the same time, an edge that reports an impaired peer is not recreated. The next hold begins at the
// earliest ten minutes after Deadline, so reports cannot stop a change.
//
// An edge whose node is cordoned or updated is Starting and not overdue, so its peer is neither recreated nor drained.
// This ends when Deadline has passed after the maintenance was last stored, or after MaintenanceLimit.
//
// Before the first edge of a network exists, an address conflict detection (ACD) runs, and no edge is created until it
// has passed. If only edges of another management cluster serve the network, the check runs again, and these edges are
// removed. Edges that a backup tool restored do not count: if there are no others, they are removed first.
package rollout

import (
	"slices"
	"time"
)

// A Network has the wanted and the existing edges of one network.
type Network struct {
	// Edges are all edges that are wanted or exist. Names are unique.
	Edges []Edge
	// Check is the address conflict detection.
	Check Check
	// HeldSince and MaintainedAt are those of the last Decision. Zero: unknown.
	HeldSince, MaintainedAt time.Time
}

// An Edge is one edge that is wanted, or exists, or is wanted and exists.
type Edge struct {
	Name string
	// Wanted is the version that the edge should run. Empty: the edge is not wanted.
	Wanted string
	// Postponed is true if other hosted clusters get a new release of oooi first. An existing edge then keeps its
	// present version for now.
	Postponed bool
	// Seen is the existing edge. Zero: it does not exist.
	Seen Seen
}

// Seen has the known facts about an edge's Deployment.
type Seen struct {
	Exists bool
	// Version is the version that was last applied. Empty: none.
	Version string
	// Drifted is true if another client changed the pod, so that applying even the same version recreates it.
	Drifted bool
	// Available is true if the pod of the newest version is ready, and no other pod runs.
	Available bool
	// Observed is true if the status is about the newest version.
	Observed bool
	// Unavailable is true if the Deployment's condition Available is False. While nothing is known yet, both
	// Available and Unavailable are false.
	Unavailable bool
	// Since is when availability last changed. Zero: unknown.
	Since    time.Time
	Created  time.Time
	Progress Progress
	// Progressed is when Progress last changed.
	Progressed time.Time
	// Unproven is Step.Unproven of the step that applied Version.
	Unproven bool
	// Restored is true if a backup tool created the edge again, so that no check preceded it.
	Restored bool
	// PeerLost is true if the edge reports that it does not hear its peer on the network.
	PeerLost bool
	// PeerImpaired is true if the edge reports that its peer serves VMs worse than itself.
	PeerImpaired bool
	// MaintainedNode is the node that the edge ran on last, while this node is in maintenance and its peer runs on another
	// one. Empty otherwise, or if the node is unknown or deleted.
	MaintainedNode string
	// maintained is when MaintainedNode was last known. Zero: not within Deadline.
	maintained time.Time
}

// Progress is how far the Deployment's newest version is, by its condition.
type Progress string

// A Deployment stays Complete for a version even if its pod fails later. It is Exceeded if the version did not become
// available within Deadline.
const (
	Unknown  Progress = ""
	Complete Progress = "Complete"
	Exceeded Progress = "DeadlineExceeded"
)

// A Check is an address conflict detection.
type Check struct {
	// Wanted is the version of the check. It changes with the addresses to probe.
	Wanted string
	// Seen is the state of the check's Deployment. Available means that no address is in use.
	Seen Seen
	// Owned is true if edges of oooi held the same addresses until a moment ago. They may still answer, so a check
	// would find the addresses in use.
	Owned bool
	// Lost is true if each edge reports that it yields to edges of another management cluster.
	Lost bool
}

// A Decision says what to do with the edges of one network now.
type Decision struct {
	// Check is true if the address conflict detection runs. Then no edge is created, and one that exists is removed: all
	// Steps are Hold or Remove.
	Check bool
	// Steps are in the order of Network.Edges.
	Steps []Step
	// Budget is true if a PodDisruptionBudget protects the edges, so that only one can be drained at a time.
	Budget bool
	// Held is true if the edges are partitioned, and none may be recreated or drained.
	Held bool
	// HeldSince is when Held became true, or when a peer was first seen to be impaired. Store it with the budget, and
	// pass it to the next decision. Zero: there is no recent hold.
	HeldSince time.Time
	// MaintainedAt is when an edge was last seen to wait for a node in maintenance. It lags by up to half of Deadline. Store
	// it like HeldSince. Zero: not within Deadline.
	MaintainedAt time.Time
	// Disruptions are connections that the steps reset.
	Disruptions []Disruption
	// Partitioned is the first edge that does not hear its peer although the two edges have served for settled. Empty:
	// none.
	Partitioned string
	// Again is when to decide again even if no object changes. 0: there is no need.
	Again time.Duration
}

// An Action is what to do with one edge.
type Action string

// Apply does not recreate the pod. Hold leaves the edge at its previous version, or absent, for now. Keep leaves an
// edge that is no longer wanted.
const (
	Create   Action = "Create"
	Recreate Action = "Recreate"
	Apply    Action = "Apply"
	Hold     Action = "Hold"
	Keep     Action = "Keep"
	Remove   Action = "Remove"
)

// A Step says what to do with one edge, and why.
type Step struct {
	Name   string
	Action Action
	// Version and Health describe the edge before the step.
	Version Version
	Health  Health
	// Peer is the edge that Hold waits for. Empty: none.
	Peer string
	// Node is the node in maintenance that the edge waits for, once it has been unavailable for Deadline. Empty: none.
	Node string
	// Unproven is stored with the edge. It is true if the edge got its version while it was unavailable and a
	// previous version may have been the cause.
	Unproven bool
}

// A Disruption is a serving edge whose pod a step ends, so that open connections through it are reset.
type Disruption struct {
	Edge string
	// Action is Recreate or Remove.
	Action Action
	// Peer takes over the traffic. Empty: no other edge serves, so VMs get no answer until the edge serves again.
	Peer string
}

// Next decides what to do on n at the time now.
func Next(n Network, now time.Time) Decision {
	if n.checking() {
		return Decision{Check: true, Steps: cleared(n.Edges)}
	}
	edges, maintained, again := n.withMaintenance(now)
	found := make([]edge, len(edges))
	for i, e := range edges {
		found[i] = edge{Edge: e, version: versionOf(e), health: HealthOf(e.Seen, now)}
	}
	h := holdOf(found, n.HeldSince, now)
	d := Decision{
		Steps: stepsOf(found, h, now), Budget: budgeted(found), Held: h.partitioned, HeldSince: h.since, Partitioned: h.edge, MaintainedAt: maintained}
	d.Disruptions = disruptions(found, d.Steps)
	d.Again = sooner(again, sooner(h.recheck, nextDeadline(edges, now)))
	return d
}

// checking reports whether edges must wait for the address conflict detection. An edge that exists would answer for the
// addresses, so no check is possible. Edges do not prevent a check if they are removed for it: restored ones, and
// unavailable ones while another management cluster serves.
func (n Network) checking() bool {
	wanted := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Wanted != "" })
	stays := slices.ContainsFunc(n.Edges, func(e Edge) bool {
		return e.Seen.Exists && !e.Seen.Restored && (!n.Check.Lost || e.Seen.Available)
	})
	restored := slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Seen.Restored })
	passed := n.Check.Seen.Exists && n.Check.Seen.Version == n.Check.Wanted && n.Check.Seen.Available
	return wanted && !stays && (restored || !n.Check.Owned && !passed)
}

func stepsOf(found []edge, h hold, now time.Time) []Step {
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
		if e.health == Starting && e.Seen.awaits(now) && now.Sub(e.Seen.Since) >= Deadline {
			s.Node = e.Seen.MaintainedNode
		}
		s.Unproven = e.Seen.Unproven
		if s.Action == Recreate {
			s.Unproven = e.health != Serving && e.Seen.suspect()
		}
		steps[i] = s
	}
	return steps
}

func cleared(edges []Edge) []Step {
	steps := make([]Step, len(edges))
	for i, e := range edges {
		steps[i] = Step{Name: e.Name, Action: Hold, Version: versionOf(e), Health: Absent}
		if e.Seen.Exists {
			steps[i].Action = Remove
		}
	}
	return steps
}

func replaced(e edge, all []edge) bool {
	wanted := slices.ContainsFunc(all, func(x edge) bool { return x.version != Unwanted })
	return e.health != Serving || !wanted || slices.ContainsFunc(all, func(x edge) bool {
		return x.version == Current && (x.health == Serving || x.health == Stuck)
	})
}

// budgeted reports whether a PodDisruptionBudget may protect the edges. A budget for a single edge would prevent every
// drain of its node. With an overdue peer, it would prevent a drain for as long as the peer is overdue.
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

// disruptions returns the serving edges whose pods are ended by steps. The removal of a whole network is not reported
// for each edge.
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
