// This file implements the table in the package's doc comment: which wanted edges wait for their peer, and which is
// first.

package rollout

import (
	"cmp"
	"slices"
	"strings"
)

// A Version says how the version of an edge compares to the wanted one.
type Version string

// The versions. The version of an edge that does not exist is Outdated.
const (
	Current  Version = "Current"
	Outdated Version = "Outdated"
	Unwanted Version = "Unwanted"
)

// An edge is an Edge with what the table depends on.
type edge struct {
	Edge
	version Version
	health  Health
}

func versionOf(e Edge) Version {
	switch {
	case e.Wanted == "":
		return Unwanted
	case e.Seen.Exists && e.Seen.Version == e.Wanted && !e.Seen.Drifted:
		return Current
	}
	return Outdated
}

// waitingOf returns the edges that wait now, with their peers. A postponed edge waits for no peer.
func waitingOf(found []edge, h hold) map[string]string {
	wanted := slices.DeleteFunc(slices.Clone(found), func(e edge) bool { return e.version == Unwanted })
	slices.SortFunc(wanted, turn)
	waiting, recreated := map[string]string{}, map[string]bool{}
	for _, e := range wanted {
		if e.version == Current {
			continue
		}
		if e.Postponed && e.health != Absent {
			waiting[e.Name] = ""
			continue
		}
		peer := slices.IndexFunc(wanted, func(x edge) bool { return x.Name != e.Name && (h.holds(e) || waits(e, x, recreated[x.Name])) })
		if peer >= 0 {
			waiting[e.Name] = wanted[peer].Name
			continue
		}
		recreated[e.Name] = e.health != Absent
	}
	return waiting
}

// turn compares edges that are due, for sorting. Edges that do not serve come first, the longest unavailable one before
// the others. Of edges that serve, the one that has served for the shortest time comes first: VMs use the other, so
// each connection is reset only once.
func turn(a, b edge) int {
	switch {
	case a.health == Serving && b.health != Serving:
		return 1
	case a.health != Serving && b.health == Serving:
		return -1
	case a.health == Serving:
		return cmp.Or(b.Seen.Since.Compare(a.Seen.Since), strings.Compare(b.Name, a.Name))
	}
	return cmp.Or(a.Seen.Since.Compare(b.Seen.Since), strings.Compare(b.Name, a.Name))
}

// waits reports whether e, which is due, must wait for its peer. recreated is true if the peer is recreated now. An edge
// that is not Serving waits as well, because its previous pod may still serve VMs. It does not wait for an overdue peer.
func waits(e, peer edge, recreated bool) bool {
	switch {
	case e.health == Absent:
		return false
	case peer.health == Absent:
		return true
	case recreated:
		return e.health == Serving || peer.health == Serving || peer.health == Starting
	case peer.version != Current:
		return false
	}
	switch peer.health {
	case Starting:
		return true
	case Failed:
		return e.health == Serving
	}
	return false
}
