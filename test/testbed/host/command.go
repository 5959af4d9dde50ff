// The output of commands.

package host

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Output runs a command; its error says what the command wrote to stderr.
func Output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		words := cmd.Args
		if i := slices.Index(words, "--"); i >= 0 {
			words = words[i+1:] // what nsenter was to run
		}
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
