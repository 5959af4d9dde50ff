// This file gives tests the single steps of Derive.

package network

// Yielding is step 4.
func (p Plan) Yielding(others []OtherCluster, last Plan) (Plan, Problems) {
	return outcome{plan: p}.yielding(others, last).unconfined()
}

// WithoutInUse is step 5.
func (p Plan) WithoutInUse(seen []VMAddress, last Plan) (Plan, Problems) {
	return outcome{plan: p}.withoutInUse(seen, last).unconfined()
}

func (o outcome) unconfined() (Plan, Problems) { return o.plan, o.problems.unconfined() }

// Retaining is step 6, and what it displaces.
func (p Plan) Retaining(last Plan, wanted []string) (Plan, Problems) {
	kept := p.retaining(last, wanted)
	return kept, p.displaced(kept)
}

// AnsweringOwnVMs is step 7.
func (p Plan) AnsweringOwnVMs(others []OtherCluster, last Plan) Plan {
	return p.answeringOwnVMs(others, last)
}

// Stale is what step 1 does to the problems of f.
func (f Facts) Stale(last Plan) Problems { return input{Facts: f}.stale(last) }
