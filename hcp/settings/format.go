// This file declares formats: how the value of an annotation is written. Two programs check a format: the operator
// parses values in Go, and the API server evaluates CEL.

package settings

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/cldmnky/oooi/network/problem"
)

// A format is one way to write a value: its parser, and requirements that the API server checks at admission.
// Requirements accept at least what parse accepts.
type format[T any] struct {
	parse        func(string) (T, error)
	requirements []Requirement
}

// A Requirement is a condition for an annotation's value, in CEL of Kubernetes 1.31.
type Requirement struct {
	// Entries is an expression for the list of entries in value v, which are strings. Empty: v is the only entry.
	Entries string
	// Valid is an expression that is true for a valid entry v. v has no spaces around it, and fulfills the previous
	// requirements.
	Valid string
	Cause problem.Cause
	// Args are arguments of the message. The argument value is the entry, or the whole
	// annotation if the cause is AnnotationUnreadable.
	Args problem.Args
	// Computed are further arguments, as expressions about the entry v.
	Computed map[string]string
}

// A value connects a row of the table to the field of Values that it sets.
type value struct {
	set          func(*Values, string) error
	field        func(*Values) reflect.Value
	requirements []Requirement
}

func into[T any](f format[T], field func(*Values) *T) value {
	return value{
		set: func(s *Values, v string) (err error) {
			*field(s), err = f.parse(v)
			return err
		},
		field:        func(s *Values) reflect.Value { return reflect.ValueOf(field(s)).Elem() },
		requirements: f.requirements,
	}
}

// wanting returns f with a description of its syntax. An error about a part, such as an address in a range, then also
// describes the whole value.
func (f format[T]) wanting(what string) format[T] {
	parse, requirements := f.parse, slices.Clone(f.requirements)
	for i := range requirements {
		if requirements[i].Cause == problem.AnnotationUnreadable {
			requirements[i].Args = problem.Args{"want": {what}}
		}
	}
	return format[T]{func(v string) (T, error) {
		out, err := parse(v)
		if e, ok := err.(ValueError); ok && e.Cause == problem.AnnotationUnreadable {
			err = want(what)
		}
		return out, err
	}, requirements}
}

const commaSeparated = "v.split(',')"

// listOf returns the format of a list without a limit. Only lists that need an entry for each VM or each hosted cluster have it.
func listOf[T any](f format[T]) format[[]T] {
	return format[[]T]{
		parse:        func(v string) ([]T, error) { return list(v, f.parse) },
		requirements: forEach(commaSeparated, f.requirements),
	}
}

// limitedListOf returns the format of listOf, with at most maxListEntries entries.
func limitedListOf[T any](f format[T]) format[[]T] {
	return format[[]T]{
		parse:        func(v string) ([]T, error) { return limitedList(v, f.parse) },
		requirements: append([]Requirement{tooLong(commaSeparated)}, forEach(commaSeparated, f.requirements)...),
	}
}

// forEach returns requirements for each entry of a list. Parameter of is the CEL expression for the entries.
func forEach(of string, requirements []Requirement) []Requirement {
	var out []Requirement
	for _, c := range requirements {
		c.Entries = of
		out = append(out, c)
	}
	return out
}

func tooLong(of string) Requirement {
	most := strconv.Itoa(maxListEntries)
	return Requirement{Valid: "(" + of + ").size() <= " + most, Cause: problem.ListTooLong,
		Args: problem.Args{"most": {most}}, Computed: map[string]string{"count": "string((" + of + ").size())"}}
}

// wanted returns the requirement that the CEL expression valid is true. The problem of an entry for which it is false
// is that of want.
func wanted(what, valid string) Requirement {
	return Requirement{Valid: valid, Cause: problem.AnnotationUnreadable, Args: problem.Args{"want": {what}}}
}

// Requirements returns what the API server checks in the key's value, in order.
func (k Key) Requirements() []Requirement {
	var out []Requirement
	for _, c := range k.value.requirements {
		c.Args = maps.Clone(c.Args)
		out = append(out, c)
	}
	return out
}
