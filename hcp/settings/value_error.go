// This file defines ValueError, the error of a value that cannot be parsed.

package settings

import (
	"maps"

	"github.com/cldmnky/oooi/network/problem"
)

// A ValueError says why a value is invalid. Args may lack the annotation's key and value.
type ValueError struct {
	Cause problem.Cause
	Args  problem.Args
}

// Error returns the cause, for logs. Package explain renders the message for users.
func (m ValueError) Error() string { return string(m.Cause) }

// want returns the error of a value that cannot be parsed. what describes the accepted values.
func want(what string) error {
	return ValueError{problem.AnnotationUnreadable, problem.Args{"want": {what}}}
}

func bad(c problem.Cause, part string) error { return ValueError{c, problem.Args{"value": {part}}} }

// invalid returns the problem of a value with an error. name is the key without its prefix.
func invalid(on problem.Subject, name, value string, err error) problem.Problem {
	m, ok := err.(ValueError)
	if !ok {
		m = ValueError{Cause: problem.AnnotationUnreadable, Args: problem.Args{"want": {err.Error()}}}
	}
	args := problem.Args{}
	if m.Cause == problem.AnnotationUnreadable {
		args["value"] = []string{value}
	}
	maps.Copy(args, m.Args)
	return problem.New(m.Cause, on, args, name)
}
