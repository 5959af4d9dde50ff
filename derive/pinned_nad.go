// This file decides that a layer-2 network in use stays the same. While VMs are on it, its
// edges keep the previous CNI configuration, whatever is made of the
// NetworkAttachmentDefinition. A VM that runs stays on its network until it restarts or
// migrates to another node.

package derive

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
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
func changedFrom(a network.Attachment, was network.Attachment) bool {
	if a.Kind == "" || was.Kind == "" {
		return false
	}
	return movedFrom(a, was) || a.Kind != was.Kind || a.MTU != was.MTU || !SameConfig(a.ConfigHash, was.ConfigHash)
}

// movedFrom reports whether a is another layer-2 network than was. Layer2 is empty if it is unknown.
func movedFrom(a network.Attachment, was network.Attachment) bool {
	return was.Layer2 != "" && a.Layer2 != was.Layer2
}

// pinnedProblem returns the problem that edges keep a, though the
// NetworkAttachmentDefinition is now as wanted.
func pinnedProblem(a network.Attachment, wanted network.Attachment) problem.Problem {
	cause := problem.PinnedNADChanged
	switch {
	case a.EdgeNADConfig == "", a.AboveNAD:
		cause = problem.PinnedOVNChanged
	case movedFrom(wanted, a):
		cause = problem.PinnedNADMoved
	}
	former, now := differences(a, wanted)
	return a.Problem(cause, problem.Args{"former": {former}, "wanted": {now}}, "spec.config")
}

// differences describe in which way a and b differ.
func differences(a network.Attachment, b network.Attachment) (ofA, ofB string) {
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
func without(in served.Input, pinned []network.Attachment) (served.Input, problem.Problems) {
	var problems problem.Problems
	out := in
	out.Networks = slices.DeleteFunc(slices.Clone(in.Networks), func(s network.NetworkRequest) bool {
		i := slices.IndexFunc(pinned, func(a network.Attachment) bool {
			return a.String() != s.Attachment.String() && a.SameNetwork(s.Attachment)
		})
		if i < 0 {
			return false
		}
		problems = append(problems, s.Problem(problem.NADDuplicatesRunning, problem.Args{"other": {pinned[i].String()}}))
		return true
	})
	return out, problems
}
