// This file joins what is read of one hosted cluster to the plan that it gets:
// each step is decided in network, and their order here, for whoever asks.

package hcp

import (
	"slices"

	"github.com/cldmnky/oooi/network"
)

// Plan is what o asks for and what it gets of that, beside its neighbours and
// after last, the plan in force (the zero Plan: none), with everything that keeps
// it from being whole. With a blocking problem the plan is to be shown and never
// applied.
func Plan(o Objects, neighbours []network.Neighbour, last network.Plan) (network.Intent, network.Plan, network.Problems) {
	intent, plan, problems := alone(o, last)
	plan, shared := plan.Beside(neighbours, last)
	plan, taken := plan.Free(Holders(o), last)
	kept := plan.Keeping(last, Wanted(o))
	problems = slices.Concat(problems, shared, taken, plan.Displaced(kept))
	return intent, kept.AnsweringItsOwn(neighbours).Placed(intent.Placement), problems
}

// alone is what o asks for and would get after last if nobody else were there.
func alone(o Objects, last network.Plan) (network.Intent, network.Plan, network.Problems) {
	intent, problems := Intent(o)
	held, steady := intent.Keeping(last, Wanted(o)).Steady(last, InUse(o))
	plan, more := network.NewPlan(held)
	return intent, plan, slices.Concat(problems.Kept(last), steady, more)
}
