// This file has the catalogue of problems. Each cause is declared once, in catalogue_*.go. Conditions, Events, plans,
// lint and docs/problems.md are made from these declarations.

package problem

import (
	"cmp"
	"slices"
)

// A Cause names one exact fact, in CamelCase.
type Cause string

// An Entry is what all problems of one Cause have in common. What, Effect and Fix are sentences with {name} for an
// argument.
type Entry struct {
	Cause  Cause
	Reason Reason
	// Severity is the highest severity that problems with this cause have. An Error becomes a Warning if everything
	// except the faulty part can be served. While an edge starts, its problem is Waiting.
	Severity Severity
	// Mistake is true if it is certain that the user's objects are wrong. Then oooi plan exits with 2 even for a Warning or
	// Waiting, and names it first if nothing is worse. A setting that may be right, such as one for other servers, is no mistake.
	Mistake bool
	// PreventsNodes is true if nodes may not become Ready because of the problem, whatever the Rank of its Reason.
	PreventsNodes bool
	// StopsVMs is true if no VM starts that needs the faulty NetworkAttachmentDefinition. A VM that is attached refutes it.
	StopsVMs bool
	// Subject is what {subject} stands for, in words.
	Subject string
	// What says what happened.
	What string
	// Effect is what it means for VMs. Empty where What says it.
	Effect string
	// Fix is what to do. Empty: nothing.
	Fix string
}

// entries has all causes in the order of their declarations, and entryOf the entry of each. They do not change after
// initialization.
var (
	entries []Entry
	entryOf = map[Cause]Entry{}
)

// Catalogue returns the entries of all causes.
func Catalogue() []Entry { return slices.Clone(entries) }

// Entry returns the declaration of c. ok is false for an unknown cause, such as one of another version.
func (c Cause) Entry() (e Entry, ok bool) {
	e, ok = entryOf[c]
	return e, ok
}

func declare(c Cause, e Entry) Cause {
	e.Cause = c
	entries, entryOf[c] = append(entries, e), e
	return c
}

// A Severity ranks problems.
type Severity string

// The severities, the highest first.
const (
	// SeverityError: the user must act. Nothing of the plan is applied, and running edges keep the previous plan. If
	// the Error is confined, only its network is not applied.
	SeverityError Severity = "Error"
	// SeverityWaiting: a part is not served until something else exists.
	SeverityWaiting Severity = "Waiting"
	// SeverityWarning: VMs lack something, or will lack something if another component fails.
	SeverityWarning Severity = "Warning"
	// SeverityUnknown: a check could not find out. Only checks have this severity.
	SeverityUnknown Severity = "Unknown"
	// SeverityInfo: the user may want to know. Nothing is missing.
	SeverityInfo Severity = "Info"
)

// rank returns 0 for the highest severity. An unknown one comes last.
func (s Severity) rank() int {
	known := []Severity{SeverityError, SeverityWaiting, SeverityWarning, SeverityUnknown, SeverityInfo}
	if i := slices.Index(known, s); i >= 0 {
		return i
	}
	return len(known)
}

// Compare returns a negative number if s is higher than other.
func (s Severity) Compare(other Severity) int { return cmp.Compare(s.rank(), other.rank()) }
