// Package derive decides what is served to one hosted cluster on its isolated networks. Derive takes a Request, Facts,
// the plan in force, and the other hosted clusters on the same networks. It returns a Plan and Problems: why the plan
// differs from the request. A place is where VMs dial an endpoint: an address or a name, and a port. A network is
// retained if it stays as it is in the plan in force.
//
// Package derive is pure: standard library only, no I/O, no clock, no Kubernetes. The laws of Derive, each held by a test:
//
//   - total: all arguments give a Decision, never a panic
//   - deterministic: equal arguments in any order give equal bytes
//   - stable: later additions move no address, and addresses in use never move
//   - idempotent: with its own plan in force, it decides the same plan
//   - valid: without an Error, Plan.Validate finds nothing
//   - the plan round-trips through JSON
//   - self-contained: a server needs the plan and nothing else to start
package derive

import (
	"cmp"
	"slices"

	"github.com/cldmnky/oooi/derive/opened"
	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Derive decides what is served to a hosted cluster. It takes what the user requests, the
// observed state, last (the plan in force; zero if there is none), and the other hosted
// clusters on the same networks. The steps, one statement each:
//
//  1. An endpoint that is missing now keeps its last known good state. An ingress without a load balancer address keeps the
//     last one (lastgood.go).
//  2. While a VM runs, former places of HyperShift's endpoints forward to their present backends (lastgood.go).
//  3. A network with VMs on it keeps its addresses (pinned.go), stays the same layer-2
//     network (pinned_nad.go), and stays primary if VMs boot from it (pinned_role.go).
//  4. A load balancer whose address another host has is not used (load_balancer.go).
//  5. Networks are decided. If VMs boot from another network, a network with an Error is left out, or is retained if it runs.
//     The others are then decided again (confined.go).
//  6. If another hosted cluster was on a network first, only the VMs of this cluster get an address there (sharing.go).
//  7. Each network's edges are placed on nodes (placement.go).
//  8. Each network gets the list of destinations that its edges never dial for VMs (finish.go).
//  9. Each network gets the names that edges answer to pods of the management cluster (pod_names.go).
//  10. Each network gets the log level of connections (finish.go).
//  11. Each network gets the port of metrics (finish.go).
//  12. The management cluster gets access to the destinations that the user opens, directly and through the hosted cluster's
//     load balancers (package opened).
//  13. A plan that a ConfigMap cannot hold is refused (finish.go).
//  14. Unless the plan is refused, each network that another hosted cluster uses, too, gets a problem (sharing.go).
//
// Derive is total and has no other inputs: equal arguments, in any order, give equal decisions. If last is the plan
// that Derive returned before, Derive returns the same plan. It does not change its arguments.
func Derive(r network.Request, f network.Facts, last network.Plan, others []OtherCluster) Decision {
	in, ofKept := keepLastKnownGood(served.Input{Request: r, Facts: f}, last)
	in, lost, ofMoved := keepFormerPlaces(in, last)
	in, ofPinned := keepInUse(in, last)
	in, ofTaken := leaveTakenLoadBalancers(in, others)
	draft, ofNetworks, boots := decideNetworks(in, last, others)
	draft.LostPlaces = lost
	draft = answerOwnVMs(draft, others, last)
	draft = placeEdges(draft, r.Placement, r.Permissions)
	draft = reserve(draft, f.Reserved, r.Permissions.Destinations)
	draft = answerPods(draft, r, f.Endpoints)
	draft = logConnections(draft, r)
	draft = serveMetrics(draft)
	draft, ofAccess := opened.Access(draft, r)
	draft, ofBalanced := opened.LoadBalancers(draft, r, f, last)
	ofSize := tooLarge(draft)
	if !boots {
		ofKept = unconfined(ofKept)
	}
	d := Decision{draft: draft, Problems: slices.Concat(ofKept, ofMoved, ofPinned, ofTaken, ofNetworks, ofAccess, ofBalanced, ofSize)}
	if d.Problems.Blocking() {
		return d
	}
	return d.With(sharing(draft, r, others, d.Problems)...)
}

// decideWanted decides the requested networks. It retains networks in force that are wanted but cannot be decided now
// (lastgood.go). A network that is left out because of its addresses keeps its CIDR while it runs. But decideOnce may
// have assigned that CIDR to another network, so it decides the other networks again, and cannot assign it. Then DHCP leaves
// out addresses of hosts that are not of this cluster (inuse.go).
func decideWanted(in served.Input, requests []*request, last network.Plan, others []OtherCluster) outcome {
	var left problem.Problems
	out := decideOnce(in, requests, last, others)
	for len(out.left) > 0 {
		requests = leaveOut(requests, out.left)
		left = append(left, out.leftProblems...)
		out = decideOnce(in, requests, last, others)
	}
	out.problems = slices.Concat(left, out.problems, keptByVMs(in, out.plan), sharedByVMs(in, out.plan), nodesAtEdges(in, out.plan))
	out.plan = leaveOutHosts(in, out.plan, others)
	whole := retain(out.plan, Restricted(last, in.Reserved, in.Permissions), in.Wanted)
	out.problems = append(out.problems, displacedBy(out.plan, whole)...)
	out.plan = whole
	return out
}

// decideOnce decides the requested networks:
//
//  1. Each requested network gets addresses, servers, listeners, records and options (package served). A network waits if
//     its CIDR overlaps an older network (overlap.go), and gives way to another NAD of the same layer-2 network (twins.go).
//     It must not hide a destination that edges or nodes use (reserved.go).
//  2. A network waits if another hosted cluster uses its addresses (sharing.go).
//  3. A network is refused if a VM has the address of an edge or the gateway, or all VMs are outside the CIDR (inuse.go).
func decideOnce(in served.Input, requests []*request, last network.Plan, others []OtherCluster) outcome {
	out := moveCIDRs(in, requests)
	out = out.yieldTo(others, last)
	out = out.refuseInUse(slices.Concat(in.VMAddresses, vmsOfOthers(out.plan, others)), last)
	return out.checked(func(n network.Network) problem.Problems {
		return append(outsideCIDR(in, n, last), gatewayOfVM(in, n, last)...)
	})
}

// A Decision is a plan, and the problems that say why it differs from the request.
type Decision struct {
	// Problems are in the order of the steps. If one blocks, the plan is refused.
	Problems problem.Problems
	draft    network.Plan
}

// Plan returns the plan to apply. If a problem blocks, ok is false, the plan is empty, and the plan in force is kept.
func (d Decision) Plan() (p network.Plan, ok bool) {
	if d.Problems.Blocking() {
		return network.Plan{}, false
	}
	return d.draft, true
}

// Draft returns the plan as far as it could be decided, for display only. It may be invalid.
func (d Decision) Draft() network.Plan { return d.draft }

// With returns d with further problems.
func (d Decision) With(further ...problem.Problem) Decision {
	d.Problems = slices.Concat(d.Problems, further)
	return d
}

// moveCIDRs decides the requested networks. A CIDR that one network gives up can go to another in the same plan.
func moveCIDRs(in served.Input, requests []*request) outcome {
	out := newNetworks(in, requests)
	for range in.Retained {
		moved := slices.Clone(in.Retained)
		for i, n := range moved {
			if at := slices.IndexFunc(out.plan.Networks, func(x network.Network) bool { return x.Name == n.Name }); at >= 0 {
				moved[i] = out.plan.Networks[at]
			}
		}
		if slices.EqualFunc(moved, in.Retained, func(a, b network.Network) bool { return a.CIDR == b.CIDR }) {
			break
		}
		in.Retained = moved
		out = newNetworks(in, requests)
	}
	return out
}

// A request is the request for one network, with what the network gets once it was decided. That does not change when
// moveCIDRs changes in.Retained, or when other requests are left out.
type request struct {
	network.NetworkRequest
	decided  bool
	network  network.Network
	problems problem.Problems
}

func (r *request) decide(in served.Input) (network.Network, problem.Problems) {
	if !r.decided {
		r.network, r.problems = served.Network(in, r.NetworkRequest)
		r.decided = true
	}
	return r.network, r.problems
}

// requestsOf returns the requests, sorted.
func requestsOf(in served.Input) (out []*request) {
	for _, s := range sortedRequests(in.Networks) {
		out = append(out, &request{NetworkRequest: s})
	}
	return out
}

// leaveOut returns the requests for networks that names does not have.
func leaveOut(requests []*request, names []string) []*request {
	return network.Without(requests, func(r *request) bool { return slices.Contains(names, r.Attachment.NetworkName()) })
}

// newNetworks decides each requested network. It leaves out secondary networks with an Error.
func newNetworks(in served.Input, requests []*request) outcome {
	out := outcome{plan: network.Plan{Version: network.CurrentPlanVersion, Cluster: in.Cluster, Endpoints: network.SortedEndpoints(in.Endpoints), Networks: []network.Network{}}}
	for _, r := range requests {
		s, name := r.NetworkRequest, r.Attachment.NetworkName()
		if len(served.Services(s)) == 0 {
			out.adds(name, s.Primary, in.NoServices(s))
			continue
		}
		if twin, gives := givesWay(in, s); gives {
			out.adds(name, s.Primary, problem.Problems{twinProblem(s, twin)})
			continue
		}
		if !s.CIDR.IsValid() {
			out.adds(name, s.Primary, problem.Problems{cidrMissing(in, s)})
			continue
		}
		if other, met := overlaps(in, s, out.plan.Networks); met {
			out.adds(name, s.Primary, problem.Problems{overlapProblem(s, other)})
			if s.Primary && other.Primary && !in.IsRetained(other.Name) {
				out.refused = append(out.refused, other.Name) // neither has precedence
			}
			continue
		}
		n, ps := r.decide(in)
		if out.adds(name, s.Primary, ps) {
			out.plan.Networks = append(out.plan.Networks, n)
		}
	}
	return out
}

// sortedRequests sorts primary networks first, then by attachment. The order of NodePools has no effect.
func sortedRequests(in []network.NetworkRequest) []network.NetworkRequest {
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b network.NetworkRequest) int {
		return cmp.Or(network.TrueFirst(a.Primary, b.Primary), cmp.Compare(a.Attachment.String(), b.Attachment.String()))
	})
	return out
}

