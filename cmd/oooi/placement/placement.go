// Package placement finds the nodes that have enough free resources for a pod, by the rules of the Kubernetes scheduler. It
// is pure.
package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	requests "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// A Capacity contains the nodes of the management cluster, and the requests of its pods.
type Capacity struct {
	Nodes []corev1.Node
	Pods  []Pod
	// NodesErr and PodsErr say why nodes or pods cannot be read.
	NodesErr, PodsErr error
}

// A Pod contains the resource requests of a pod that is on a node and has not ended.
type Pod struct {
	Node, Namespace string
	Labels          map[string]string
	Requests        corev1.ResourceList
}

// RequestsOf returns the resource requests of a pod as the scheduler counts them, including one of corev1.ResourcePods.
func RequestsOf(pod *corev1.Pod) corev1.ResourceList {
	out := requests.PodRequests(pod, requests.PodResourcesOptions{})
	out[corev1.ResourcePods] = resource.MustParse("1")
	return out
}

// A Room is a node on which the scheduler may place a pod, and its free resources.
type Room struct {
	Name string
	Free corev1.ResourceList
	// Lacks is the first resource of which the node has too little for the pod. Empty: the pod fits.
	Lacks corev1.ResourceName
}

// Free returns the free resources of each node, by name. It ignores the requests of pods for which function own returns
// true.
func (c Capacity) Free(own func(Pod) bool) map[string]corev1.ResourceList {
	free := map[string]corev1.ResourceList{}
	for _, n := range c.Nodes {
		free[n.Name] = n.Status.Allocatable.DeepCopy()
	}
	for _, p := range c.Pods {
		if left := free[p.Node]; left != nil && !own(p) {
			Subtract(left, p.Requests)
		}
	}
	return free
}

// Subtract subtracts each resource in parameter taken from the same resource in parameter left. It ignores resources that
// left does not contain.
func Subtract(left, taken corev1.ResourceList) {
	for name, q := range taken {
		if has, ok := left[name]; ok {
			has.Sub(q)
			left[name] = has
		}
	}
}

// RoomsFor returns the nodes that may run pod, those with the most free memory first. need are the pod's requests. others is
// the number of excluded nodes by reason.
func RoomsFor(pod *corev1.Pod, need corev1.ResourceList, nodes []corev1.Node, free map[string]corev1.ResourceList) (rooms []Room, others map[string]int) {
	others = map[string]int{}
	for _, n := range nodes {
		if why := excludes(n, pod); why != "" {
			others[why]++
			continue
		}
		r := Room{Name: n.Name, Free: free[n.Name]}
		for _, name := range slices.Sorted(maps.Keys(need)) {
			if left := r.Free[name]; left.Cmp(need[name]) < 0 && r.Lacks == "" {
				r.Lacks = name
			}
		}
		rooms = append(rooms, r)
	}
	slices.SortFunc(rooms, func(a, b Room) int {
		return cmp.Or(b.Free.Memory().Cmp(*a.Free.Memory()), cmp.Compare(a.Name, b.Name))
	})
	return rooms, others
}

// excludes says why n cannot run pod: labels or taints exclude it. Empty: n can run pod if it has enough free resources.
func excludes(n corev1.Node, pod *corev1.Pod) string {
	if selected, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(&n); !selected {
		return "are excluded by their labels"
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

// CountsOf says in words how many nodes are excluded for each reason, the most frequent one first.
func CountsOf(why map[string]int) string {
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

// namedNodes is the largest number of nodes or VMs that a line names.
const namedNodes = 3

// LackOf says which resource a room lacks, for the first rooms that lack one. Empty: no room lacks any.
func LackOf(rooms []Room) string {
	var out []string
	for _, r := range rooms {
		if r.Lacks != "" {
			left := r.Free[r.Lacks]
			out = append(out, fmt.Sprintf("%s has %s %s left", r.Name, left.String(), r.Lacks))
		}
	}
	return FirstOf(out)
}

// FirstOf returns the first elements of parameter all, at most namedNodes, separated by commas. It adds how many more
// there are.
func FirstOf(all []string) string {
	if more := len(all) - namedNodes; more > 0 {
		all = append(slices.Clone(all[:namedNodes]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// Amounts returns list as text, such as "10m cpu and 64Mi memory", without the number of pods.
func Amounts(list corev1.ResourceList) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if q := list[name]; name != corev1.ResourcePods && !q.IsZero() {
			out = append(out, q.String()+" "+string(name))
		}
	}
	return strings.Join(out, " and ")
}
