// This file gives tests the single steps of Derive.

package derive

import (
	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Yielding is how a network gives way to other clusters.
func Yielding(p network.Plan, others []OtherCluster, last network.Plan) (network.Plan, problem.Problems) {
	return outcome{plan: p}.yieldTo(others, last).unconfined()
}

// WithoutInUse is the result for a network with an address that a VM has.
func WithoutInUse(p network.Plan, seen []network.VMAddress, last network.Plan) (network.Plan, problem.Problems) {
	return outcome{plan: p}.refuseInUse(seen, last).unconfined()
}

func (o outcome) unconfined() (network.Plan, problem.Problems) { return o.plan, unconfined(o.problems) }

// Retaining is what stays in force, and what that displaces.
func Retaining(p network.Plan, last network.Plan, wanted []string) (network.Plan, problem.Problems) {
	kept := retain(p, last, wanted)
	return kept, displacedBy(p, kept)
}

// AnsweringOwnVMs is step 5.
func AnsweringOwnVMs(p network.Plan, others []OtherCluster, last network.Plan) network.Plan {
	return answerOwnVMs(p, others, last)
}

// Stale is what step 1 does to the problems of f.
func Stale(f network.Facts, last network.Plan) problem.Problems {
	return stale(served.Input{Facts: f}, last)
}

// Sharing returns the problems of networks that others use, too.
func Sharing(p network.Plan, others []OtherCluster) problem.Problems {
	return sharing(p, network.Request{}, others, nil)
}
