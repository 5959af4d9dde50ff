// Command testbed is the command line of the testbed. It parses arguments, and calls the packages that do the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/progress"
	"github.com/cldmnky/oooi/test/testbed/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:              "testbed",
		Short:            "A real Kubernetes in namespaces of this machine",
		TraverseChildren: true, // --name comes before the subcommand, whose arguments may be those of another program.
		SilenceUsage:     true,
		SilenceErrors:    true,
	}
	name := root.PersistentFlags().String("name", "tb", "name of the cluster")
	root.AddCommand(buildCommand(),
		pathCommand("assets", "a directory with etcd, kube-apiserver and kubectl, for KUBEBUILDER_ASSETS", build.EnvtestAssets),
		pathCommand("envoy", "the path of an Envoy that runs on this machine, fetched where there is none", build.Envoy),
		pathCommand("cni-plugins", "a directory with the CNI plugins that edges use", build.CNIPlugins),
		pathCommand("konnectivity", "a directory with proxy-server and proxy-agent of apiserver-network-proxy", build.Konnectivity),
		pathCommand("netpold", "the path of the program that enforces NetworkPolicies", build.Netpold),
		upCommand(name), downCommand(name), statusCommand(name),
		loadCommand(name), kubectlCommand(name), runCommand(name), nodeDownCommand(name), nodeUpCommand(name), hypershift.Command(name), worker.Command(name), olmCommand(name), measureCommand())
	err := root.ExecuteContext(ctx)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && len(exit.Stderr) == 0: // The program that was run has printed the error.
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build [PROGRAM...]",
		Short: "Build programs into the cache: all of them, or those named",
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = build.All()
			}
			_, err := build.Programs(cmd.Context(), progress.New(os.Stderr), names...)
			return err
		},
	}
}

// pathCommand prints the path that get returns, which it builds or fetches first.
func pathCommand(name, short string, get func(context.Context, *progress.Log) (string, error)) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: "Print " + short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := get(cmd.Context(), progress.New(os.Stderr))
			if err == nil {
				fmt.Println(path)
			}
			return err
		},
	}
}

func upCommand(name *string) *cobra.Command {
	options := cluster.Options{Log: os.Stderr}
	verb := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, unless it is; add nodes that are missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Name = *name
			c, err := cluster.Up(cmd.Context(), options)
			if err == nil {
				fmt.Printf("try: go -C test/testbed run ./cmd/testbed --name %s kubectl get nodes,pods -A\n", c.Name)
			}
			return err
		},
	}
	verb.Flags().IntVar(&options.Nodes, "nodes", 1, "how many nodes it has at least")
	return verb
}

func downCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster and all it left on this machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cluster.Down(cmd.Context(), cluster.Options{Name: *name, Log: os.Stderr})
		},
	}
}

func statusCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what runs; exit 1 when the cluster is not up and healthy",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := cluster.Status(cmd.Context(), *name)
			fmt.Print(text)
			return err
		},
	}
}

func loadCommand(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE...",
		Short: "Build images of this project and import them: oooi, envoy",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, images []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			c.LogTo(os.Stderr)
			return c.LoadImages(cmd.Context(), images...)
		},
	}
}

func kubectlCommand(name *string) *cobra.Command {
	return inside(name, &cobra.Command{Use: "kubectl ARGUMENT...", Short: "Run kubectl as the administrator"},
		func(c *cluster.Cluster, ctx context.Context, args []string) *exec.Cmd {
			return c.Command(ctx, c.Bin("kubectl"), args...)
		})
}

func runCommand(name *string) *cobra.Command {
	return inside(name, &cobra.Command{Use: "run [@NUMBER] PROGRAM ARGUMENT...", Short: "Run a program in the namespaces of the first node, or of node NUMBER"},
		func(c *cluster.Cluster, ctx context.Context, args []string) *exec.Cmd {
			for _, n := range c.Nodes() {
				if len(args) > 1 && args[0] == "@"+strings.TrimPrefix(n.Name, "node") {
					return n.Runtime.Command(ctx, args[1], args[2:]...)
				}
			}
			return c.NodeCommand(ctx, args[0], args[1:]...)
		})
}

func nodeDownCommand(name *string) *cobra.Command {
	return nodeVerb(name, "node-down", "Pull the network cable of a node, 2 or higher", (*cluster.Cluster).NodeDown)
}

func nodeUpCommand(name *string) *cobra.Command {
	return nodeVerb(name, "node-up", "Plug the network cable of a node in again", (*cluster.Cluster).NodeUp)
}

func nodeVerb(name *string, verb, short string, do func(*cluster.Cluster, int) error) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NUMBER",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := cluster.Attach(*name)
			if err != nil {
				return err
			}
			number, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("node %q: want its number", args[0])
			}
			return do(c, number)
		},
	}
}

// inside returns verb as a subcommand that runs a program on the terminal of the user. command returns the program.
func inside(name *string, verb *cobra.Command, command func(*cluster.Cluster, context.Context, []string) *exec.Cmd) *cobra.Command {
	verb.DisableFlagParsing = true
	verb.Args = cobra.MinimumNArgs(1)
	verb.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := cluster.Attach(*name)
		if err != nil {
			return err
		}
		run := command(c, cmd.Context(), args)
		run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
		return run.Run()
	}
	return verb
}
