// This file has the command `testbed worker`, with a subcommand for each function of the package.

package worker

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
)

// Command returns the command `testbed worker` for the cluster with this name.
func Command(name *string) *cobra.Command {
	cmd := &cobra.Command{Use: "worker", Short: "Worker machines of hosted clusters: switch them on, enter them, switch them off"}
	cmd.AddCommand(upCommand(name), followCommand(name), downCommand(name), statusCommand(name), runCommand(name))
	return cmd
}

// Print returns a function that writes each event as a line to w.
func Print(w io.Writer) func(Event) {
	return func(e Event) {
		fmt.Fprintf(w, "%6.1fs %s %s (%.2fs): %s\n", e.Since.Seconds(), e.Machine, e.Step, e.Took.Seconds(), e.Detail)
	}
}

func options(ctx context.Context, name, hosted string, log io.Writer) (Options, error) {
	c, err := cluster.Attach(name)
	if err != nil {
		return Options{}, err
	}
	h, err := hypershift.Attach(c, nil)
	if err != nil {
		return Options{}, err
	}
	return New(ctx, c, h, hosted, Print(log))
}

func upCommand(name *string) *cobra.Command {
	var want int
	cmd := &cobra.Command{Use: "up HOSTEDCLUSTER", Short: "Boot its virtual machines and wait until the nodes are Ready", Args: cobra.ExactArgs(1)}
	cmd.Flags().IntVar(&want, "workers", 1, "how many")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o, err := options(cmd.Context(), *name, args[0], cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		_, err = BootAll(cmd.Context(), o, hypershift.ControlPlaneNamespace(args[0]), want)
		return err
	}
	return cmd
}

func followCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "follow HOSTEDCLUSTER", Short: "Boot a worker for each virtual machine that appears, until ended", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := options(cmd.Context(), *name, args[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return Follow(cmd.Context(), o, hypershift.ControlPlaneNamespace(args[0]), func(err error) { fmt.Fprintln(cmd.ErrOrStderr(), err) })
		},
	}
}

func downCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "down [HOSTEDCLUSTER]", Short: "Switch off and remove all workers, or one cluster's", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			namespace := ""
			if len(args) > 0 {
				namespace = hypershift.ControlPlaneNamespace(args[0])
			}
			return Down(cmd.Context(), c, namespace)
		},
	}
}

func statusCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the workers that are on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			on, err := Running(c, "")
			for _, m := range on {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\tinit %d\tlogs in %s/log\n", m.Name, m.PID, m.Dir)
			}
			return err
		},
	}
}

func runCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use: "run HOSTEDCLUSTER[/MACHINE] -- PROGRAM ARGUMENT...", Short: "Run a program inside a worker (its first, unless one is named)", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			hosted, machine, _ := strings.Cut(args[0], "/")
			on, err := Running(c, hypershift.ControlPlaneNamespace(hosted))
			if err != nil {
				return err
			}
			for _, m := range on {
				if strings.HasSuffix(m.Name, "."+machine) || machine == "" {
					run := m.Command(cmd.Context(), args[1], args[2:]...)
					run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
					return run.Run()
				}
			}
			return fmt.Errorf("no worker of %s is on", args[0])
		},
	}
}
