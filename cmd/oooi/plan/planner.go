// This file derives the plans of all hosted clusters in the input, for `oooi plan`, `oooi lint` and other commands.

package plan

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/placement"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A Planned is one line of `oooi plan -o json`. Scripts rely on it.
type Planned struct {
	Cluster string          `json:"cluster"`
	Request network.Request `json:"request"`
	Facts   network.Facts   `json:"facts"`
	// Plan is null if a problem blocks it, or if the cluster is being deleted. If a problem is Waiting, Plan contains what
	// is already known.
	Plan     *network.Plan    `json:"plan"`
	Problems problem.Problems `json:"-"`
	// Explained are Problems with their texts, for scripts.
	Explained []explain.JSONProblem `json:"problems"`
	// AppsService is the Service that the user must create to fix a problem about *.apps. Nil: none is needed.
	AppsService *applycorev1.ServiceApplyConfiguration `json:"appsService,omitempty"`
	preview     explain.Preview
	objects     hcp.Objects
}

func (p Planned) write(w io.Writer, output string, first bool) error {
	if output != command.FormatText {
		return command.WriteData(w, output, p)
	}
	var b strings.Builder
	if !first {
		fmt.Fprintln(&b)
	}
	explain.WritePlan(&b, p.preview)
	if err := command.WriteText(w, b.String()); err != nil || p.AppsService == nil {
		return err
	}
	return p.writeAppsService(w)
}

type planner struct{ members []member }

// A member is a hosted cluster of the input. Field last is its plan in force, or zero if the input has none.
type member struct {
	hcp.Objects
	last     network.Plan
	problems problem.Problems
	neighbor hcp.Neighbor
	// assumed is true if the input has no VMs. Each network of field last then counts as in use.
	assumed bool
}

// NewPlanner returns a planner of the hosted clusters in parameter all, whose objects are in dump. permitted are the
// administrator's --permit flags.
func NewPlanner(dump *files.Dump, all []hcp.Objects, permitted network.Permissions) planner {
	var p planner
	for _, o := range all {
		o.Permissions = permitted
		last, problems := dump.PlanInForce(o.HostedCluster)
		assumed := !dump.HasVMs() && len(last.Networks) > 0
		if assumed {
			o = files.AssumingVMs(o, last)
		}
		p.members = append(p.members, member{Objects: o, last: last, problems: problems, neighbor: hcp.NewNeighbor(o, last), assumed: assumed})
	}
	return p
}

func (p planner) serves() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return hcp.OptedIn(m.HostedCluster) && !m.deleting() })
}

// Plans returns the plans of all hosted clusters that opted in.
func (p planner) Plans() []Planned {
	var out []Planned
	for _, m := range p.members {
		if hcp.OptedIn(m.HostedCluster) {
			out = append(out, p.plan(m))
		}
	}
	return out
}

// deleting reports whether m is being deleted. If so, the operator changes nothing.
func (m member) deleting() bool { return !m.HostedCluster.DeletionTimestamp.IsZero() }

// served reports whether oooi serves m, or has served it.
func (m member) served() bool { return hcp.OptedIn(m.HostedCluster) || len(m.last.Networks) > 0 }

func (m member) yieldsNamespaceTo(other member) bool {
	shared := hcp.ControlPlaneNamespace(m.HostedCluster) == hcp.ControlPlaneNamespace(other.HostedCluster)
	return shared && hcp.KeepsControlPlane(other.HostedCluster, len(other.last.Networks) > 0, m.HostedCluster, len(m.last.Networks) > 0)
}

func (m member) name() string { return m.HostedCluster.Namespace + "/" + m.HostedCluster.Name }

// plan derives the plan of m, as the operator does. It depends on the other members that use the same networks.
func (p planner) plan(m member) Planned {
	var others []derive.OtherCluster
	facts := slices.Clone(m.problems)
	for _, other := range p.members {
		if other.HostedCluster != m.HostedCluster {
			facts = append(facts, hcp.NodePortsOfOther(m.Objects, other.HostedCluster)...)
		}
	}
	ours := networks.All(m.Objects, m.last)
	for _, other := range p.members {
		if other.HostedCluster == m.HostedCluster || !other.served() && !hcp.MayUseNetworks(other.HostedCluster, len(other.VMs) > 0) {
			continue
		}
		if other.served() && m.yieldsNamespaceTo(other) {
			facts = append(facts, hcp.ControlPlaneShared(m.HostedCluster, other.name()))
		}
		if n, ok := other.neighbor.For(m.HostedCluster, ours); ok {
			others, facts = append(others, n), append(facts, other.problems...)
		}
	}
	request, observed := hcp.Translate(m.Objects, m.last)
	observed.Problems = slices.Concat(facts, observed.Problems, hcp.NotStarted(m.Objects, time.Now()))
	derived := derive.Decision{Problems: problem.Problems{problem.New(problem.ClusterDeleting, problem.Subject{}, nil)}}
	if !m.deleting() {
		derived = derive.Derive(request, observed, m.last, others).With(hcp.PauseProblems(m.HostedCluster, len(m.last.Networks) > 0, time.Now())...)
	}
	out := Planned{Cluster: request.Cluster.String(), Request: request, Facts: observed, Problems: derived.Problems, objects: m.Objects}
	out.Facts.Problems = nil // They are also in out.Problems.
	if decided, ok := derived.Plan(); ok && !m.deleting() {
		out.Plan = &decided
		out.Problems = slices.Concat(out.Problems, edgesExcluded(decided, m.ReportedNodes()), vmsExcluded(m.Objects))
	}
	out.Explained = explain.JSON(out.Problems)
	out.preview = preview(m.Objects, out)
	out.AppsService = hcp.AppsService(m.Objects, out.preview.Shown())
	if m.assumed {
		out.preview.Remarks = append(out.preview.Remarks, vmsAssumed)
	}
	out.preview.Running = len(m.last.Networks) > 0
	return out
}

