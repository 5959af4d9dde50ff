// This file limits the size of a plan: a ConfigMap stores it.

package network

import "strconv"

// maxPlan in bytes keeps room below what a ConfigMap may have (1 MiB).
const maxPlan = 900 << 10

// tooLarge returns a problem if p does not fit into a ConfigMap.
func (p Plan) tooLarge() Problems {
	size := len(p.JSON())
	if size <= maxPlan {
		return nil
	}
	return Problems{NewProblem(PlanTooLarge, Subject{Kind: "ConfigMap"},
		Args{"size": strconv.Itoa(size >> 10), "most": strconv.Itoa(maxPlan >> 10)}, "dns-records", keyReservations, keyPublish)}
}
