// This file runs commands and reads their output.

package host

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Output runs cmd and returns its standard output. An error contains its standard error.
func Output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		words := cmd.Args
		if i := slices.Index(words, "--"); i >= 0 {
			words = words[i+1:] // the command that nsenter runs
		}
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
