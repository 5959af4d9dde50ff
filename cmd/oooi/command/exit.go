// This file decides how a command ends: the exit code, and what standard error says.

package command

import (
	"errors"
	"fmt"
	"io"
)

// The exit codes of all commands other than 0. Scripts rely on them.
const (
	// ExitNoAnswer: the command could not do its work. It is the code of each error without one.
	ExitNoAnswer = 1
	// ExitFault: the user must fix something.
	ExitFault = 2
	// ExitUnknown: no fault is known, but something is awaited or unknown.
	ExitUnknown = 3
)

// An ExitMeaning is what an exit code means.
type ExitMeaning struct {
	Code    int
	Meaning string
}

// ExitMeanings are those of all commands. Only a program that oooi access runs adds its own.
func ExitMeanings() []ExitMeaning {
	return []ExitMeaning{
		{0, "Done: nodes can boot, all networks would be served, no check failed, or lint found nothing. Warnings are possible."},
		{ExitNoAnswer, "No answer: an argument is wrong, something cannot be read, no HostedCluster opted in, or a signal interrupted the command."},
		{ExitFault, "A fault to fix: a hosted cluster has an Error, nodes cannot boot, a check failed, or lint found something."},
		{ExitUnknown, "No fault is known, but something is awaited or unknown, such as what HyperShift publishes later."},
	}
}

// WorseExit is the exit code of two answers: a fault is not hidden by what is unknown.
func WorseExit(a, b int) int {
	if a == ExitFault || b == ExitFault {
		return ExitFault
	}
	return max(a, b)
}

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
	return ExitNoAnswer
}
