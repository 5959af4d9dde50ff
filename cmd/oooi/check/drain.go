// This file predicts what a drain of nodes does to a hosted cluster, for `oooi check --drain`.

package check

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

type drainFlags struct{ nodes, files []string }

func (f *drainFlags) add(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.nodes, "drain", nil, "only predict the effects of a drain of this `node`; with several nodes, predict a drain of all of them together")
	c.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "with --drain, read this `directory`, which oooi must-gather wrote, instead of a cluster; can be repeated")
}

func (f *drainFlags) asked() bool { return len(f.nodes)+len(f.files) > 0 }

// run writes the prediction. tries is true if --from-network or --failover is set, which cannot be combined with --drain.
func (f *drainFlags) run(c *cobra.Command, cluster *command.ClusterFlags, name client.ObjectKey, output string, tries bool) error {
	switch {
	case len(f.nodes) == 0:
		return errors.New("--filename needs --drain: all other checks need a cluster")
	case tries:
		return errors.New("--drain only predicts, and cannot be combined with --from-network or --failover")
	}
	ask := status.Request{Name: name}
	api, err := ask.Source(c, cluster, f.files)
	if err != nil {
		return err
	}
	return check(c, output, func(ctx context.Context) ([]checks, error) { return drainsOf(ctx, api, ask.Name, f.nodes) })
}

// drainFacts are the facts about one hosted cluster from which a drain is predicted.
type drainFacts struct {
	namespace string
	networks  []network.Network
	edges     []drainEdge
	budgets   []policyv1.PodDisruptionBudget
	vms       []hcp.PlacedVM
	capacity  placement.Capacity
	// unread says what could not be read. blind is true if the pods or the PodDisruptionBudgets of edges are missing.
	unread []string
	blind  bool
}

type drainEdge struct {
	labels map[string]string
	node   string
	ready  bool
}

// drainsOf predicts a drain of nodes for the hosted cluster with this name. An empty name selects each that opted in.
func drainsOf(ctx context.Context, api client.Reader, name client.ObjectKey, nodes []string) ([]checks, error) {
	all, _, err := toCheck(ctx, api, name)
	if err != nil {
		return nil, err
	}
	c := readCapacity(ctx, api)
	if _, files := api.(source.Archive); files && c.PodsErr == nil {
		c.PodsErr = errors.New("files have only pods of oooi")
	}
	first := checks{Title: "Drain of " + strings.Join(nodes, ", ")}
	for _, n := range nodes {
		first.Checks = append(first.Checks, lineOf("node "+n, nodeToDrain(n, c)))
	}
	out := []checks{first}
	for _, hc := range all {
		if name.Name != "" && hc.Key() != name || name.Namespace != "" && hc.Namespace != name.Namespace {
			continue
		}
		seen, err := status.Read(ctx, api, hc)
		f := readDrain(ctx, api, seen)
		if f.capacity = c; err != nil {
			f.unread = append(f.unread, err.Error())
		}
		out = append(out, checks{Title: "HostedCluster " + hc.Key().String(), Checks: drainChecks(f, nodes)})
	}
	if ctx.Err() != nil {
		return nil, command.ErrInterrupted
	}
	return out, nil
}

func readDrain(ctx context.Context, api client.Reader, seen status.Facts) drainFacts {
	f := drainFacts{namespace: seen.ControlPlane, networks: seen.Plan.Networks}
	if !seen.PlanRead {
		f.unread = append(f.unread, strings.TrimSpace("The plan in force is unknown. "+seen.NoPlan))
	}
	in, ofEdges := client.InNamespace(f.namespace), client.MatchingLabels(wire.NamedLabels(wire.NameEdge))
	var pods corev1.PodList
	var budgets policyv1.PodDisruptionBudgetList
	for _, list := range []client.ObjectList{&pods, &budgets} {
		if err := api.List(ctx, list, in, ofEdges); err != nil {
			f.unread, f.blind = append(f.unread, err.Error()), true
		}
	}
	f.budgets = budgets.Items
	for _, p := range pods.Items {
		if p.Spec.NodeName != "" && p.DeletionTimestamp.IsZero() && !ended(p) {
			f.edges = append(f.edges, drainEdge{p.Labels, p.Spec.NodeName, edgeOfPod(p).ready})
		}
	}
	vms, err := source.Wanted{Kind: source.KindOf(wire.KubeVirtGroup, "v1", "VirtualMachineInstance"), Namespace: f.namespace}.Read(ctx, api)
	if err != nil {
		f.unread = append(f.unread, err.Error())
	}
	f.vms = hcp.PlacedVMs(vms)
	return f
}

func nodeToDrain(name string, c placement.Capacity) problem.Problems {
	switch {
	case c.NodesErr != nil:
		return found(problem.Unread, failed(c.NodesErr))
	case !slices.ContainsFunc(c.Nodes, func(n corev1.Node) bool { return n.Name == name }):
		return about(problem.DrainNodeMissing, "Node", "", name, nil)
	}
	return nil
}