// edgesExcluded returns a problem for each network of p whose edges none of nodes may run, whatever its free resources.
// Nodes without labels were not written by a kubelet, and do not count.
func edgesExcluded(p network.Plan, nodes []corev1.Node) (ps problem.Problems) {
	nodes = network.Without(nodes, unlabeled)
	for _, n := range p.Networks {
		if len(n.Edges) == 0 || len(nodes) == 0 {
			continue
		}
		pod := desired.EdgePod(n, n.Edges[0], desired.Release{}, p.Cluster.ControlPlaneNamespace)
		if rooms, others := placement.RoomsFor(pod, nil, nodes, nil); len(rooms) == 0 {
			args := problem.Args{"nodes": {placement.CountsOf(others)}}
			ps = append(ps, n.Problem(problem.NodesExcluded, args, network.KeyEdgeNodeSelector).Warning())
		}
	}
	return ps
}

func unlabeled(n corev1.Node) bool { return len(n.Labels) == 0 }

// vmsExcluded returns problems that name the NodePools of o if none of o's nodes may run their VMs. If some node has
// /dev/kvm, or reports its memory, VMs run only on such nodes.
func vmsExcluded(o hcp.Objects) (ps problem.Problems) {
	c := placement.Capacity{Nodes: network.Without(o.ReportedNodes(), unlabeled)}
	free := c.Free(nil)
	offered := func(name corev1.ResourceName) bool {
		return slices.ContainsFunc(c.Nodes, func(n corev1.Node) bool { q := n.Status.Allocatable[name]; return !q.IsZero() })
	}
	memory, kvm := offered(corev1.ResourceMemory), offered(networks.KVM)
	selectors, tolerated, sizes := networks.NodeSelectors(o), networks.Tolerations(o), networks.NodePoolSizes(o)
	requests, archs := networks.VMRequests(o), networks.Architectures(o)
	for _, name := range slices.Sorted(maps.Keys(selectors)) {
		need := corev1.ResourceList{}
		if memory {
			need = requests[name]
		}
		if kvm {
			need[networks.KVM] = resource.MustParse("1")
		}
		foreign := map[string]int{}
		nodes := network.Without(c.Nodes, func(n corev1.Node) bool {
			of := n.Labels[corev1.LabelArchStable]
			other := of != "" && archs[name] != "" && of != archs[name]
			if other {
				foreign["have architecture "+of]++
			}
			return other
		})
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: selectors[name], Tolerations: tolerated[name]}}
		rooms, others := placement.RoomsFor(pod, need, nodes, free)
		if len(c.Nodes) == 0 || sizes[name] == 0 || slices.ContainsFunc(rooms, func(r placement.Room) bool { return r.Lacks == "" }) {
			continue
		}
		maps.Copy(others, foreign)
		for _, r := range rooms {
			if q := r.Free[r.Lacks]; q.IsZero() {
				others["offer no "+string(r.Lacks)]++
			} else {
				others["offer too little "+string(r.Lacks)]++
			}
		}
		why := placement.CountsOf(others)
		if last := len(ps) - 1; last >= 0 && ps[last].Args["nodes"].String() == why {
			ps[last].Args["nodePools"] = append(ps[last].Args["nodePools"], name)
			continue
		}
		args := problem.Args{"nodePools": {name}, "nodes": {why}, "annotation": {vmPatch}}
		ps = append(ps, problem.New(problem.VMNodesExcluded, problem.Subject{}, args, "spec.platform.kubevirt.nodeSelector"))
	}
	return ps
}

func preview(o hcp.Objects, p Planned) explain.Preview {
	nodes, _ := hcp.EdgeNodeSelector(o)
	v := explain.Preview{
		Cluster: p.Cluster, Plan: p.Plan, Problems: p.Problems, Remarks: remarks(o), EdgeNodes: nodes,
		Created:   !reflect.ValueOf(o.HostedCluster.Status).IsZero(),
		PoolSizes: networks.NodePoolSizes(o), MaxVMs: map[string]int{}, Sources: networks.SettingSources(o, p.Request.Networks...),
	}
	for _, s := range p.Request.Networks {
		v.MaxVMs[s.Attachment.NetworkName()] = s.VMs
	}
	return v
}

// vmsAssumed is the remark about an input with a plan in force and without VMs.
const vmsAssumed = "The input has no VirtualMachineInstance, so each network of the plan in force counts as in use. Its addresses do not change."

// vmPatch is HyperShift's annotation with a JSON patch of a NodePool's VMs.
const vmPatch = "hypershift.openshift.io/kubevirt-vm-jsonpatch"

// remarks returns sentences about o that no problem contains.
func remarks(o hcp.Objects) []string {
	var out []string
	patched := o.HostedCluster.Annotations[vmPatch] != ""
	for _, np := range o.NodePools {
		patched = patched || np.Annotations[vmPatch] != ""
	}
	if patched {
		out = append(out, "The annotation "+vmPatch+" patches the VMs. This plan does not include its effect on their networks.")
	}
	return out
}
