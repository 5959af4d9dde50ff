// This file decides how a command ends: the exit code, and what standard error says.

package command

import (
	"errors"
	"fmt"
	"io"
)

// ErrInterrupted is the error of a command that a signal ends.
var ErrInterrupted = errors.New("interrupted")

// An ExitError ends the program with a code of its own. Without err nothing
// more is said.
type ExitError struct {
	Code int
	err  error
}

// Exit is the error of a command that ends with code. Nil: nothing is said.
func Exit(code int, err error) error { return ExitError{code, err} }

// Error is what standard error says.
func (e ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// ExitCode writes to complaints why a command ended, and returns its exit code.
func ExitCode(err error, complaints io.Writer) int {
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(complaints, "oooi: "+text)
	}
	var e ExitError
	if errors.As(err, &e) {
		return e.Code
	}
	return 1
}
