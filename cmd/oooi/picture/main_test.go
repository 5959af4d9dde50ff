package picture

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/test/commands"
)

// oooi runs `oooi map` or `oooi plan` in the test's own process.
func oooi(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commands.Run(t, []*cobra.Command{New(), plan.New()}, stdin, args...)
}
