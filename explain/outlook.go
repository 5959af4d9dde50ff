// This file decides what problems mean for nodes, for the condition and for `oooi plan`.

package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A Verdict summarizes problems, for the condition NetworkReady and for the exit code of `oooi plan`.
type Verdict int

const (
	// Serves: all parts are served, and no problem proves that new nodes do not become Ready.
	Serves Verdict = iota
	// Waits: a part is not served until something else exists.
	Waits
	// Fails: there is an Error, or a problem proves that new nodes do not become Ready.
	Fails
)

// VerdictOf returns the verdict for a plan with the given networks and problems, whatever the state of its edges.
func VerdictOf(networks []network.Network, problems problem.Problems) Verdict {
	switch {
	case len(problems.Of(problem.SeverityError)) > 0, outlookOf(networks, problems).boots == No:
		return Fails
	case problems.Waiting():
		return Waits
	}
	return Serves
}

// FailsAlone reports whether the verdict of a plan whose only problem is p is Fails.
func FailsAlone(p problem.Problem) bool { return VerdictOf(nil, problem.Problems{p}) == Fails }

// An outlook says what warnings mean for nodes, provided that everything that nodes need is served.
type outlook struct {
	// boots is whether new nodes become Ready. It is No only if a problem proves it.
	boots Answer
	// by is the reason of the problem that proves No. Empty: boots is not No.
	by problem.Reason
	// may is a clause about what warnings prevent. Empty: nodes become Ready.
	may string
	// extras are clauses about what nodes lack although they become Ready.
	extras []string
}

// outlookOf returns the outlook, which the worst of problems decides.
func outlookOf(networks []network.Network, problems problem.Problems) outlook {
	has := func(is func(problem.Problem) bool) bool {
		return slices.ContainsFunc(problems, func(p problem.Problem) bool { return mayPrevent(p) && is(p) })
	}
	of := func(r problem.Reason) bool { return has(func(p problem.Problem) bool { return p.Reason == r }) }
	onPrimary := func(r problem.Reason) bool {
		return has(func(p problem.Problem) bool { return p.Reason == r && !onSecondary(networks, p) })
	}
	onAll := func(is func(problem.Problem) bool) bool { // On each network that VMs boot from.
		on := func(p problem.Problem) bool { return is(p) && !onSecondary(networks, p) }
		return has(on) && !slices.ContainsFunc(networks, func(n network.Network) bool {
			return n.Primary && !has(func(p problem.Problem) bool {
				at := p.Args["network"]
				return on(p) && (len(at) == 0 || slices.Contains(at, n.Attachment.String()))
			})
		})
	}
	switch {
	case onAll(func(p problem.Problem) bool { return p.Reason == problem.AddressesExhausted }):
		return outlook{boots: No, by: problem.AddressesExhausted, may: "VMs that start get no address, so new nodes do not become Ready"}
	case onAll(func(p problem.Problem) bool { return p.Cause == problem.NoRegistryReachable }):
		return outlook{boots: No, by: problem.ImagesUnreachable, may: "VMs that start cannot pull images, so new nodes do not become Ready"}
	case has(refusesControlPlane):
		return outlook{boots: No, by: problem.NodesNotCreated, may: "HyperShift creates no control plane, so no node becomes Ready"}
	case has(func(p problem.Problem) bool { return p.Cause == problem.NoNodePoolCreatesNodes }):
		return outlook{boots: No, by: problem.NodesNotCreated, may: "HyperShift creates no nodes, so none becomes Ready"}
	case onPrimary(problem.AddressesExhausted):
		return outlook{boots: Unknown, may: "VMs that start on one network get no address, so new nodes there do not become Ready"}
	case of(problem.NADNamespaceNotAllowed):
		return outlook{boots: Unknown, may: "VMs may not start, so nodes may not become Ready"}
	case of(problem.FramesDropped), of(problem.ImagesUnreachable), of(problem.PodNetworkUnsupported), of(problem.ControlPlaneProxied),
		has(func(p problem.Problem) bool {
			e, _ := p.Cause.Entry()
			return e.PreventsNodes || p.Reason == problem.NodesNotCreated && !slices.Contains(stopsNodes, p.Cause) && p.Cause != problem.NodePoolLabelStopsUpdates
		}):
		return outlook{boots: Unknown, may: "nodes may not become Ready"}
	case onPrimary(problem.EdgesCannotStart):
		return outlook{boots: Unknown, may: "edges may not start, so nodes may not become Ready"}
	case onPrimary(problem.RangeTooSmall):
		return outlook{boots: Unknown, may: "VMs may run out of addresses, so some nodes may not become Ready"}
	}
	return outlook{boots: Yes, extras: extras(problems)}
}

