// This file decides whether nodes have enough free resources for the edges of a network. It is pure.

package check

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A placeable is a network with edges to place.
type placeable struct {
	network network.Network
	// namespace is that of the control plane.
	namespace string
	// served is true if an edge is ready.
	served bool
}

// nodeChecks returns a line for each network with edges. The networks belong to one hosted cluster. The edges of a
// network leave less room for those of the next. The resources of running edges count as free: the question is where
// edges can run.
func nodeChecks(networks []placeable, c placement.Capacity) (out []checked) {
	free := freeOf(c, networks)
	for _, p := range networks {
		if len(p.network.Edges) > 0 {
			out = append(out, nodeCheck(p, c, free))
		}
	}
	return out
}

// freeOf returns the free resources of each node. What the running edges of networks request counts as free.
func freeOf(c placement.Capacity, networks []placeable) map[string]corev1.ResourceList {
	return c.Free(func(p placement.Pod) bool {
		return slices.ContainsFunc(networks, func(x placeable) bool { return p.Namespace == x.namespace && isEdge(p.Labels) })
	})
}

func nodeCheck(p placeable, c placement.Capacity, free map[string]corev1.ResourceList) checked {
	ps := nodeProblems(p, c, free)
	if p.served {
		ps = ps.NotBlocking() // Running edges continue. An edge that ends would not start again.
	}
	return lineOf("nodes for edges of "+p.network.Attachment.String(), ps).asideIf(p.served)
}

func nodeProblems(p placeable, c placement.Capacity, free map[string]corev1.ResourceList) problem.Problems {
	if c.NodesErr != nil {
		return found(problem.Unread, failed(c.NodesErr))
	}
	pod := desired.EdgePod(p.network, p.network.Edges[0], desired.Release{}, p.namespace)
	need := placement.RequestsOf(pod)
	rooms, others := placement.RoomsFor(pod, need, c.Nodes, free)
	fit := slices.DeleteFunc(slices.Clone(rooms), func(r placement.Room) bool { return r.Lacks != "" })
	wanted := len(p.network.Edges)
	for _, r := range fit[:min(len(fit), wanted)] {
		placement.Subtract(free[r.Name], need)
	}
	lack := placement.LackOf(rooms)
	switch {
	case len(rooms) == 0:
		return found(problem.NodesExcluded, problem.Args{"nodes": {placement.CountsOf(others)}})
	case len(fit) == 0:
		return found(problem.NodesFull, problem.Args{"requests": {placement.Amounts(need)}, "nodes": {lack}})
	case c.PodsErr != nil:
		args := failed(c.PodsErr)
		args["count"] = []string{strconv.Itoa(len(fit))}
		return found(problem.PodsUnread, args)
	case len(fit) >= wanted:
		return nil
	}
	ps := found(problem.NodesTooFew, problem.Args{"node": {fit[0].Name}, "count": {strconv.Itoa(wanted)}})
	if lack != "" {
		ps = append(ps, found(problem.NodesWithoutRoom, problem.Args{"nodes": {lack}})...)
	}
	return ps
}
