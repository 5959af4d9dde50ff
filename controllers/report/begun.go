// This file decides which problems get an Event when they begin, since the condition gets one only when its status or
// reason changes. It is pure.

package report

import (
	"slices"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// A found identifies a problem that edges find. Two problems with equal founds are the same one, even if their counts differ.
type found struct {
	reason                  problem.Reason
	network, edge, mac, who string
}

// foundOf returns what edges found on each network that p names. It returns nil if p is not a problem that edges find.
func foundOf(p explain.ReportProblem) (out []found) {
	switch p.Reason {
	case problem.AddressesExhausted, problem.AddressInUse, problem.LeasesNotWritten, problem.NodesNotJoining, problem.RogueDHCPServer:
	default:
		return nil
	}
	for _, name := range p.Args["network"] {
		f := found{reason: p.Reason, network: name, edge: p.Args["edge"].String(), mac: p.Args["mac"].String()}
		if f.mac == "" {
			f.who = p.Args["address"].String()
		}
		out = append(out, f)
	}
	return out
}

// begun returns the problems of Report now that began after Report before: lost edges, and problems that edges found.
// It leaves out problems with reason told, because an Event has already reported that reason.
func begun(now, before explain.Report, told problem.Reason) (out []explain.ReportProblem) {
	var seen []found
	for _, p := range before.Problems {
		seen = append(seen, foundOf(p)...)
	}
	for _, p := range now.Problems {
		all := foundOf(p)
		isNew := slices.ContainsFunc(all, func(f found) bool { return !slices.Contains(seen, f) }) || isLoss(p, now) && !isUnavailable(p.Subject, before)
		if seen = append(seen, all...); isNew && p.Reason != told {
			out = append(out, p)
		}
	}
	return out
}

// isLoss reports whether p is about the loss of an edge, and not about its consequences.
func isLoss(p explain.ReportProblem, now explain.Report) bool {
	unavailable := p.Reason == problem.EdgeUnavailable || p.Reason == problem.EdgeNotReady
	follows := []problem.Cause{problem.EdgeOverdue, problem.EdgeAwaitsNode, problem.EdgeRolloutHeld}
	return unavailable && !slices.Contains(follows, p.Cause) && isUnavailable(p.Subject, now)
}

func isUnavailable(edge problem.Subject, in explain.Report) bool {
	return slices.ContainsFunc(in.UnavailableEdges, func(e explain.UnavailableEdge) bool { return e.Subject == edge })
}
