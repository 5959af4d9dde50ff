// This file decides that a layer-2 network in use stays the same. While VMs are on it, its
// edges keep the former CNI configuration, whatever is made of the
// NetworkAttachmentDefinition. A VM that runs stays on its network until it restarts or
// migrates to another node.

package network

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// SameConfig reports whether two values of Attachment.ConfigHash are equal as far as they
// can be compared. Those of different versions, or an empty one, cannot.
func SameConfig(a, b string) bool {
	versionA, _, knownA := strings.Cut(a, "-")
	versionB, _, knownB := strings.Cut(b, "-")
	return a == b || !knownA || !knownB || versionA != versionB
}

// changedFrom reports whether edges that were made for was cannot serve a. A
// NetworkAttachmentDefinition that is not known now changes nothing.
func (a Attachment) changedFrom(was Attachment) bool {
	if a.Kind == "" || was.Kind == "" {
		return false
	}
	return a.movedFrom(was) || a.Kind != was.Kind || a.MTU != was.MTU || !SameConfig(a.ConfigHash, was.ConfigHash)
}

// movedFrom reports whether a is another layer-2 network than was. A plan of an earlier
// format does not name its own.
func (a Attachment) movedFrom(was Attachment) bool { return was.Layer2 != "" && a.Layer2 != was.Layer2 }

// pinnedProblem returns the problem that edges keep a, though the
// NetworkAttachmentDefinition is now as wanted.
func (a Attachment) pinnedProblem(wanted Attachment) Problem {
	cause := PinnedNADChanged
	switch {
	case a.EdgeNADConfig == "", a.AboveNAD:
		cause = PinnedOVNChanged
	case wanted.movedFrom(a):
		cause = PinnedNADMoved
	}
	former, now := a.differences(wanted)
	return a.Problem(cause, Args{"former": former, "wanted": now}, "spec.config")
}

// differences describe in which way a and b differ.
func (a Attachment) differences(b Attachment) (ofA, ofB string) {
	var all [2][]string
	compare := func(x, y string) {
		if x != y {
			all[0], all[1] = append(all[0], x), append(all[1], y)
		}
	}
	compare(cmp.Or(a.Layer2, "type "+a.Kind), cmp.Or(b.Layer2, "type "+b.Kind))
	if a.Layer2 != "" && a.Layer2 == b.Layer2 {
		compare("type "+a.Kind, "type "+b.Kind)
	}
	compare(mtuText(a.MTU), mtuText(b.MTU))
	if len(all[0]) == 0 {
		return "the former CNI settings", "other CNI settings"
	}
	return strings.Join(all[0], ", "), strings.Join(all[1], ", ")
}

func mtuText(mtu int) string {
	if mtu == 0 {
		return "the default MTU"
	}
	return "MTU " + strconv.Itoa(mtu)
}

// without is in without the other networks that are one of pinned: their own edges would
// serve the same VMs. Each is a problem.
func (in input) without(pinned []Attachment) (input, Problems) {
	var problems Problems
	out := in
	out.Networks = slices.DeleteFunc(slices.Clone(in.Networks), func(s NetworkRequest) bool {
		i := slices.IndexFunc(pinned, func(a Attachment) bool { return a.String() != s.Attachment.String() && a.SameNetwork(s.Attachment) })
		if i < 0 {
			return false
		}
		problems = append(problems, s.problem(NADDuplicatesRunning, Args{"other": pinned[i].String()}))
		return true
	})
	return out, problems
}
