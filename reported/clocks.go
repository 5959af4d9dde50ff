// This file decides the problems of edges that have no time to tell, because no program
// synchronizes the clock of their management cluster node.

package reported

import (
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// ClocksUnsynchronized returns the problem that edges of n have no synchronized clock. Of the edges
// that serve, with report that they have one, and without that they have none. The others report
// nothing. Pods selects the pods of one edge, or of all with 0, as arguments of kubectl. Not ok: no
// edge is without, or VMs take the time from other servers.
func ClocksUnsynchronized(n network.Network, with []int, without []Report, serving int, pods func(edge int) string) (p problem.Problem, ok bool) {
	if len(without) == 0 || !n.Runs(network.ServiceNTP) || !slices.Contains(n.TimeServers(), n.ServiceVIP) {
		return problem.Problem{}, false
	}
	why := without[0].ClockUnsynchronized
	if len(without) == serving {
		return n.Problem(problem.NetworkClocksUnsynchronized, problem.Args{"error": {why}, "command": {"kubectl get pod " + pods(0) + " -o wide"}}, network.KeyNTPServers), true
	}
	edge := without[0].Edge
	args := problem.Args{"error": {why}, "edge": {strconv.Itoa(edge)}, "command": {"kubectl get pod " + pods(edge) + " -o wide"}}
	if len(with) == 0 {
		return n.Problem(problem.EdgeClockUnsynchronized, args), true
	}
	args["other"], args["move"] = []string{strconv.Itoa(with[0])}, []string{"kubectl delete pod " + pods(edge)}
	return n.Problem(problem.OneClockUnsynchronized, args), true
}
