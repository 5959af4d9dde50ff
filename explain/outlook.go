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

// outlook is a clause about what warnings prevent, the worst of them, and whether new nodes boot nevertheless. Empty:
// nodes become Ready as soon as every part that they need is served.
func outlook(networks []network.Network, problems problem.Problems) (may string, boots Answer) {
	has := func(r problem.Reason) bool {
		return slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == r && mayPrevent(p) })
	}
	onPrimary := func(r problem.Reason) bool {
		return slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Reason == r && !onSecondary(networks, p) })
	}
	switch {
	case onPrimary(problem.AddressesExhausted):
		return "VMs that start get no address, so new nodes do not become Ready", No
	case has(problem.NADNamespaceNotAllowed):
		return "VMs may not start, so nodes may not become Ready", Unknown
	case has(problem.ImagesUnreachable), has(problem.PodNetworkUnsupported), has(problem.ControlPlaneProxied):
		return "nodes may not become Ready", Unknown
	case onPrimary(problem.RangeTooSmall):
		return "VMs may run out of addresses, so some nodes may not become Ready", Unknown
	}
	return "", Yes
}

// A bootOutlook answers whether nodes boot, and has what decides that. The stored answer and the summary are both it.
type bootOutlook struct {
	boots Answer
	cause bootCause
	// down are the networks that VMs boot from and that have no ready edge. up: another one has one.
	down []network.Network
	up   bool
	// failed and waiting are parts that are not served, and unchanged the networks that run as before.
	failed, waiting []part
	unchanged       []network.Network
	// may is what warnings prevent.
	may string
}

// A bootCause is why nodes boot or not.
type bootCause int

const (
	causeServed bootCause = iota // What is served decides.
	causeRemoving
	causePaused
	causeUnread
	causeUnapplied
)

// bootOutlook decides whether nodes boot. problems are ordered.
func (s Status) bootOutlook(problems problem.Problems) bootOutlook {
	var first problem.Problem
	if len(problems) > 0 {
		first = problems[0]
	}
	o := bootOutlook{boots: Unknown}
	switch {
	case s.Problems.Has(problem.Removing):
		o.cause = causeRemoving
	case first.Cause == problem.PausedUnserved:
		o.cause = causePaused
	case first.Cause == problem.ReadFailed || first.Cause == problem.KindNotWatched:
		o.cause = causeUnread
	case !s.Applied:
		o.cause = causeUnapplied
	default:
		return s.servedOutlook()
	}
	// Edges that run serve what they did before. Without them, VMs may boot from the pod network.
	if o.cause != causeUnread && !s.Running && (len(s.Plan.Networks) == 0 || boots(s.Plan.Networks)) {
		o.boots = No
	}
	return o
}

// servedOutlook is the one of a plan that was applied.
func (s Status) servedOutlook() bootOutlook {
	unchanged, refused := s.unchanged()
	o := bootOutlook{
		failed: parts(s.Plan.Networks, refused), waiting: parts(s.Plan.Networks, s.Problems.Of(problem.SeverityWaiting)), unchanged: unchanged,
	}
	o.may, o.boots = outlook(s.Plan.Networks, s.Problems)
	for _, n := range s.Plan.Networks {
		switch {
		case n.Primary && s.ReadyEdges[n.Name] > 0:
			o.up = true
		case n.Primary:
			o.down = append(o.down, n)
		}
	}
	if len(o.down) > 0 || o.lacks() <= needOnNetwork {
		o.boots = No
	}
	return o
}

// lacks is how much nodes need the parts that are not served, needNone without one.
func (o bootOutlook) lacks() need {
	most := needNone
	for _, p := range slices.Concat(o.failed, o.waiting) {
		most = min(most, p.need)
	}
	return most
}

// Without answers whether nodes on networks boot while p keeps its part from being served, and has the effect as a
// clause.
func Without(networks []network.Network, p problem.Problem) (boots Answer, effect string) {
	lost := partOf(networks, p)
	if lost.need <= needOnNetwork {
		return No, lost.effect
	}
	return Yes, lost.effect
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
	// needToJoin: nodes become Ready, and lack something.
	needToJoin
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
	service := cmp.Or(network.PublishedAt(p.Subject.Name), network.PublishedBy(p.Subject.Name))
	switch {
	case p.Reason == problem.WaitingForControlPlane:
		return partBy(network.PublishedBy(network.APIService))
	case name != "" && onSecondary(networks, p):
		return part{needAddress, "network " + name, "VMs get no address there"}
	case name != "":
		return part{needOnNetwork, "network " + name, "VMs cannot boot or get an address there"}
	case p.Reason == problem.WaitingForNetwork:
		return part{needToBoot, "any network", "nodes cannot boot"}
	case service.Service != "":
		return partBy(service)
	case p.Subject.Name == "apps":
		return part{needNone, "*.apps", "the console and ingress operators of the hosted cluster stay degraded"}
	case p.Subject.Kind == "Service":
		return part{needNone, p.Subject.String(), "nodes do not need it"}
	}
	return part{needAddress, cmp.Or(p.Subject.String(), "one part"), "see below"}
}

// partBy is the part that s is.
func partBy(s network.PublishedService) part {
	name := s.Title
	if s.Service == network.APIService {
		name = "the " + name
	}
	return part{map[network.Need]need{network.NeedBoot: needToBoot, network.NeedJoin: needToJoin, network.NeedNone: needNone}[s.Need], name, s.Effect}
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
