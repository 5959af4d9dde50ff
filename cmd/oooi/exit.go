// This file decides how a command ends: the exit code, and what standard error says.

package main

import (
	"errors"
	"fmt"
	"io"
)

// errInterrupted is the error of a command that a signal ends.
var errInterrupted = errors.New("interrupted")

// An exitError ends the program with a code of its own. Without err nothing
// more is said.
type exitError struct {
	code int
	err  error
}

func exit(code int, err error) error { return exitError{code, err} }

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// exitCode writes to complaints why a command ended, and returns its exit code.
func exitCode(err error, complaints io.Writer) int {
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(complaints, "oooi: "+text)
	}
	var e exitError
	if errors.As(err, &e) {
		return e.code
	}
	return 1
}
