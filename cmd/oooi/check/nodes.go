// This file decides whether nodes have room for the edges of a network, by the rules of the scheduler. It is pure.

package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	requests "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// capacity has the nodes of the management cluster, and the requests of its pods.
type capacity struct {
	nodes []corev1.Node
	pods  []podRequests
	// nodesErr and podsErr say why nodes or pods cannot be read.
	nodesErr, podsErr error
}

// podRequests are the requests of a pod that has a node and has not ended.
type podRequests struct {
	node, namespace string
	labels          map[string]string
	requests        corev1.ResourceList
}

// requestsOf returns the requests of a pod as the scheduler counts them.
func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	out := requests.PodRequests(pod, requests.PodResourcesOptions{})
	out[corev1.ResourcePods] = resource.MustParse("1")
	return out
}

// A nodeRoom is a node that may run an edge, and its free resources.
type nodeRoom struct {
	name string
	free corev1.ResourceList
	// lacks is a resource of which the node has too little for the edge. Empty: there is room.
	lacks corev1.ResourceName
}

// A placeable is a network whose edges need nodes.
type placeable struct {
	network network.Network
	// namespace of the control plane.
	namespace string
	// served is true if an edge is ready.
	served bool
}

// nodeChecks checks the networks of one hosted cluster one after the other, because the edges of one leave less room
// for the next. Running edges do not count, since the question is where edges can run.
func nodeChecks(networks []placeable, c capacity) (out []checked) {
	free := freeOf(c, networks)
	for _, p := range networks {
		if len(p.network.Edges) > 0 {
			out = append(out, nodeCheck(p, c, free))
		}
	}
	return out
}

// freeOf returns the resources of each node that pods do not request. Edges of networks do not count.
func freeOf(c capacity, networks []placeable) map[string]corev1.ResourceList {
	free := map[string]corev1.ResourceList{}
	for _, n := range c.nodes {
		free[n.Name] = n.Status.Allocatable.DeepCopy()
	}
	for _, p := range c.pods {
		own := slices.ContainsFunc(networks, func(x placeable) bool { return p.namespace == x.namespace && isEdge(p.labels) })
		if left := free[p.node]; left != nil && !own {
			subtract(left, p.requests)
		}
	}
	return free
}

func subtract(left, taken corev1.ResourceList) {
	for name, q := range taken {
		if has, ok := left[name]; ok {
			has.Sub(q)
			left[name] = has
		}
	}
}

// nodeCheck checks the edges of p, and subtracts their requests from free.
func nodeCheck(p placeable, c capacity, free map[string]corev1.ResourceList) checked {
	ps := nodeProblems(p, c, free)
	if p.served {
		ps = ps.NotBlocking() // Running edges continue. An edge that ends would not start again.
	}
	return lineOf("nodes for edges of "+p.network.Attachment.String(), ps).asideIf(p.served)
}

func nodeProblems(p placeable, c capacity, free map[string]corev1.ResourceList) problem.Problems {
	if c.nodesErr != nil {
		return found(problem.NodesUnread, failed(c.nodesErr))
	}
	pod := desired.EdgePod(p.network, p.network.Edges[0], desired.Release{}, p.namespace)
	need := requestsOf(pod)
	rooms, others := roomsFor(pod, need, c.nodes, free)
	fit := slices.DeleteFunc(slices.Clone(rooms), func(r nodeRoom) bool { return r.lacks != "" })
	wanted := len(p.network.Edges)
	for _, r := range fit[:min(len(fit), wanted)] {
		subtract(free[r.name], need)
	}
	lack := lackOf(rooms)
	switch {
	case len(rooms) == 0:
		return found(problem.NodesExcluded, problem.Args{"nodes": {countsOf(others)}})
	case len(fit) == 0:
		return found(problem.NodesFull, problem.Args{"requests": {amounts(need)}, "nodes": {lack}})
	case c.podsErr != nil:
		args := failed(c.podsErr)
		args["count"] = []string{strconv.Itoa(len(fit))}
		return found(problem.PodsUnread, args)
	case len(fit) >= wanted:
		return nil
	}
	ps := found(problem.NodesTooFew, problem.Args{"node": {fit[0].name}, "count": {strconv.Itoa(wanted)}})
	if lack != "" {
		ps = append(ps, found(problem.NodesWithoutRoom, problem.Args{"nodes": {lack}})...)
	}
	return ps
}

// roomsFor returns the nodes that may run a pod. The node with the most free memory is first. others counts the other
// nodes by the reason why they may not run it.
func roomsFor(pod *corev1.Pod, need corev1.ResourceList, nodes []corev1.Node, free map[string]corev1.ResourceList) (rooms []nodeRoom, others map[string]int) {
	others = map[string]int{}
	for _, n := range nodes {
		if why := excludes(n, pod); why != "" {
			others[why]++
			continue
		}
		r := nodeRoom{name: n.Name, free: free[n.Name]}
		for _, name := range slices.Sorted(maps.Keys(need)) {
			if left := r.free[name]; left.Cmp(need[name]) < 0 && r.lacks == "" {
				r.lacks = name
			}
		}
		rooms = append(rooms, r)
	}
	slices.SortFunc(rooms, func(a, b nodeRoom) int {
		return cmp.Or(b.free.Memory().Cmp(*a.free.Memory()), cmp.Compare(a.name, b.name))
	})
	return rooms, others
}

// excludes says why a pod cannot be scheduled on n, whatever resources are free. Empty: it can be.
func excludes(n corev1.Node, pod *corev1.Pod) string {
	if selected, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(&n); !selected {
		return "do not have the labels that edges need"
	}
	taints := slices.Clone(n.Spec.Taints)
	if n.Spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	keepsAway := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	t, tainted := scheduling.FindMatchingUntoleratedTaint(klog.Background(), taints, pod.Spec.Tolerations, keepsAway, false)
	switch {
	case !tainted:
		return ""
	case t.Key == corev1.TaintNodeUnschedulable:
		return "are cordoned"
	case t.Key == corev1.TaintNodeNotReady, t.Key == corev1.TaintNodeUnreachable:
		return "are not ready"
	}
	return "have taint " + t.ToString()
}

// countsOf says how many nodes are excluded for each reason, the most frequent first.
func countsOf(why map[string]int) string {
	reasons := slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(why[b]-why[a], cmp.Compare(a, b)) })
	var out []string
	for _, r := range reasons {
		out = append(out, fmt.Sprintf("%d %s", why[r], r))
	}
	if len(out) == 0 {
		return "there are no nodes"
	}
	return strings.Join(out, ", ")
}

// namedNodes is how many nodes or VMs a line names.
const namedNodes = 3

// lackOf says what nodes in rooms lack.
func lackOf(rooms []nodeRoom) string {
	var out []string
	for _, r := range rooms {
		if r.lacks != "" {
			left := r.free[r.lacks]
			out = append(out, fmt.Sprintf("%s has %s %s left", r.name, left.String(), r.lacks))
		}
	}
	return firstOf(out)
}

// firstOf returns the first of all as text, and how many more there are.
func firstOf(all []string) string {
	if more := len(all) - namedNodes; more > 0 {
		all = append(slices.Clone(all[:namedNodes]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// amounts returns requests as text, without the number of pods.
func amounts(list corev1.ResourceList) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; name != corev1.ResourcePods && !q.IsZero() {
			out = append(out, q.String()+" "+string(name))
		}
	}
	return strings.Join(out, " and ")
}
