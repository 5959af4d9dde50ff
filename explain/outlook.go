// This file says what problems mean for nodes. The condition and `oooi plan` both take
// their verdict from here, so that they agree.

package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// outlook is a clause about what warnings may prevent, the worst of them. Empty: nodes
// become Ready as soon as every part that they need is served.
func outlook(networks []network.Network, problems problem.Problems) string {
	has := func(r problem.Reason) bool {
		return slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == r && mayPrevent(p) })
	}
	switch {
	case has(problem.NADNamespaceNotAllowed):
		return "VMs may not start, so nodes may not become Ready"
	case has(problem.ImagesUnreachable):
		return "nodes may not become Ready"
	case slices.ContainsFunc(problems, func(p problem.Problem) bool {
		return p.Reason == problem.AddressesExhausted && !onSecondary(networks, p)
	}):
		return "VMs that start get no address, so new nodes do not become Ready"
	case slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == problem.RangeTooSmall && !onSecondary(networks, p) }):
		return "VMs may run out of addresses, so some nodes may not become Ready"
	}
	return ""
}

// onSecondary reports whether p is about networks that no VM boots from.
func onSecondary(networks []network.Network, p problem.Problem) bool {
	of := slices.DeleteFunc(slices.Clone(networks), func(n network.Network) bool { return !slices.Contains(p.Args["network"], n.Attachment.String()) })
	return len(of) > 0 && !boots(of)
}

// boots reports whether VMs boot from one of these networks.
func boots(networks []network.Network) bool {
	return slices.ContainsFunc(networks, func(n network.Network) bool { return n.Primary })
}

// A need is how much nodes need a part.
type need int

// Needs, the greatest first.
const (
	// needToBoot: no new node boots without it.
	needToBoot need = iota
	// needOnNetwork: VMs that boot from one network do not boot.
	needOnNetwork
	// needAddress: nodes boot, and lack something.
	needAddress
	// needNone: nodes become Ready without it.
	needNone
)

// A part is something that is not served. Its effect is a clause.
type part struct {
	need         need
	name, effect string
}

// partOf returns what is not served because of p.
func partOf(networks []network.Network, p problem.Problem) part {
	name := aboutNetwork(p)
	switch {
	case p.Reason == problem.WaitingForControlPlane:
		return part{needToBoot, "the API server", "nodes cannot boot"}
	case name != "" && onSecondary(networks, p):
		return part{needAddress, "network " + name, "VMs get no address there"}
	case name != "":
		return part{needOnNetwork, "network " + name, "VMs cannot boot or get an address there"}
	case p.Reason == problem.WaitingForNetwork:
		return part{needToBoot, "any network", "nodes cannot boot"}
	}
	switch cmp.Or(network.PublishedAt(p.Subject.Name), network.PublishedBy(p.Subject.Name)).Service {
	case network.APIService:
		return part{needToBoot, "the API server", "nodes cannot boot"}
	case network.IgnitionService:
		return part{needToBoot, "Ignition", "new nodes cannot boot"}
	case network.KonnectivityService:
		return part{needNone, "konnectivity", "kubectl logs and exec fail"}
	case network.OAuthService:
		return part{needNone, "OAuth", "logins fail"}
	}
	if p.Subject.Name == "apps" {
		return part{needNone, "*.apps", "the console and ingress operators of the hosted cluster stay degraded"}
	}
	if p.Subject.Kind == "Service" {
		return part{needNone, p.Subject.String(), "nodes do not need it"}
	}
	return part{needAddress, cmp.Or(p.Subject.String(), "one part"), "see below"}
}

// parts are what problems of a severity keep from being served, each once, what nodes
// need most first.
func parts(networks []network.Network, problems problem.Problems) []part {
	var out []part
	for _, p := range problems {
		if x := partOf(networks, p); !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b part) int { return cmp.Compare(a.need, b.need) })
	return out
}

// maxParts is how many parts a sentence names.
const maxParts = 3

// notServed is a sentence that names parts, and the effect of the first. Empty: none.
// yet is " yet" where no act of the user is needed.
func notServed(all []part, yet string) string {
	if len(all) == 0 {
		return ""
	}
	var words []string
	for _, p := range all {
		words = append(words, p.name)
	}
	if len(words) > maxParts {
		words = []string{words[0], fmt.Sprintf("%d more parts", len(words)-1)}
	}
	verb := "is"
	if len(words) > 1 {
		verb = "are"
	}
	return capital(fmt.Sprintf("%s %s not served%s: %s.", sentenceList(words), verb, yet, all[0].effect))
}
