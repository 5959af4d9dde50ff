// This file decides the problems of edges whose node has no synchronized clock, so that clients do not follow them.

package reported

import (
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A ClockFault is why clients do not follow a clock. Zero: they follow it.
type ClockFault struct {
	// Cause is ClockNotSet, ClockInaccurate or ClockUnread. Empty: clients follow the clock.
	Cause problem.Cause `json:"cause"`
	// Error is why the clock could not be read. Only ClockUnread has an Error.
	Error string `json:"error,omitempty"`
}

// normalized returns c with only the values of its cause. An unknown cause, as a newer edge may report, becomes ClockUnread.
func (c ClockFault) normalized() ClockFault {
	switch c.Cause {
	case "", problem.ClockNotSet, problem.ClockInaccurate:
		return ClockFault{Cause: c.Cause}
	case problem.ClockUnread:
		return ClockFault{c.Cause, phrase(c.Error)}
	}
	return ClockFault{problem.ClockUnread, phrase(string(c.Cause) + " " + c.Error)}
}

// ClocksUnsynchronized returns the problem that edges of n have no synchronized clock. Parameter with has the numbers
// of the edges whose clocks are synchronized. Parameter without has the reports of the other edges. serving is the
// number of edges that serve. Function pods returns the arguments with which kubectl selects the pods of one edge, or
// for 0 those of all edges. ok is false if no edge reports a fault, or if VMs take the time from other servers.
func ClocksUnsynchronized(n network.Network, with []int, without []EdgeReport, serving int, pods func(edge int) string) (p problem.Problem, ok bool) {
	if len(without) == 0 || !n.Runs(network.ServiceNTP) || !slices.Contains(n.TimeServers(), n.ServiceVIP) {
		return problem.Problem{}, false
	}
	args := problem.Args{"why": {string(without[0].ClockUnsynchronized.Cause)}}
	if err := without[0].ClockUnsynchronized.Error; err != "" {
		args["error"] = []string{err}
	}
	if len(without) == serving {
		args["command"] = []string{"kubectl get pod " + pods(0) + " -o wide"}
		return n.Problem(problem.NetworkClocksUnsynchronized, args, network.KeyNTPServers), true
	}
	edge := without[0].Edge
	args["edge"], args["command"] = []string{strconv.Itoa(edge)}, []string{"kubectl get pod " + pods(edge) + " -o wide"}
	if len(with) == 0 {
		return n.Problem(problem.EdgeClockUnsynchronized, args), true
	}
	args["other"], args["move"] = []string{strconv.Itoa(with[0])}, []string{"kubectl delete pod " + pods(edge)}
	return n.Problem(problem.OneClockUnsynchronized, args), true
}
