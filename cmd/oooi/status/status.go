// Package status is `oooi status`: what a running cluster has, as the operator and the edges
// report it. Its flags and its exit codes are in this file.
package status

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
)

// exitNotReady is the exit code of `oooi status` if nodes cannot boot, or it is unknown whether they can.
const exitNotReady = 2

// statusInterval is how often `oooi status --wait` reads the state.
const statusInterval = 2 * time.Second

// A Request is what the user asks for.
type Request struct {
	// Name of the HostedCluster. Zero: each that opted in.
	Name    client.ObjectKey
	wait    bool
	timeout time.Duration
	// At is the time that the report is about. Zero: now.
	At     time.Time
	output string
	// all: text has each lease and name.
	all bool
}

// New returns the command.
func New() *cobra.Command {
	var cluster command.ClusterFlags
	var files []string
	var ask Request
	c := &cobra.Command{
		Use:   "status [NAMESPACE/NAME]",
		Short: "Show whether nodes of a running hosted cluster boot, and what serves them",
		Long: `Reads the HostedCluster of this name, or each that opted in, and its control plane namespace.
The first line says whether nodes will boot: yes, no or unknown, and why. Then come, for each
network, the edges, the published endpoints, the allowed hosts and the DHCP leases, and then the
problems with their fixes. What is not known is "unknown". More than ten leases or names of a network
are counted, unless --all is set; JSON always has each.

The operator stores its status next to the plan, at each change and every ten minutes. It and the
condition NetworkReady count only if they are about the objects of now. Those are the HostedCluster,
its NodePools, their NetworkAttachmentDefinitions, and Services and Routes of the control plane. A
status that is older than twenty minutes does not count: the operator does not run. Without a status
that counts, the message of the condition is shown, and the answer is unknown. A network that
NodePools name but that is not in the plan makes the answer unknown.

Rights to read the control plane namespace are enough for everything but the condition: ConfigMaps,
Deployments, Leases and EndpointSlices. Then a change that the operator has not seen is not noticed.
Without the right to read something, the output says so and goes on. So it does if one of several hosted clusters cannot be read; the exit code is 1 then.

The time in column UNTIL is the one that edges stored. It is up to one lease time later
than the one that the VM got, so that most renewals need no write. States of a lease:
  assigned  a client has the address
  expired   no client renewed it; its VM gets the same address again while it is free
  declined  a client found that another host has the address, or says so
  blocked   the Lease cannot be read, so no client gets the address; delete it if none uses it

Exit codes:
  0  nodes can boot; with --wait, NetworkReady is True, too
  1  the state cannot be read, a right is missing for --wait, or a signal interrupts the command
  2  nodes cannot boot, or it is unknown whether they can; with --wait, the time is over`,
		Example: `  oooi status
  oooi status clusters/blue
  oooi status clusters/blue --wait --timeout 15m
  oooi status clusters/blue -o json
  oooi status -f oooi-must-gather`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if ask.Name, err = command.HostedClusterName(args); err != nil {
				return err
			}
			if ask.output != "text" && ask.output != "json" {
				return fmt.Errorf("--output %s: want text or json", ask.output)
			}
			api, err := ask.Source(c, &cluster, files)
			if err != nil {
				return err
			}
			all, err := ask.follow(c.Context(), api, time.NewTicker(statusInterval).C)
			for i, r := range all {
				if err := r.write(c.OutOrStdout(), ask.output, ask.all, i == 0); err != nil {
					return err
				}
			}
			return err
		},
	}
	cluster.Add(c)
	c.ValidArgsFunction = command.CompleteClusters(&cluster)
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "`directory` that oooi must-gather wrote, instead of a cluster; can be repeated")
	c.Flags().StringVarP(&ask.output, "output", "o", "text", "`format` of the output: text, or json with one line for each hosted cluster")
	c.Flags().BoolVar(&ask.all, "all", false, "show each lease and name, also if a network has more than ten")
	c.Flags().BoolVar(&ask.wait, "wait", false, "wait until NetworkReady is True for the HostedCluster and all else that oooi reads as they are now")
	c.Flags().DurationVar(&ask.timeout, "timeout", 15*time.Minute, "how long --wait waits")
	return c
}

// Source returns what to read: the API server, or files.
func (ask *Request) Source(c *cobra.Command, cluster *command.ClusterFlags, files []string) (client.Reader, error) {
	if len(files) == 0 {
		return cluster.Open()
	}
	if ask.wait {
		return nil, errors.New("--wait needs a cluster: files do not change")
	}
	scheme, err := source.NewScheme()
	if err != nil {
		return nil, err
	}
	read, err := cluster.Rules.Reading()
	if err != nil {
		return nil, err
	}
	a, faults, err := source.ReadArchive(c.InOrStdin(), files, read, scheme)
	for _, f := range faults {
		fmt.Fprintln(c.ErrOrStderr(), "oooi: "+f.Error())
	}
	ask.At = a.Index.Time
	return a, err
}
