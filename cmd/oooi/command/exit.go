// This file decides how a command ends: the exit code, and the text on standard error.

package command

import (
	"errors"
	"io"
)

// The exit codes of all commands other than 0. Scripts rely on them.
const (
	// ExitNoAnswer: the command could not do its work. It is the code of each error that is not an ExitError.
	ExitNoAnswer = 1
	// ExitFault: the user must fix something.
	ExitFault = 2
	// ExitUnknown: no fault is known, but something is not there yet or unknown.
	ExitUnknown = 3
)

// An ExitMeaning explains an exit code.
type ExitMeaning struct {
	Code    int
	Meaning string
}

// ExitMeanings returns the meanings of the exit codes of all commands. If `oooi access` runs a program, it has further
// codes.
func ExitMeanings() []ExitMeaning {
	return []ExitMeaning{
		{0, "Done. Depending on the command: nodes can boot, all networks would be served, no check failed, or lint found nothing. Warnings are possible."},
		{ExitNoAnswer, "The command has no answer: an argument is wrong, something cannot be read, no HostedCluster opted in, or a signal interrupted the command."},
		{ExitFault, "You must fix a fault: a hosted cluster has an Error, nodes cannot boot, a check failed, or lint found something."},
		{ExitUnknown, "No fault is known, but something is unknown or does not exist yet, such as an address that HyperShift publishes later."},
	}
}

// WorseExit returns the exit code for two answers together. A fault has precedence over an unknown answer.
func WorseExit(a, b int) int {
	if a == ExitFault || b == ExitFault {
		return ExitFault
	}
	return max(a, b)
}

var ErrInterrupted = errors.New("interrupted")

// An ExitError is the error of a command that ends with the exit code Code.
type ExitError struct {
	Code int
	err  error
}

// Exit returns the error of a command that ends with code. If err is nil, nothing is written to standard error.
func Exit(code int, err error) error { return ExitError{code, err} }

// Error returns the text for standard error.
func (e ExitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// ExitCode returns the exit code of a command that returned err. If err has a text, ExitCode writes it to complaints.
func ExitCode(err error, complaints io.Writer) int {
	if err == nil {
		return 0
	}
	if text := err.Error(); text != "" {
		Complain(complaints, text)
	}
	var e ExitError
	if errors.As(err, &e) {
		return e.Code
	}
	return ExitNoAnswer
}
