package status

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/mustgather"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/commands"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestMain: oooi runs in processes that tests start, too.
func TestMain(m *testing.M) { programs.Main(m, func() { command.Main(mustgather.New()) }) }

// Others are commands whose packages import this one.
var Others []*cobra.Command

// oooi runs a command in the test's own process.
func oooi(t *testing.T, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return commands.Run(t, append([]*cobra.Command{New(), mustgather.New(), plan.New()}, Others...), stdin, args...)
}

// TestOnAPIServer runs the tests that need a real API server. Starting one takes seconds of CPU time, so they share it.
func TestOnAPIServer(t *testing.T) {
	server := apiserver.Start(t, nil)
	server.InstallKinds(t)
	t.Run("must-gather", func(t *testing.T) { blue.Clean(t, server); mustGather(t, server) })
	t.Run("status", func(t *testing.T) { blue.Clean(t, server); statusReads(t, server) })
}