// cidrMissing returns the problem of a network that is left out because it has no CIDR. The problem is an Error if VMs
// boot from no network with a CIDR. If its CIDR is set later, the addresses of the other networks do not change.
func cidrMissing(in served.Input, s network.NetworkRequest) problem.Problem {
	if !s.Primary {
		return secondaryWithoutCIDR(in, s)
	}
	cause := problem.CIDRNotSet
	if slices.ContainsFunc(in.Networks, func(x network.NetworkRequest) bool { return x.Primary && x.CIDR.IsValid() }) {
		cause = problem.NetworkCIDRNotSet
	}
	return s.Problem(cause, problem.Args{"where": {s.CIDRField}}, s.CIDRKeys...)
}

// nothingServed reports whether all VMs boot from the pod network, and no other network has a CIDR.
func nothingServed(in served.Input) bool {
	return len(in.Refused) == 0 && !slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary || s.CIDR.IsValid() })
}

// secondaryWithoutCIDR returns the hint that edges do not serve s, or a Warning if they serve nothing else either. If s
// runs, its CIDR was removed, and s stays as it is.
func secondaryWithoutCIDR(in served.Input, s network.NetworkRequest) problem.Problem {
	i := slices.IndexFunc(in.Retained, func(n network.Network) bool { return n.Name == s.Attachment.NetworkName() })
	switch {
	case i >= 0:
		return s.Problem(problem.SecondaryCIDRRemoved, problem.Args{"cidr": {in.Retained[i].CIDR.String()}, "where": {s.CIDRField}}, s.CIDRKeys...)
	case nothingServed(in) && len(s.NodePools) > 0:
		keys := append([]string{network.FieldAttachDefaultNetwork}, s.CIDRKeys...)
		return s.Problem(problem.PodNetworkAttached, problem.Args{"nodePools": s.NodePools, "where": {s.CIDRField}}, keys...).
			Of(problem.Subject{Kind: "NodePool", Name: s.NodePools[0]})
	}
	return s.Problem(problem.SecondaryWithoutCIDR, problem.Args{"where": {s.CIDRField}}, s.CIDRKeys...)
}
