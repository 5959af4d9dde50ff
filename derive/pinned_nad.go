// This file decides that a layer-2 network in use stays the same. While VMs are on it, its edges keep the previous CNI
// configuration, even if the NAD is edited or deleted. A running VM also stays on that layer-2 network, until it
// restarts or migrates.

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

// SameConfig reports whether a and b, two values of Attachment.ConfigHash, are for the same configuration. It returns
// true if one is empty, or if their versions differ.
func SameConfig(a, b string) bool {
	versionA, _, knownA := strings.Cut(a, "-")
	versionB, _, knownB := strings.Cut(b, "-")
	return a == b || !knownA || !knownB || versionA != versionB
}

// changedFrom reports whether edges that were created for an earlier attachment, was, cannot serve a. If the NAD of
// either attachment is unknown, it returns false.
func changedFrom(a network.Attachment, was network.Attachment) bool {
	if a.Kind == "" || was.Kind == "" {
		return false
	}
	return movedFrom(a, was) || a.Kind != was.Kind || a.MTU != was.MTU || !SameConfig(a.ConfigHash, was.ConfigHash)
}

// movedFrom reports whether a is on another layer-2 network than the earlier attachment, was. If was.Layer2 is unknown,
// it returns false.
func movedFrom(a network.Attachment, was network.Attachment) bool {
	return was.Layer2 != "" && a.Layer2 != was.Layer2
}

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

// without returns a copy of in without networks on the layer-2 networks in pinned that have another NAD. It also
// returns a problem for each of these networks: their edges would serve the same VMs.
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