// refusesControlPlane reports whether HyperShift creates no control plane because of p, which is marked Waiting.
func refusesControlPlane(p problem.Problem) bool { return p.Cause == problem.ControlPlaneRefused }

// stopsNodes are the causes for which HyperShift creates no new nodes of some NodePools. If HyperShift creates no nodes
// of any NodePool, another problem reports that.
var stopsNodes = []problem.Cause{problem.NodePoolRefused, problem.NodePoolPaused, problem.NodePoolNameTooLong, problem.NodePoolWithoutVolume, problem.NodePoolLabelInvalid,
	problem.NodePoolWithoutNetwork, problem.NodePoolReleaseNewer, problem.NodePoolPatchRefused}

// extras returns clauses about what nodes lack although they become Ready.
func extras(problems problem.Problems) (clauses []string) {
	lack := func(what string, causes ...problem.Cause) {
		var pools []string
		for _, p := range problems {
			if slices.Contains(causes, p.Cause) {
				pools = append(pools, p.Args["nodePools"]...)
			}
		}
		slices.Sort(pools)
		switch {
		case len(pools) > maxParts:
			clauses = append(clauses, "some NodePools get no "+what)
		case len(pools) > 1:
			clauses = append(clauses, "NodePools "+sentenceList(pools)+" get no "+what)
		case len(pools) > 0:
			clauses = append(clauses, "NodePool "+pools[0]+" gets no "+what)
		}
	}
	lack("new nodes", stopsNodes...)
	lack("updates", problem.NodePoolLabelStopsUpdates)
	add := func(clause string, is func(problem.Problem) bool) {
		if slices.ContainsFunc(problems.Of(problem.SeverityWarning), is) {
			clauses = append(clauses, clause)
		}
	}
	add("the console stays degraded", func(p problem.Problem) bool { return p.Reason == problem.AppsUnreachable })
	add("logins fail", func(p problem.Problem) bool { return p.Reason == problem.OAuthUnreachable })
	add("logins with an identity provider fail", func(p problem.Problem) bool {
		return slices.Contains([]problem.Cause{problem.IdentityProviderUnreachable, problem.IdentityProviderWithoutName, problem.IdentityProviderIsEdge, problem.IdentityProviderInHostedCluster, problem.HostsThroughProxy}, p.Cause)
	})
	add("VMs have no time server", func(p problem.Problem) bool { return p.Reason == problem.NTPMissing })
	return clauses
}

func (o outlook) butLacking() string {
	if len(o.extras) == 0 {
		return ""
	}
	return ", but " + sentenceList(o.extras)
}

// A bootOutlook answers whether nodes boot, and why. The stored answer and the summary are made from it.
type bootOutlook struct {
	outlook
	cause bootCause
	// down are the networks that VMs boot from without a ready edge. up is true if another one has a ready edge.
	down []network.Network
	up   bool
	// failed and waiting are parts that are not served, and unchanged the networks that run as before.
	failed, waiting []part
	unchanged       []network.Network
}

type bootCause int

const (
	causeServed bootCause = iota // What is served decides.
	causeRemoving
	causePaused
	causeUnread
	causeUnapplied
)

