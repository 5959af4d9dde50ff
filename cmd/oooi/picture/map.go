// Package picture implements `oooi map`, which draws what VMs reach through edges, from a cluster or from files. A picture
// is a value. It is laid out as lines, which are written as text, SVG or HTML.
package picture

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/network"
)

// New returns the command `oooi map`.
func New() *cobra.Command {
	var cluster command.ClusterFlags
	var output command.FormatFlag
	var files []string
	c := &cobra.Command{
		Use:   "map [NAME]",
		Short: "Draw what VMs of a hosted cluster reach, and through which edges",
		Long: `Draws the plan of the HostedCluster of this name, or of each that opted in. It
shows the VMs, and the edges with their addresses and servers. Then it shows the
names and ports that VMs use, the backend of each, and what is refused.

With -f it reads files as oooi plan does, or a directory of oooi must-gather,
and no cluster. If the files have no plan in force, it draws the plan that the
operator would derive. Leases, edges and health are then unknown.

Text has at most 100 columns. The page of -o html has no script, and loads
nothing. Hover over a line for details.`,
		Example: `  oooi map clusters/blue
  oooi map clusters/blue -o html > blue.html
  oooi map -f cluster.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := cluster.Named(args)
			if err != nil {
				return err
			}
			draw := drawings()[output.String()]
			ask := status.Request{Name: name}
			api, err := ask.Source(c, &cluster, files)
			if err != nil {
				return err
			}
			clusters, err := source.Selected(c.Context(), api, ask.Name)
			if err != nil {
				return err
			}
			if output.String() != command.FormatText && len(clusters) > 1 {
				return fmt.Errorf("--output %s draws one hosted cluster: name one of %d", &output, len(clusters))
			}
			return mapped(c, api, clusters, ask.At, draw)
		},
	}
	cluster.Add(c)
	c.ValidArgsFunction = command.CompleteClusters(&cluster)
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to read instead of a cluster, or - for standard input; can be repeated")
	output.AddOf(c, command.FormatText, "svg", "html")
	return c
}

func drawings() map[string]func(picture) string {
	return map[string]func(picture) string{"text": picture.text, "svg": picture.document, "html": picture.page}
}

// mapped writes the drawings of all clusters. Parameter at is the time when the objects were read. Zero: now.
func mapped(c *cobra.Command, api client.Reader, clusters []source.HostedCluster, at time.Time, draw func(picture) string) error {
	if at.IsZero() {
		at = time.Now()
	}
	var failed error
	for i, hc := range clusters {
		facts, err := status.Read(c.Context(), api, hc)
		if from, ok := api.(source.Archive); ok && err == nil && !facts.PlanRead {
			facts, err = derived(from, facts.LiveCluster)
		} else if err == nil && !facts.PlanRead {
			err = errors.New(facts.NoPlan)
			if facts.NoPlan == "" {
				err = errors.New("the plan cannot be read: a right is missing")
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("HostedCluster %s/%s: %w", hc.Namespace, hc.Name, err))
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		if _, err := io.WriteString(c.OutOrStdout(), draw(pictureOf(status.OutputOf(facts, at), facts.Plan))); err != nil {
			return err
		}
	}
	return failed
}

// derived returns the facts about a hosted cluster in files without a plan in force. It derives the plan from the files, as
// `oooi plan` does.
func derived(a source.Archive, running hcp.LiveCluster) (status.Facts, error) {
	dump := &files.Dump{}
	for _, all := range a.Objects {
		for _, o := range all {
			if err := dump.AddObject(o); err != nil {
				return status.Facts{}, err
			}
		}
	}
	for _, line := range plan.NewPlanner(dump, dump.Clusters(), network.Permissions{}).Plans() {
		if line.Cluster != running.Namespace+"/"+running.Name {
			continue
		}
		if line.Plan == nil {
			return status.Facts{}, errors.New("no plan follows from its files; oooi plan shows why")
		}
		return status.Facts{LiveCluster: running, Plan: *line.Plan}, nil
	}
	return status.Facts{}, errors.New("it has not opted in")
}
