// This file decides what of the last plan stays in force: a network that runs
// is not taken from its machines because a later look at the cluster could not
// make it out.

package network

import (
	"cmp"
	"slices"
)

// Keeping is p, and beside it the networks of last that p lacks and that are
// still wanted by their name, as they were.
func (p Plan) Keeping(last Plan, wanted map[string]bool) Plan {
	out := p
	out.Networks = slices.Clone(p.Networks)
	for _, n := range last.Networks {
		has := slices.ContainsFunc(p.Networks, func(x Network) bool { return x.Name == n.Name })
		if wanted[n.Name] && !has {
			out.Networks = append(out.Networks, n)
		}
	}
	slices.SortFunc(out.Networks, func(a, b Network) int {
		return byPrimary(a.Primary, b.Primary, cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// byPrimary puts primary networks first, and others as they compare.
func byPrimary(a, b bool, otherwise int) int {
	switch {
	case a == b:
		return otherwise
	case a:
		return -1
	}
	return 1
}
