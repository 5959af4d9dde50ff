// Package status implements `oooi status`: it reports the state of a running hosted cluster, as the operator and the edges
// see it.
//
// The operator's status is the Report (package explain) that the operator stores in a ConfigMap. It counts only if it is
// about the current objects. A report of an edge (package reported) is an annotation of a Lease. This file has the flags.
package status

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
)

// statusInterval is the interval at which `oooi status --wait` reads the state.
const statusInterval = 2 * time.Second

// A Request says which hosted clusters to report, and how.
type Request struct {
	// Name is that of the HostedCluster. Zero: each hosted cluster that opted in.
	Name    client.ObjectKey
	wait    bool
	timeout time.Duration
	// At is the time for which the state is reported. Zero: now.
	At     time.Time
	output command.FormatFlag
	// Field all is true to list each lease and name, even if there are more than manyRows.
	all bool
	// vm is the name of the only VM to show. Empty: the whole hosted cluster is shown.
	vm string
}

// New returns the command `oooi status`.
func New() *cobra.Command {
	var cluster command.ClusterFlags
	var files []string
	var ask Request
	c := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show whether nodes of a running hosted cluster boot, and what serves them",
		Long: `Reads the HostedCluster of this name, or each that opted in, and its control
plane namespace. The first line says whether nodes boot, and the second one why.
Then come, for each network, the edges, the published endpoints, the allowed
hosts and the DHCP leases, and then the problems with their fixes. More than ten
leases or names of a network are counted, unless --all is set; JSON always lists
each.

The operator stores its status next to the plan, at each change and every ten
minutes. The status and the condition NetworkReady count only if they match the
current objects. These are the HostedCluster, its NodePools, their
NetworkAttachmentDefinitions, and Services and Routes of the control plane. A
status older than twenty minutes does not count: the operator is not running.
Without a valid status, the message of the condition is shown, and the answer is
unknown. The answer is also unknown if NodePools name a network that is not in
the plan.

The right to read ConfigMaps, Deployments, Leases and EndpointSlices of the
control plane namespace is enough for everything but the condition. Without the
condition, a change that the operator has not seen goes unnoticed. Objects that
you may not read are reported, and the command continues. It also continues if
one of several hosted clusters cannot be read, and fails at the end.

VMs that boot for the first time are listed with the last step that an edge saw,
and the next one. A VM with a konnectivity agent is a node, and not listed. Edges
report steps up to two minutes late, and lose them when they restart.

The time in column UNTIL is the stored expiry. It is up to one lease time later
than the expiry that the VM got, so most renewals need no write. States of a
lease:
  assigned  a client has the address
  expired   no client renewed it; its VM gets the same address again while it is free
  declined  a client reported that another host has the address
  blocked   the Lease cannot be read, so no client gets the address; delete the Lease if no client uses it`,
		Example: `  oooi status
  oooi status clusters/blue
  oooi status clusters/blue --wait --timeout 15m
  oooi status clusters/blue --vm blue-worker-1
  oooi status clusters/blue -o json
  oooi status -f oooi-must-gather`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if ask.Name, err = cluster.Named(args); err != nil {
				return err
			}
			api, err := ask.Source(c, &cluster, files)
			if err != nil {
				return err
			}
			all, err := ask.follow(c.Context(), api, time.NewTicker(statusInterval).C)
			return ask.show(c.OutOrStdout(), all, err)
		},
	}
	cluster.Add(c)
	c.ValidArgsFunction = command.CompleteClusters(&cluster)
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "`directory` that oooi must-gather wrote, instead of a cluster; can be repeated")
	ask.output.Add(c)
	c.Flags().BoolVar(&ask.all, "all", false, "show each lease and name, even if a network has more than ten")
	c.Flags().StringVar(&ask.vm, "vm", "", "`name` of a VirtualMachineInstance: show only its leases, and when edges first saw each step of its first boot")
	c.Flags().BoolVar(&ask.wait, "wait", false, "wait until NetworkReady is True, and up to date with all objects that oooi reads")
	c.Flags().DurationVar(&ask.timeout, "timeout", 15*time.Minute, "longest time that --wait waits")
	return c
}

// show writes the outputs in parameter all. Parameter err is the error of method follow. The error that show returns
// determines the exit code.
func (ask Request) show(w io.Writer, all []Output, err error) error {
	known := ask.vm == "" || len(all) == 0
	for i, r := range all {
		if ask.vm != "" {
			r = r.ofVM(ask.vm)
			known = known || r.knowsVM()
		}
		if err := r.write(w, ask.output.String(), ask.all, i == 0); err != nil {
			return err
		}
	}
	if !known && (err == nil || errors.As(err, new(command.ExitError))) {
		return command.Exit(command.ExitNoAnswer, fmt.Errorf("no VM %s is known: no edge reports its boot, and it has no lease", ask.vm))
	}
	return err
}

// Source returns a reader of the files or, without files, of the API server. If Name has no namespace, Source sets it. For
// files, it also sets At.
func (ask *Request) Source(c *cobra.Command, cluster *command.ClusterFlags, files []string) (client.Reader, error) {
	if len(files) == 0 {
		api, err := cluster.Open()
		if err == nil {
			ask.Name, err = cluster.Find(c.Context(), api, ask.Name)
		}
		return api, err
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
		command.Complain(c.ErrOrStderr(), f.Error())
	}
	ask.At = a.Index.Time
	if err == nil && ask.Name.Name != "" && ask.Name.Namespace == "" {
		ask.Name, err = source.Find(c.Context(), a, "", ask.Name.Name)
	}
	return a, err
}
