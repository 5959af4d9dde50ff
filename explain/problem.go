// This file renders a problem as a Message, from package problem's template for its cause.

// Package explain has the Report, which is what the operator says about one hosted cluster, and decides from problems
// whether its nodes boot. It also makes text of what package derive decides, once, for conditions, events, plans and
// documentation.
package explain

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// A Message explains one problem to a person. Each part is whole sentences.
type Message struct {
	// What says what happened.
	What string
	// Effect is what it means for VMs. Empty where What says it.
	Effect string
	// Fix is what to do. Empty: nothing.
	Fix string
}

// String returns the parts, separated by spaces.
func (m Message) String() string {
	var parts []string
	for _, s := range []string{m.What, m.Effect, m.Fix} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}

// Problem returns the message about p. For an unknown cause, it lists the arguments by name.
func Problem(p problem.Problem) Message {
	t, ok := Template(p.Cause)
	if !ok {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(p.Args)) {
			values = append(values, oneLine(p.Args[name].String()))
		}
		return Message{What: strings.Join(values, " ")}
	}
	return t.with(p)
}

// Template returns the message for a cause, with a {name} for each argument. ok is false for an unknown cause.
func Template(c problem.Cause) (m Message, ok bool) {
	e, ok := c.Entry()
	return Message{e.What, e.Effect, e.Fix}, ok
}

// with returns m with p's values in place of each {name}: arguments, {subject}, {keys} (all keys) and {key} (the
// first). "NodePool {nodePools}" becomes "NodePools ..." for several. {why} is a cause, and becomes its What.
func (m Message) with(p problem.Problem) Message {
	pairs := []string{"{subject}", oneLine(p.Subject.String()), "{keys}", oneLine(strings.Join(p.Keys, " and "))}
	if len(p.Keys) > 0 {
		pairs = append(pairs, "{key}", oneLine(p.Keys[0]))
	}
	if pools := p.Args["nodePools"]; len(pools) > 1 {
		pairs = append(pairs, "NodePool {nodePools}", "NodePools "+oneLine(pools.String()))
	}
	for name, values := range p.Args {
		pairs = append(pairs, "{"+name+"}", oneLine(values.String()))
	}
	if why, ok := Template(problem.Cause(p.Args["why"].String())); ok {
		m.What = strings.ReplaceAll(m.What, "{why}", why.clause())
	}
	r := strings.NewReplacer(pairs...)
	return Message{What: r.Replace(m.What), Effect: r.Replace(m.Effect), Fix: r.Replace(m.Fix)}
}

// oneLine returns text with a space for what ends a line, and U+FFFD for other letters that are not printed: users write
// values, and a message is one line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// ServerFaults returns the given faults as a part of a sentence, or "" if there are none.
func ServerFaults(all []reported.ServerFault) string {
	var out []string
	for _, f := range all {
		why, _ := Template(f.Cause)
		out = append(out, string(f.Server)+": "+strings.ReplaceAll(why.clause(), "{error}", oneLine(f.Error)))
	}
	return strings.Join(out, "; ")
}

func (m Message) clause() string {
	what := strings.TrimSuffix(m.What, ".")
	return strings.ToLower(what[:1]) + what[1:]
}

// A JSONProblem is a problem as scripts read it.
type JSONProblem struct {
	problem.Problem
	Detail string `json:"detail"`
	// Blocking is true if the problem prevents the plan from being applied. An Error that is confined to one network
	// does not.
	Blocking bool `json:"blocking"`
}

// JSON returns ps for scripts. Without problems the result is empty and not nil, so that it becomes [] in JSON.
func JSON(ps problem.Problems) []JSONProblem {
	out := []JSONProblem{}
	for _, p := range ps {
		out = append(out, JSONProblem{p, Problem(p).String(), p.Blocks()})
	}
	return out
}
