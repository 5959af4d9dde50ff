// This file renders confined Errors: those of one network, while VMs boot from another one.

package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// unchanged returns the networks that run as before because of a confined Error. errors are all other Errors, and those
// that stop VMs.
func (s Status) unchanged() (all []network.Network, errors problem.Problems) {
	for _, p := range s.Problems.Of(problem.SeverityError) {
		i := slices.IndexFunc(s.Plan.Networks, func(n network.Network) bool {
			return p.Confined && !p.StopsVMs() && n.Attachment.String() == aboutNetwork(p)
		})
		switch {
		case i < 0:
			errors = append(errors, p)
		case !slices.ContainsFunc(all, func(n network.Network) bool { return n.Name == s.Plan.Networks[i].Name }):
			all = append(all, s.Plan.Networks[i])
		}
	}
	return all, errors
}

// notChanged returns a sentence about the given networks, which run as before. It returns "" if there are none.
func notChanged(all []network.Network) string {
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("The new configuration of %s is not applied, so edges there keep serving the previous one.", networkNames(all))
}

// aboutNetwork returns the "namespace/name" of the network that p is about, or "" if there is none.
func aboutNetwork(p problem.Problem) string {
	return cmp.Or(p.Args["network"].String(), p.Args["nad"].String())
}

// withoutNode returns a clause about the networks that confined Errors leave out or whose VMs they stop, or "" if there
// are none.
func withoutNode(networks []network.Network, problems problem.Problems) string {
	var names []string
	for _, p := range problems.Of(problem.SeverityError) {
		name := aboutNetwork(p)
		runs := slices.ContainsFunc(networks, func(n network.Network) bool { return n.Attachment.String() == name })
		if p.Confined && (!runs || p.StopsVMs()) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxParts:
		return fmt.Sprintf("nodes on %d networks cannot become Ready", len(names))
	case len(names) > 1:
		return fmt.Sprintf("nodes on networks %s cannot become Ready", sentenceList(names))
	}
	return fmt.Sprintf("nodes on network %s cannot become Ready", names[0])
}

func confinedLast(a, b problem.Problem) int {
	switch {
	case a.Confined == b.Confined:
		return 0
	case a.Confined:
		return 1
	}
	return -1
}
