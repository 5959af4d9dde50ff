// This file holds ValueError: what is wrong with an annotation's value, as data.

package settings

import (
	"maps"

	"github.com/cldmnky/oooi/network"
)

// A ValueError says why a value can't be read. Args may lack key and value, which
// are the annotation's.
type ValueError struct {
	Cause network.Cause
	Args  network.Args
}

// Error is the cause, for logs; explain has the message.
func (m ValueError) Error() string { return string(m.Cause) }

// want is the ValueError of a value that is none of what is wanted.
func want(what string) error {
	return ValueError{network.AnnotationUnreadable, network.Args{"want": what}}
}

// bad is a ValueError about a part of the value.
func bad(c network.Cause, part string) error { return ValueError{c, network.Args{"value": part}} }

// invalid is the problem of an annotation, by its name without prefix, whose value
// err says can't be read.
func invalid(on network.Subject, name, value string, err error) network.Problem {
	m, ok := err.(ValueError)
	if !ok {
		m = ValueError{Cause: network.AnnotationUnreadable, Args: network.Args{"want": err.Error()}}
	}
	args := network.Args{}
	if m.Cause == network.AnnotationUnreadable {
		args["value"] = value
	}
	maps.Copy(args, m.Args)
	return network.NewProblem(m.Cause, on, args, name)
}
