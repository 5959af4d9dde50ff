// Package plan implements `oooi plan` and `oooi lint`, which show the effect of annotations. They read only files, and never
// connect to a cluster. This file holds `oooi plan`.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// New returns the command `oooi plan`.
func New() *cobra.Command {
	var set []string
	var from *inputFlags
	c := &cobra.Command{
		Use:   "plan -f FILE|DIR...",
		Short: "Show what VMs would get and reach, from YAML files only",
		Long: `Reads Kubernetes objects from files and prints a plan for each hosted cluster
that opted in. The files can be the output of a HyperShift command line with
--render, a must-gather, or the output of kubectl get -o yaml. No cluster is
contacted. If they have the ConfigMap oooi-plan of a control plane namespace,
that is the plan in force: what runs keeps its addresses.

` + inputHelp + `

The text says first whether nodes will become Ready. For each network it then
lists what a VM gets, what a VM reaches, which addresses to reserve, and what
runs. If *.apps needs a Service, commands that create it come last. Findings of
oooi lint that are in no plan are written to standard error.`,
		Example: `  hypershift create cluster kubevirt ... --render | oooi plan -f -
  oooi plan -f must-gather/ -o json
  oooi plan -f cluster.yaml --set network=auto`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			in, err := from.read(c, args)
			if err != nil {
				return err
			}
			return plan(c, in, set, from.output.String())
		},
	}
	from = addInputFlags(c)
	c.Flags().StringArrayVar(&set, "set", nil, "annotation `KEY=VALUE`, without prefix, to set before planning; network=VALUE is set only on HostedClusters without it; can be repeated")
	return c
}

func plan(c *cobra.Command, in input, set []string, output string) error {
	all := in.dump.Clusters()
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return fmt.Errorf("--set %s: want KEY=VALUE", s)
		}
		annotate(all, strings.TrimPrefix(key, settings.Prefix), value)
	}
	p := NewPlanner(in.dump, all, in.permitted)
	plans, code := p.Plans(), 0
	found := findings(in, all, plans)
	for _, f := range found {
		if !f.planned {
			command.Complain(c.ErrOrStderr(), f.String())
		}
	}
	for i, line := range plans {
		code = command.WorseExit(code, codeOf(line))
		if err := line.write(c.OutOrStdout(), output, i == 0); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(found, func(f finding) bool { return f.mistake }) {
		code = command.ExitFault
	}
	if !p.serves() {
		return command.Exit(max(code, command.ExitNoAnswer), noneOptedIn(all))
	}
	if code != 0 {
		return command.Exit(code, nil)
	}
	return nil
}

func codeOf(p Planned) int {
	var networks []network.Network
	if p.Plan != nil {
		networks = p.Plan.Networks
	}
	return map[explain.Verdict]int{explain.Waits: command.ExitUnknown, explain.Fails: command.ExitFault}[explain.VerdictOf(networks, p.Problems)]
}

func noneOptedIn(clusters []hcp.Objects) error {
	switch {
	case len(clusters) == 0:
		return errors.New("there is no HostedCluster in the input")
	case slices.ContainsFunc(clusters, func(o hcp.Objects) bool { return hcp.OptedIn(o.HostedCluster) }):
		return errors.New("each HostedCluster in the input that opted in is being deleted")
	}
	return fmt.Errorf("none of the %d HostedClusters in the input has the annotation %snetwork; to plan with it, use --set network=auto", len(clusters), settings.Prefix)
}

// annotate sets the annotation key, without its prefix, on all hosted clusters. It does not replace the annotation network.
func annotate(all []hcp.Objects, key, value string) {
	for _, o := range all {
		hc := o.HostedCluster
		if key == "network" && hcp.OptedIn(hc) {
			continue
		}
		if hc.Annotations == nil {
			hc.Annotations = map[string]string{}
		}
		hc.Annotations[settings.Prefix+key] = value
	}
}
