// This file renders the HostedCluster's condition: a summary, a line for each problem, what VMs may reach outside, and
// the hash of the settings. It decides the order of problems.

package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	Ready             problem.Reason = "Ready"
	ReadyWithWarnings problem.Reason = "ReadyWithWarnings"
)

// Limits of a message in bytes. A condition may have 32,768; a reader wants less.
const (
	maxMessage = 4 << 10
	maxLine    = 900
	maxEvent   = 1 << 10
)

// A Status describes the networks of one hosted cluster, as far as they are known.
type Status struct {
	// Plan is the plan in force if Applied is true, else the plan that was decided and not applied.
	Plan network.Plan
	// Problems in any order, all of them: a missing edge is a problem, too.
	Problems problem.Problems
	// Applied is true if Plan was applied. Otherwise edges keep the plan before it.
	Applied bool
	Running bool
	// ReadyEdges is the number of edges that serve on each network, by Network.Name.
	ReadyEdges map[string]int
	// Settings is the hash of the annotations that Plan was made from. Empty: unknown.
	Settings string
}

// Message returns the condition's message, at most 4 KiB. Its last line is "(settings <hash>)", for scripts.
func (r Report) Message() string {
	return strings.Join(append(r.lines(), r.hash()), "\n")
}

func (r Report) hash() string { return fmt.Sprintf("(settings %s)", cmp.Or(r.Settings, "unknown")) }

// lines returns the lines of Message without the hash.
func (r Report) lines() []string {
	standing, others := r.standing()
	tail := append(standing, r.Notes...)
	room := maxMessage - len(strings.Join(append([]string{r.Summary, r.hash()}, tail...), "\n")) - 1
	return slices.Concat([]string{r.Summary}, problemLines(others, r.Omitted, room), tail)
}

// unapplied returns ps without the problems that do not matter until the plan is applied: those that are less severe
// than the one that prevents it. Edges that run serve the previous plan, so their problems stay.
func (s Status) unapplied(ps problem.Problems) problem.Problems {
	ofEdge := func(p problem.Problem) bool {
		return s.Running && (p.Reason.Traits().AboutEdges || p.Reason == problem.AddressInUse && p.Level() == problem.SeverityWarning)
	}
	i := slices.IndexFunc(ps, func(p problem.Problem) bool { return !ofEdge(p) })
	if i < 0 {
		return ps
	}
	refusal := problem.SeverityWaiting
	if ps.Blocking() || !ps.Waiting() {
		refusal = ps[i].Level()
	}
	return slices.DeleteFunc(ps, func(p problem.Problem) bool { return !ofEdge(p) && p.Level().Compare(refusal) > 0 })
}

// Ordered returns ps in the order in which a reader wants them: by severity, and Errors that refuse the plan before
// confined ones. Of these, problems that keep nodes from becoming Ready come first. Of equals, possible causes of other
// problems come first. A problem of several networks is listed once.
func Ordered(ps problem.Problems) problem.Problems {
	out := merged(ps)
	slices.SortStableFunc(out, func(a, b problem.Problem) int {
		return cmp.Or(a.Level().Compare(b.Level()), confinedLast(a, b), byTraits(a.Traits(), b.Traits()))
	})
	return out
}

func byTraits(a, b problem.Traits) int {
	follows := 0
	switch {
	case a.Follows && !b.Follows:
		follows = 1
	case b.Follows && !a.Follows:
		follows = -1
	}
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), follows)
}

// mayPrevent reports whether p may keep nodes from becoming Ready although everything is served.
func mayPrevent(p problem.Problem) bool {
	return p.Traits().Rank == problem.PreventsNodes && p.Level() != problem.SeverityInfo
}

// merged returns ps without duplicates. It merges Warnings and hints (severity Info) that differ only in their network.
func merged(ps problem.Problems) problem.Problems {
	var out problem.Problems
	at := map[string]int{}
	for _, p := range ps {
		key := sameness(p)
		i, seen := at[key]
		if !seen {
			at[key] = len(out)
			out = append(out, p)
			continue
		}
		for _, other := range p.Args["network"] {
			if all := out[i].Args["network"]; !slices.Contains(all, other) {
				out[i].Args = maps.Clone(out[i].Args)
				out[i].Args["network"] = append(slices.Clip(all), other)
			}
		}
	}
	return out
}

func sameness(p problem.Problem) string {
	args := maps.Clone(p.Args)
	if p.Level() != problem.SeverityError && !p.Waits() && p.Subject.Kind == "Network" && len(args["network"]) > 0 {
		delete(args, "network")
		p.Subject = problem.Subject{}
	}
	return fmt.Sprint(p.Reason, p.Cause, p.Level(), p.Subject, p.Keys, args)
}

// problemLines returns a line for each problem, and uses at most room bytes. If some do not fit, or if omitted is above
// 0, the last line counts the missing problems and says where to read them.
func problemLines(ps []ReportProblem, omitted, room int) []string {
	const rest = "%d more problems are not shown. The operator's log has all. For those of the configuration, run: " +
		"kubectl get hostedclusters,nodepools,net-attach-def -A -o yaml | oooi plan -f -"
	room -= len(rest)
	var out []string
	for i, p := range ps {
		line := Shorten(p.line(), maxLine)
		if room -= len(line) + 1; room < 0 {
			return append(out, fmt.Sprintf(rest, len(ps)-i+omitted))
		}
		out = append(out, line)
	}
	if omitted > 0 {
		out = append(out, fmt.Sprintf(rest, omitted))
	}
	return out
}

func withText(p problem.Problem) ReportProblem {
	return ReportProblem{p, Shorten(capital(Problem(p).String()), maxStoredText)}
}

// line returns p on one line: "Error AddressConflict: what, effect, fix."
func (p ReportProblem) line() string { return fmt.Sprintf("%s %s: %s", p.Level(), p.Reason, p.Text) }

// capital returns s with its first word capitalized, if that word has only lower-case letters.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if strings.Trim(strings.TrimRight(first, ".,:"), "abcdefghijklmnopqrstuvwxyz") != "" || s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Shorten returns s, cut to at most limit bytes at the end of a rune. A cut text ends with "...".
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}
