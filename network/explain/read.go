// This file reads the message of a condition as Status.Condition wrote it, for programs that have no
// more than the condition. It stands next to the texts, so that both change together.

package explain

import (
	"strings"

	"github.com/cldmnky/oooi/network"
)

// An Answer is what is known of a question.
type Answer string

// The answers.
const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// A Told is what the message of a condition tells.
type Told struct {
	// Summary is the first line: whether nodes can boot, and what serves.
	Summary string
	// Problems in the order of the message, the most important first.
	Problems []ToldProblem
	// Rest are the other lines: who shares the networks, external hosts, and what did not fit.
	Rest []string
	// Settings is the hash of the annotations that the message is about. Empty: unknown.
	Settings string
}

// A ToldProblem is the line of one problem.
type ToldProblem struct {
	Severity network.Severity
	Reason   network.Reason
	// Text is what happened, what it means and what to do.
	Text string
}

// ReadCondition reads the message of a condition. Lines that it does not know are in Rest.
func ReadCondition(message string) Told {
	var t Told
	first := true
	for line := range strings.Lines(message) {
		line = strings.TrimSpace(line)
		hash, isHash := strings.CutPrefix(line, "(settings ")
		switch p, ok := readLine(line); {
		case line == "":
		case isHash:
			t.Settings = strings.TrimSuffix(hash, ")")
		case ok:
			t.Problems = append(t.Problems, p)
		case first:
			t.Summary = line
		default:
			t.Rest = append(t.Rest, line)
		}
		first = false
	}
	if t.Settings == "unknown" {
		t.Settings = ""
	}
	return t
}

// readLine reads what Line wrote.
func readLine(line string) (ToldProblem, bool) {
	head, text, ok := strings.Cut(line, ": ")
	severity, reason, named := strings.Cut(head, " ")
	if !ok || !named || reason == "" || strings.Contains(reason, " ") {
		return ToldProblem{}, false
	}
	switch s := network.Severity(severity); s {
	case network.SeverityError, network.SeverityWaiting, network.SeverityWarning, network.SeverityInfo:
		return ToldProblem{s, network.Reason(reason), text}, true
	}
	return ToldProblem{}, false
}

// Boots returns whether nodes can boot, for readers without a StoredStatus. A summary that does not say it is Unknown, also
// if the condition is True: a newer operator may have other words.
func (t Told) Boots() Answer {
	has := func(words string) bool { return strings.Contains(t.Summary, words) }
	switch {
	case has("cannot boot"), has("do not become Ready"):
		return No
	case has("may not become Ready"):
		return Unknown
	case strings.HasPrefix(t.Summary, "Nodes can boot"), strings.HasPrefix(t.Summary, "Nodes can become Ready"):
		return Yes
	}
	return Unknown
}
