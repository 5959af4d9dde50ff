// This file renders problems: a Message says what happened, what it means, and
// what to do.

// Package explain has the words for people: what network decides is data, and
// becomes text here, once, for conditions, events, plans and documentation.
package explain

import (
	"strings"

	"github.com/cldmnky/oooi/network"
)

// A Message tells a person about one problem. Each part is whole sentences.
type Message struct {
	// What happened.
	What string
	// Effect is what it means for VMs. Empty where What says it.
	Effect string
	// Fix is what to do. Empty: nothing.
	Fix string
}

// String is the parts in a row.
func (m Message) String() string {
	return strings.TrimSpace(strings.Join([]string{m.What, m.Effect, m.Fix}, " "))
}

// Problem is the message about p.
func Problem(p network.Problem) Message { return Message{What: p.Detail} }

// A JSONProblem is a problem as scripts read it: the data, and the message.
type JSONProblem struct {
	network.Problem
	// Detail is the message in one line.
	Detail string `json:"detail"`
	// Blocking says that nothing is applied because of it.
	Blocking bool `json:"blocking"`
}

// JSON is ps as scripts read them. Never nil, so that none is [].
func JSON(ps network.Problems) []JSONProblem {
	out := []JSONProblem{}
	for _, p := range ps {
		out = append(out, JSONProblem{p, Problem(p).String(), p.Blocks()})
	}
	return out
}
