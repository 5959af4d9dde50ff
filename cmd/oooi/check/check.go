// Package check implements `oooi check`. It reads facts, derives a list of lines from them, and writes the lines. A line
// (type checked) has a name, a verdict and the problems that were found. This file has the flags, and reads the facts.
package check

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/plan"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// New returns the command `oooi check`.
func New() *cobra.Command {
	var cluster command.ClusterFlags
	var output command.FormatFlag
	var address, node string
	var fromNetwork, failover bool
	var drain drainFlags
	var permit command.PermissionFlags
	c := &cobra.Command{
		Use:   "check [NAME]",
		Short: "Check the installation, and hosted clusters before and after their nodes boot",
		Long:  explained,
		Example: `  oooi check
  oooi check clusters/blue
  oooi check clusters/blue --from-network
  oooi check --drain worker-1
  oooi check clusters/blue --drain worker-1,worker-2 -f oooi-must-gather
  oooi check clusters/blue -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := cluster.Named(args)
			if err != nil {
				return err
			}
			if drain.asked() {
				return drain.run(c, &cluster, name, output.String(), fromNetwork || failover)
			}
			permitted, err := permit.Parse()
			if err != nil {
				return err
			}
			config, err := cluster.Config()
			if err != nil {
				return err
			}
			api, err := command.NewClient(config)
			if err != nil {
				return err
			}
			if name, err = cluster.Find(c.Context(), api, name); err != nil {
				return err
			}
			var t *trier
			if fromNetwork || failover {
				if t, err = newTrier(config, api, name, address, node, failover); err != nil {
					return err
				}
			}
			ask, err := newAdmitter(config)
			if err != nil {
				return err
			}
			return check(c, output.String(), func(ctx context.Context) ([]checks, error) { return checksOf(ctx, api, name, permitted, ask, t) })
		},
	}
	cluster.Add(c)
	output.Add(c)
	c.Flags().BoolVar(&fromNetwork, "from-network", false, "also test each network from a pod that acts as a VM; needs the right to create pods in the control plane namespace")
	c.Flags().BoolVar(&failover, "failover", false, "like --from-network, and also evict the pod of an edge to measure failover; needs the right to create pods/eviction in the control plane namespace")
	drain.add(c)
	c.Flags().StringVar(&address, "address", "", "`address` of the test pod of --from-network (default: a free address of the DHCP pool)")
	c.Flags().StringVar(&node, "node", "", "`name` of the node on which the test pod of --from-network runs (default: any node that can run edges)")
	c.ValidArgsFunction = command.CompleteClusters(&cluster)
	permit = command.AddPermissionFlags(c)
	return c
}

const explained = `Checks what oooi needs in the management cluster, and the HostedCluster of this
name, or each that opted in. It reads with your rights and writes nothing,
unless --from-network is set. A dry run shows whether the API server accepts the
pods of edges. The command also looks for nodes with room for them.

For each hosted cluster, it derives the plan as the operator does, from the
current objects. So it also finds problems before the operator is installed. For
a running cluster, it also checks the edges, the backends and the operator's
condition. Each line has one of these verdicts:
  ok       nothing to do
  warning  it works, but with limits
  failure  nodes do not boot, or will not
  unknown  something cannot be read; the line names it
An endpoint that HyperShift has not published yet is not a failure. Set the
--permit flags as the operator has them.

With --from-network, a pod acts as a VM: it joins each network of the hosted
cluster for some seconds. It requests an address, names and the time, and speaks
TLS with each endpoint. It also tries hosts that must not answer. With
--failover, it then connects repeatedly while the pod of the edge that it uses
is evicted. Connections of VMs through that edge are reset once.

With --drain, the command only predicts what a drain of these nodes, all at the
same time, does to edges and VMs. It reads a cluster, or what oooi must-gather
wrote.`

func check(c *cobra.Command, output string, of func(context.Context) ([]checks, error)) error {
	groups, err := of(c.Context())
	if err != nil {
		return err
	}
	return writeChecks(c.OutOrStdout(), groups, output)
}

// checksOf checks the installation, and the hosted cluster with this name. If name.Name is empty, it checks the hosted
// clusters that opted in: those in name.Namespace or, if that is empty too, in all namespaces. permitted are the
// administrator's --permit flags. If ask is nil, the admission of pods is not checked. If t is nil, no network is tried
// from a pod.
func checksOf(ctx context.Context, api client.Reader, name client.ObjectKey, permitted network.Permissions, ask admitter, t *trier) ([]checks, error) {
	all, partial, err := toCheck(ctx, api, name)
	if err != nil {
		return nil, err
	}
	installed := readInstallation(ctx, api)
	first := installationChecks(installed)
	first.Checks = append(first.Checks, operatorChecks(readOperator(ctx, api, installed), time.Now())...)
	out := []checks{first}
	world := readWorld(ctx, api, all)
	clusters := world.clusters()
	plans := plan.NewPlanner(world.dump, clusters, permitted).Plans()
	pre := preflightReader{api: api, ask: ask}
	pre.images, pre.imagesUnknown = installed.edgeImages()
	if len(all) > 0 {
		pre.capacity = readCapacity(ctx, api)
	}
	for _, hc := range all {
		if name.Name != "" && hc.Key() != name || name.Namespace != "" && hc.Namespace != name.Namespace {
			continue
		}
		facts := clusterFacts{name: hc.Key().String(), unread: world.unread[hc.Key()], partial: partial}
		if i := slices.IndexFunc(plans, func(p plan.Planned) bool { return p.Cluster == facts.name }); i >= 0 {
			facts.planned = &plans[i]
		}
		if i := slices.IndexFunc(clusters, func(o hcp.Objects) bool { return client.ObjectKeyFromObject(o.HostedCluster) == hc.Key() }); i >= 0 && facts.planned != nil {
			facts.planned.Problems = append(facts.planned.Problems, hcp.PausedForBackup(clusters[i], time.Now())...)
		}
		seen, err := status.Read(ctx, api, hc)
		if err != nil {
			facts.unread = append(facts.unread, err.Error())
		}
		facts.status, facts.optedIn, facts.read = status.OutputOf(seen, time.Now()), seen.OptedIn, seen.Read
		facts.preflight = pre.read(ctx, facts, seen)
		out = append(out, clusterChecks(facts))
		if t != nil {
			out = append(out, t.networks(ctx, seen)...)
		}
	}
	if ctx.Err() != nil {
		return nil, command.ErrInterrupted
	}
	return out, nil
}

// toCheck returns all hosted clusters that opted in, and the one with this name, even if it has not opted in. partial is
// true if the user may read only that one. Without HyperShift and without a name, the result is empty.
func toCheck(ctx context.Context, api client.Reader, name client.ObjectKey) (all []source.HostedCluster, partial bool, err error) {
	all, err = source.Selected(ctx, api, client.ObjectKey{})
	switch {
	case meta.IsNoMatchError(err) && name.Name == "":
		return nil, false, nil
	case errors.Is(err, source.ErrNoneOptedIn):
		all = nil
	case apierrors.IsForbidden(err) && name.Name != "":
		all, partial = nil, true
	case err != nil:
		return nil, false, err
	}
	if name.Name == "" || slices.ContainsFunc(all, func(hc source.HostedCluster) bool { return hc.Key() == name }) {
		return all, partial, nil
	}
	named, err := source.Selected(ctx, api, name)
	return append(named, all...), partial, err
}

func readInstallation(ctx context.Context, api client.Reader) (f installation) {
	for _, n := range neededKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(n.kind.GroupVersion().WithKind(n.kind.Kind + "List"))
		n.err = api.List(ctx, list, client.Limit(1))
		f.kinds = append(f.kinds, n)
	}
	for _, w := range source.WantedOfAll() {
		found, err := w.Read(ctx, api)
		switch w.Kind.Kind {
		case "Deployment":
			f.operators, f.operatorsErr = source.Operators(ctx, api, found), err
		case "ValidatingAdmissionPolicy":
			f.policies, f.policiesErr = found, errors.Join(f.policiesErr, err)
		case "ValidatingAdmissionPolicyBinding":
			f.bindings, f.policiesErr = found, errors.Join(f.policiesErr, err)
		}
	}
	return f
}

// writeChecks writes the checks in parameter all, in the format output. If a check has the verdict failure, or the
// verdict unsure without field aside, it returns an ExitError.
func writeChecks(w io.Writer, all []checks, output string) error {
	failed, unknown := false, false
	var text strings.Builder
	for i, c := range all {
		failed = failed || slices.ContainsFunc(c.Checks, func(x checked) bool { return x.Verdict == failure })
		unknown = unknown || slices.ContainsFunc(c.Checks, func(x checked) bool { return x.Verdict == unsure && !x.aside })
		if output == command.FormatText {
			command.Section(&text, c.Title, i)
			if i == 0 {
				command.Line(&text, "%s", c.Title)
			}
			for _, x := range c.Checks {
				command.Line(&text, "  %-8s %s", x.Verdict, x.String())
			}
		}
	}
	err := command.WriteText(w, text.String())
	if output != command.FormatText {
		err = command.WriteData(w, output, checkReport{Version: checkVersion, Groups: all})
	}
	if err != nil {
		return err
	}
	switch {
	case failed:
		return command.Exit(command.ExitFault, nil)
	case unknown:
		return command.Exit(command.ExitUnknown, nil)
	}
	return nil
}
