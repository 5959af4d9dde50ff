package localaccess

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/test/commands"
	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) { programs.Main(m, func() { command.Main(New()) }) }

// oooi runs `oooi access` in the test's own process.
func oooi(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commands.Run(t, []*cobra.Command{New()}, stdin, args...)
}
