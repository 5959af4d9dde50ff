// This file decides what an Error of one network stops: only that network, if VMs boot from another one. All other Errors
// refuse the whole plan.

package derive

import (
	"slices"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An outcome is a plan, and the problems of the networks that it was made for.
type outcome struct {
	plan     network.Plan
	problems problem.Problems
	// refused are the Names of primary networks with an Error. They are still in plan, unless they could not be derived
	// at all.
	refused []string
	// left are the Names of the secondary networks that method checked has left out. leftProblems are their problems.
	left         []string
	leftProblems problem.Problems
}

// adds reports whether the network stays in the plan, and records the problems of the network. A secondary network with an Error
// is left out with Warnings, since its VMs boot from another network. A primary network with an Error is added to refused.
func (o *outcome) adds(name string, primary bool, ps problem.Problems) bool {
	switch {
	case !ps.Blocking():
		o.problems = append(o.problems, ps...)
	case !primary:
		o.problems = append(o.problems, ps.NotBlocking()...)
		return false
	default:
		o.problems = append(o.problems, confined(ps)...)
		o.refused = append(o.refused, name)
	}
	return true
}

// checked returns o with the problems that fault returns for each network of its plan, and without the networks that
// adds leaves out.
func (o outcome) checked(fault func(network.Network) problem.Problems) outcome {
	out := o
	out.problems, out.refused = slices.Clone(o.problems), slices.Clone(o.refused)
	out.plan.Networks = []network.Network{}
	for _, n := range o.plan.Networks {
		ps := fault(n)
		if out.adds(n.Name, n.Primary, ps) {
			out.plan.Networks = append(out.plan.Networks, n)
			continue
		}
		out.left = append(slices.Clone(out.left), n.Name)
		out.leftProblems = append(slices.Clone(out.leftProblems), ps.NotBlocking()...)
	}
	return out
}

// decideNetworks decides the requested networks that have no Error of their own, and returns the Errors of the others.
// A refused network that already runs stays as it is. If VMs boot from refused networks only, all networks are decided,
// boots is false, and each Error refuses the plan.
func decideNetworks(in served.Input, last network.Plan, others []OtherCluster) (p network.Plan, ps problem.Problems, boots bool) {
	requests := leaveOut(requestsOf(in), in.Refused)
	all := decideWanted(in, requests, last, others)
	rest, errors, refused := all, problem.Problems(nil), slices.Clone(in.Refused)
	for len(rest.refused) > 0 {
		errors = append(errors, onlyConfined(rest.problems)...)
		refused, requests = append(refused, rest.refused...), leaveOut(requests, rest.refused)
		rest = decideWanted(in, requests, last, others)
	}
	from := func(n network.Network) bool { return n.Primary && !slices.Contains(refused, n.Name) }
	if !slices.ContainsFunc(rest.plan.Networks, from) {
		return all.plan, unconfined(all.problems), false
	}
	return rest.plan, append(errors, rest.problems...), true
}

func confined(ps problem.Problems) problem.Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Confined = out[i].Severity == problem.SeverityError
	}
	return out
}

func unconfined(ps problem.Problems) problem.Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Confined = false
	}
	return out
}

func onlyConfined(ps problem.Problems) problem.Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p problem.Problem) bool { return !p.Confined })
}
