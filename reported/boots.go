// This file has the boots of VMs: when an edge saw each step, and the problems of VMs that take too long for the next step.

package reported

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// MaxBoots is the maximum number of boots that an edge reports.
	MaxBoots = 16
	// BootLimit is how long a VM may take for the steps up to Ignition, and then for each further step.
	BootLimit = 10 * time.Minute
	// longestBoot is the longest time from Since to a step that is reported.
	longestBoot = 30 * 24 * time.Hour
	// maxBootNames is the maximum number of VMs that a problem names.
	maxBootNames = 5
)

// A Boot says when edges saw each boot step of a VM. The VM got its first address while the edges ran.
type Boot struct {
	VM string `json:"vm"`
	// Since is when an edge first saw that the VM runs. Whole seconds, UTC.
	Since time.Time `json:"since"`
	// Seen is when each step was first seen, in seconds after Since. A step that is missing before one that was seen
	// was done as well, but not through this edge.
	Seen map[network.BootStep]int `json:"seen,omitempty"`
	// Late is true if a step has been missing for longer than BootLimit.
	Late bool `json:"late,omitempty"`
}

// At returns when the step was first seen, or the zero time if it was not seen.
func (b Boot) At(s network.BootStep) time.Time {
	after, ok := b.Seen[s]
	if !ok {
		return time.Time{}
	}
	return b.Since.Add(time.Duration(after) * time.Second)
}

// Steps returns the last step in list steps that was seen, and the step after it. Each is empty if there is none.
func (b Boot) Steps(steps []network.BootStep) (last, missing network.BootStep) {
	done := b.done(steps)
	if done > 0 {
		last = steps[done-1]
	}
	if done < len(steps) {
		missing = steps[done]
	}
	return last, missing
}

// done returns the number of steps up to the last one that was seen.
func (b Boot) done(steps []network.BootStep) (out int) {
	for i, s := range steps {
		if _, ok := b.Seen[s]; ok {
			out = i + 1
		}
	}
	return out
}

// normalizedBoots returns those boots that an edge could report, with only known values.
func normalizedBoots(all []Boot) (out []Boot) {
	for _, b := range all[:min(len(all), MaxBoots)] {
		b.VM, b.Since = oneLine(b.VM), b.Since.UTC().Truncate(time.Second)
		if b.VM == "" || b.Since.Year() < 1970 || b.Since.Year() > 9998 {
			continue
		}
		var seen map[network.BootStep]int
		for _, s := range network.AllBootSteps() {
			if after, ok := b.Seen[s]; ok {
				if seen == nil {
					seen = map[network.BootStep]int{}
				}
				seen[s] = min(max(after, 0), int(longestBoot/time.Second))
			}
		}
		b.Seen = seen
		out = append(out, b)
	}
	return out
}

// BootsOf returns the boots of VMs on n, from the reports of its edges that run. Each VM uses one edge for its
// connections, and any edge for its address. So a step counts if one edge saw it. Only edges with connections judge
// which VMs are late. If no edge has connections, all edges judge that, once all report. VMs that are not nodes yet
// come first, the oldest before the others.
func BootsOf(n network.Network, edges []EdgeReport) []Boot {
	steps, of := n.BootSteps(), map[string]Boot{}
	if len(steps) == 0 {
		return nil
	}
	for _, e := range edges {
		for _, b := range e.Boots {
			of[b.VM] = b.with(of[b.VM])
		}
	}
	connected := slices.ContainsFunc(edges, func(e EdgeReport) bool { return e.Connected == ConnectedYes })
	for _, e := range edges {
		judges := e.Connected == ConnectedYes || !connected && len(edges) == len(n.Edges)
		for _, b := range e.Boots {
			all := of[b.VM]
			all.Late = all.Late || judges && b.Late && all.done(steps) < len(steps) && b.done(steps) == all.done(steps)
			of[b.VM] = all
		}
	}
	isNode := func(b Boot) int { return b.done(steps) / len(steps) }
	return slices.SortedFunc(maps.Values(of), func(a, b Boot) int {
		return cmp.Or(isNode(a)-isNode(b), a.Since.Compare(b.Since), strings.Compare(a.VM, b.VM))
	})
}

// with returns the boot that b and other, the reports of two edges, describe together. The result is not Late. If other
// is zero, it adds nothing.
func (b Boot) with(other Boot) Boot {
	out := Boot{VM: b.VM, Since: b.Since, Seen: map[network.BootStep]int{}}
	if !other.Since.IsZero() && other.Since.Before(b.Since) {
		out.Since = other.Since
	}
	for _, x := range []Boot{b, other} {
		for s := range x.Seen {
			after := int(x.At(s).Sub(out.Since) / time.Second)
			if was, ok := out.Seen[s]; !ok || after < was {
				out.Seen[s] = after
			}
		}
	}
	return out
}

// BootsStalled returns a Warning for each step that VMs on n miss for too long. It is never an Error: VMs may pull
// images slowly, and one VM says nothing about others.
func BootsStalled(n network.Network, edges []EdgeReport) problem.Problems {
	late, since := map[network.BootStep][]string{}, map[network.BootStep]time.Time{}
	for _, b := range BootsOf(n, edges) {
		if !b.Late {
			continue
		}
		last, missing := b.Steps(n.BootSteps())
		at := b.At(last)
		if last == "" {
			at = b.Since
		}
		if late[missing] = append(late[missing], b.VM); since[missing].IsZero() || at.Before(since[missing]) {
			since[missing] = at
		}
	}
	var ps problem.Problems
	for _, s := range n.BootSteps() {
		if all := late[s]; len(all) > 0 {
			args := problem.Args{"newVMs": all[:min(len(all), maxBootNames)], "since": {since[s].Format(time.RFC3339)}}
			if s == network.BootName {
				args["serviceVIP"] = []string{n.ServiceVIP.String()}
			}
			ps = append(ps, n.Problem(causeOfMissing(s), args))
		}
	}
	return ps
}

func causeOfMissing(s network.BootStep) problem.Cause {
	return map[network.BootStep]problem.Cause{
		network.BootDiscover: problem.BootWithoutDiscover, network.BootLease: problem.BootWithoutLease, network.BootName: problem.BootWithoutName,
		network.BootIgnition: problem.BootWithoutIgnition, network.BootAPI: problem.BootWithoutAPI, network.BootKonnectivity: problem.BootWithoutKonnectivity,
	}[s]
}
