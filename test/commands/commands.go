// Package commands runs the command oooi in the process of a test.
package commands

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// Run runs oooi with subcommands, and returns what its process writes and exits with.
func Run(t testing.TB, subcommands []*cobra.Command, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, complaints bytes.Buffer
	c := command.New(subcommands...)
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(&complaints)
	code = command.ExitCode(c.ExecuteContext(t.Context()), &complaints)
	return out.String(), complaints.String(), code
}
