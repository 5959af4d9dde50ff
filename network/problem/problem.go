// Package problem holds problems: facts, as data, that a user must or may want to know. Each cause is one literal in
// catalogue_*.go. Package explain makes text of them.
package problem

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// A Subject is the object that a problem is about.
type Subject struct {
	// Kind is in CamelCase: HostedCluster, NodePool, NetworkAttachmentDefinition, Service, Route, Network, Edge or Endpoint.
	Kind string `json:"kind,omitempty"`
	// Namespace is that of the object. Empty: the object has none, or Name alone identifies it.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns "Kind namespace/name", or "Kind name" without a namespace.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + s.Name
	}
	return strings.TrimSpace(s.Kind + " " + name)
}

// Args are the values of a problem by name: addresses, names, counts, no sentences. "why" is a Cause, and "error" the
// error text of another program.
type Args map[string]Values

// Values are the values of one argument: one value, or a list.
type Values []string

// String returns vs as a list for messages.
func (vs Values) String() string { return strings.Join(vs, ", ") }

// MarshalJSON writes one value as a string, and a list as an array.
func (vs Values) MarshalJSON() ([]byte, error) {
	if len(vs) == 1 {
		return json.Marshal(vs[0])
	}
	return json.Marshal([]string(vs))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (vs *Values) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		*vs = make(Values, 1)
		return json.Unmarshal(b, &(*vs)[0])
	}
	return json.Unmarshal(b, (*[]string)(vs))
}

// A Problem is one fact about how a network is served.
type Problem struct {
	Reason   Reason   `json:"reason"`
	Cause    Cause    `json:"cause"`
	Severity Severity `json:"severity"`
	Subject  Subject  `json:"subject,omitzero"`
	// Keys name what the user can change, the best first: annotation keys without prefix ("dhcp-range") or field
	// paths ("spec.services"). Empty: no key helps.
	Keys []string `json:"keys,omitempty"`
	Args Args     `json:"args,omitempty"`
	// Confined is true for an Error of one network if VMs boot from another one. That network is left out, or stays as
	// it is if it runs, and everything else is applied. In Facts, each Error of one network is confined, because only
	// Derive knows from which networks VMs boot.
	Confined bool `json:"confined,omitempty"`
}

// New returns a problem with the Reason and Severity that the catalogue has for cause c. keys are what the user can
// change to solve the problem, the best first.
func New(c Cause, subject Subject, args Args, keys ...string) Problem {
	e, _ := c.Entry()
	return Problem{Reason: e.Reason, Cause: c, Severity: e.Severity, Subject: subject, Keys: keys, Args: args}
}

// Of returns p with another subject.
func (p Problem) Of(subject Subject) Problem {
	p.Subject = subject
	return p
}

// Warning returns p as a Warning if it was an Error. Use it if the rest can be served without the faulty part.
func (p Problem) Warning() Problem {
	if p.Severity == SeverityError {
		p.Severity, p.Confined = SeverityWarning, false
	}
	return p
}

// Level returns the severity of p.
func (p Problem) Level() Severity { return p.Severity }

// Blocks reports whether p prevents the plan from being applied.
func (p Problem) Blocks() bool { return p.Level() == SeverityError && !p.Confined }

// Waits reports whether p is Waiting: it ends as soon as another object exists.
func (p Problem) Waits() bool { return p.Level() == SeverityWaiting }

// Mistake reports whether p is a Warning or Waiting about what a user wrote: an annotation that is invalid or without
// effect, or an Entry with Mistake.
func (p Problem) Mistake() bool {
	e, _ := p.Cause.Entry()
	return (p.Level() == SeverityWarning || p.Waits()) && (p.Reason == AnnotationInvalid || p.Reason == AnnotationUnknown || e.Mistake)
}

// Traits returns those of p's Reason, with the Rank of p.
func (p Problem) Traits() Traits {
	t := p.Reason.Traits()
	if e, _ := p.Cause.Entry(); e.PreventsNodes {
		t.Rank = PreventsNodes
	}
	return t
}

// StopsVMs reports whether p is an Error that proves that some VMs do not start.
func (p Problem) StopsVMs() bool {
	e, _ := p.Cause.Entry()
	return e.StopsVMs && p.Level() == SeverityError
}

// Problems are problems in the order in which they were found.
type Problems []Problem

// BySeverity returns ps sorted by severity, the highest first. Problems with the same severity keep their order.
func (ps Problems) BySeverity() Problems {
	out := slices.Clone(ps)
	slices.SortStableFunc(out, func(a, b Problem) int { return a.Level().Compare(b.Level()) })
	return out
}

// Of returns the problems with this severity.
func (ps Problems) Of(s Severity) Problems {
	return slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return p.Level() != s })
}

// Blocking reports whether any problem prevents the plan from being applied.
func (ps Problems) Blocking() bool { return slices.ContainsFunc(ps, Problem.Blocks) }

// Waiting reports whether any problem ends as soon as another object exists.
func (ps Problems) Waiting() bool { return slices.ContainsFunc(ps, Problem.Waits) }

// Has reports whether a problem has this reason.
func (ps Problems) Has(r Reason) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Reason == r })
}

// NotBlocking returns ps with each Error as a Warning. Use it if the rest can be served without the faulty part, such
// as a network that no VM boots from.
func (ps Problems) NotBlocking() Problems {
	out := slices.Clone(ps)
	for i := range out {
		out[i] = out[i].Warning()
	}
	return out
}
