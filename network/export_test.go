// This file gives tests the single steps of Derive.

package network

// Yielding is how a network gives way to other clusters.
func (p Plan) Yielding(others []OtherCluster, last Plan) (Plan, Problems) {
	return outcome{plan: p}.yieldTo(others, last).unconfined()
}

// WithoutInUse is what becomes of a network with an address that a VM has.
func (p Plan) WithoutInUse(seen []VMAddress, last Plan) (Plan, Problems) {
	return outcome{plan: p}.refuseInUse(seen, last).unconfined()
}

func (o outcome) unconfined() (Plan, Problems) { return o.plan, o.problems.unconfined() }

// Retaining is what stays in force, and what that displaces.
func (p Plan) Retaining(last Plan, wanted []string) (Plan, Problems) {
	kept := p.retain(last, wanted)
	return kept, p.displacedBy(kept)
}

// AnsweringOwnVMs is step 5.
func (p Plan) AnsweringOwnVMs(others []OtherCluster, last Plan) Plan {
	return p.answerOwnVMs(others, last)
}

// Stale is what step 1 does to the problems of f.
func (f Facts) Stale(last Plan) Problems { return input{Facts: f}.stale(last) }