func (s Status) bootOutlook(problems problem.Problems) bootOutlook {
	var first problem.Problem
	if len(problems) > 0 {
		first = problems[0]
	}
	o := bootOutlook{outlook: outlook{boots: Unknown, by: problem.NotApplied}}
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
	// Edges that run still serve. Without them, VMs may boot from the pod network.
	if o.cause != causeUnread && !s.Running && (len(s.Plan.Networks) == 0 || boots(s.Plan.Networks)) {
		o.boots = No
	}
	return o
}

func (s Status) servedOutlook() bootOutlook {
	unchanged, refused := s.unchanged()
	o := bootOutlook{
		outlook: outlookOf(s.Plan.Networks, s.Problems),
		failed:  parts(s.Plan.Networks, refused), waiting: parts(s.Plan.Networks, s.Problems.Of(problem.SeverityWaiting)), unchanged: unchanged,
	}
	for _, n := range s.Plan.Networks {
		switch {
		case n.Primary && s.ReadyEdges[n.Name] > 0:
			o.up = true
		case n.Primary:
			o.down = append(o.down, n)
		}
	}
	if o.boots != No && (len(o.down) > 0 || o.lacks() <= needOnNetwork) {
		o.boots, o.by = No, problem.EdgeNotReady
	}
	return o
}

// lacks returns the greatest need of the parts that are not served, or needNone if all are served.
func (o bootOutlook) lacks() need {
	most := needNone
	for _, p := range slices.Concat(o.failed, o.waiting) {
		most = min(most, p.need)
	}
	return most
}

// Without returns whether nodes on networks boot while p keeps a part from being served. effect is a clause about that part.
func Without(networks []network.Network, p problem.Problem) (boots Answer, effect string) {
	lost := partOf(networks, p)
	if lost.need <= needOnNetwork {
		return No, lost.effect
	}
	return Yes, lost.effect
}

func onSecondary(networks []network.Network, p problem.Problem) bool {
	of := slices.DeleteFunc(slices.Clone(networks), func(n network.Network) bool { return !slices.Contains(p.Args["network"], n.Attachment.String()) })
	return len(of) > 0 && !boots(of)
}

func boots(networks []network.Network) bool {
	return slices.ContainsFunc(networks, func(n network.Network) bool { return n.Primary })
}

// A need says how much nodes depend on a part.
type need int

// Needs, the greatest first.
const (
	// needToBoot: no new node boots without it.
	needToBoot need = iota
	// needOnNetwork: VMs that boot from one network do not boot.
	needOnNetwork
	// needAddress: nodes boot, but VMs get no address on one network, or lack something that is not known.
	needAddress
	// needToJoin: nodes become Ready, but do not become a working part of their cluster.
	needToJoin
	// needNone: nodes become a working part of their cluster without it.
	needNone
)

// A part is something that is not served. Its effect is a clause.
type part struct {
	need         need
	name, effect string
}

func partOf(networks []network.Network, p problem.Problem) part {
	name := aboutNetwork(p)
	service := cmp.Or(network.PublishedAt(p.Subject.Name), network.PublishedBy(p.Subject.Name))
	switch {
	case p.Reason == problem.WaitingForControlPlane, p.Cause == problem.ControlPlaneRefused:
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

func partBy(s network.PublishedService) part {
	name := s.Title
	if s.Service == network.APIService {
		name = "the " + name
	}
	return part{map[network.Need]need{network.NeedBoot: needToBoot, network.NeedJoin: needToJoin, network.NeedNone: needNone}[s.Need], name, s.Effect}
}

// parts returns what problems keep from being served, each part once. What nodes need most comes first.
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

// maxParts is the maximum number of parts that a sentence names.
const maxParts = 3

// notServed returns a sentence that names the given parts, and the effect of the first. If there are no parts, it
// returns "". yet is " yet" if the user does not have to act.
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