func drainChecks(f drainFacts, nodes []string) (out []checked) {
	for _, u := range f.unread {
		out = append(out, lineOf("what is read", found(problem.Unread, problem.Args{"error": {strings.TrimSuffix(u, ".")}})))
	}
	var places []placeable
	for _, n := range f.networks {
		places = append(places, placeable{network: n, namespace: f.namespace})
	}
	if err := f.capacity.PodsErr; err != nil && f.capacity.NodesErr == nil {
		args := failed(err)
		args["count"] = []string{strconv.Itoa(len(f.capacity.Nodes))}
		out = append(out, lineOf("free resources", found(problem.PodsUnread, args)).asideIf(true))
	}
	if !f.blind {
		for _, n := range f.networks {
			out = append(out, lineOf("edges of "+n.Attachment.String(), f.drainOfEdges(n, places, nodes)))
		}
	}
	return append(out, f.drainOfVMs(nodes)...)
}

func (f drainFacts) drainOfEdges(n network.Network, places []placeable, nodes []string) problem.Problems {
	var here, on, stay []string
	readyHere, readyElsewhere := 0, 0
	of := labels.SelectorFromSet(wire.EdgesOf(n))
	for _, e := range f.edges {
		drained := slices.Contains(nodes, e.node)
		switch {
		case !of.Matches(labels.Set(e.labels)):
			continue
		case drained:
			here, on = append(here, e.labels[wire.LabelEdge]), append(on, e.node)
		default:
			stay = append(stay, e.node)
		}
		if e.ready && drained {
			readyHere++
		} else if e.ready {
			readyElsewhere++
		}
	}
	if len(here) == 0 {
		return nil
	}
	slices.Sort(here)
	spare, lack := f.spareNodes(n, places, append(stay, nodes...))
	args := problem.Args{"edges": {"edge " + strings.Join(here, " and edge ")}, "why": {lack}, "nodes": {cmp.Or(placement.FirstOf(spare), "none")}}
	i := slices.IndexFunc(f.budgets, func(b policyv1.PodDisruptionBudget) bool { return b.Name == wire.BudgetName(n) })
	// While one edge waits for its node, the budget protects the other one for four hours at most, unless both ran on that node.
	together := len(here) > 1 && len(slices.Compact(on)) == 1
	unprotected := readyElsewhere == 0 && (i < 0 || readyHere == 0 || together && len(spare) == 0)
	switch {
	case unprotected && len(spare) > 0:
		return found(problem.DrainStopsNetwork, args).NotBlocking()
	case unprotected:
		return found(problem.DrainStopsNetwork, args)
	case i >= 0 && readyHere > 0 && (f.budgets[i].Status.DisruptionsAllowed == 0 || readyElsewhere == 0 && len(spare) == 0):
		args["budget"] = []string{f.budgets[i].Name}
		return found(problem.DrainWaitsForEdges, args)
	case len(spare) < len(here):
		return found(problem.DrainLeavesOneEdge, args)
	}
	return found(problem.DrainMovesEdges, args)
}

// spareNodes returns the nodes that can run an edge of n, except those in parameter without. lack says, for a message,
// why no other node can.
func (f drainFacts) spareNodes(n network.Network, places []placeable, without []string) (names []string, lack string) {
	c := f.capacity
	c.Nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(x corev1.Node) bool { return slices.Contains(without, x.Name) })
	pod := desired.EdgePod(n, n.Edges[0], desired.Release{}, f.namespace)
	rooms, others := placement.RoomsFor(pod, placement.RequestsOf(pod), c.Nodes, freeOf(c, places))
	for _, r := range rooms {
		if r.Lacks == "" {
			names = append(names, r.Name)
		}
	}
	switch lack = placement.LackOf(rooms); {
	case lack != "":
		return names, lack
	case len(others) > 0:
		return names, placement.CountsOf(others)
	case len(names) > 0:
		return names, "only " + placement.FirstOf(names) + " is left"
	}
	return nil, "there is no other node"
}

func (f drainFacts) drainOfVMs(nodes []string) (out []checked) {
	pools := map[string][]hcp.PlacedVM{}
	for _, vm := range f.vms {
		pools[vm.NodePool] = append(pools[vm.NodePool], vm)
	}
	causes := []struct {
		eviction hcp.Eviction
		cause    problem.Cause
	}{{hcp.EvictionReplaces, problem.DrainReplacesVMs}, {hcp.EvictionMigrates, problem.DrainMigratesVMs}, {hcp.EvictionRefused, problem.DrainWaitsForVMs},
		{hcp.EvictionStops, problem.DrainStopsVMs}, {hcp.EvictionUnset, problem.DrainOfVMsUnknown}}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		var ps problem.Problems
		total, here := pools[pool], 0
		for _, c := range causes {
			var names []string
			for _, vm := range total {
				if vm.Eviction == c.eviction && slices.Contains(nodes, vm.Node) {
					names = append(names, vm.Name)
				}
			}
			if here += len(names); len(names) > 0 {
				slices.Sort(names)
				ps = append(ps, found(c.cause, problem.Args{"count": {strconv.Itoa(len(names))}, "all": {strconv.Itoa(len(total))}, "names": {placement.FirstOf(names)}})...)
			}
		}
		if here == len(total) && !slices.ContainsFunc(total, func(vm hcp.PlacedVM) bool { return vm.Eviction == hcp.EvictionMigrates }) {
			ps = append(ps, found(problem.DrainEmptiesNodePool, nil)...)
		}
		name := "VMs of NodePool " + pool
		if pool == "" {
			name = "VMs without a NodePool"
		}
		out = append(out, lineOf(name, ps))
	}
	return out
}
