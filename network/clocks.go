// This file decides the problems of edges that have no time to tell, because no program
// synchronizes the clock of their management cluster node.

package network

import (
	"slices"
	"strconv"
)

// ClocksUnsynchronized returns the problem that edges of n have no synchronized clock. Of the edges
// that serve, with report that they have one, and without that they have none. The others report
// nothing. Pods selects the pods of one edge, or of all with 0, as arguments of kubectl. Not ok: no
// edge is without, or VMs take the time from other servers.
func (n Network) ClocksUnsynchronized(with []int, without []Report, serving int, pods func(edge int) string) (p Problem, ok bool) {
	if len(without) == 0 || !n.runs(ServiceNTP) || !slices.Contains(n.TimeServers(), n.ServiceVIP) {
		return Problem{}, false
	}
	why := without[0].ClockUnsynchronized
	if len(without) == serving {
		return n.problem(NetworkClocksUnsynchronized, Args{"error": why, "command": "kubectl get pod " + pods(0) + " -o wide"}, keyNTPServers), true
	}
	edge := without[0].Edge
	args := Args{"error": why, "edge": strconv.Itoa(edge), "command": "kubectl get pod " + pods(edge) + " -o wide"}
	if len(with) == 0 {
		return n.problem(EdgeClockUnsynchronized, args), true
	}
	args["other"], args["move"] = strconv.Itoa(with[0]), "kubectl delete pod "+pods(edge)
	return n.problem(OneClockUnsynchronized, args), true
}
