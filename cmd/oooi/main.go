// Command oooi contains the operator (subcommand manager), and the commands that users run on their own machine. The
// containers of edges run command oooi-edge.
//
// This file lists the subcommands. Each has a file or a package of its own.
package main

import (
	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/check"
	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/localaccess"
	"github.com/cldmnky/oooi/cmd/oooi/mustgather"
	"github.com/cldmnky/oooi/cmd/oooi/picture"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/status"
)

func main() { command.Main(subcommands()...) }

func subcommands() []*cobra.Command {
	return []*cobra.Command{
		localaccess.New(),
		newAdmissionCommand(),
		check.New(),
		plan.NewLint(),
		newExplainCommand(),
		newManagerCommand(),
		picture.New(),
		mustgather.New(),
		plan.New(),
		status.New(),
		newVersionCommand(),
	}
}
