// This file reads what the management cluster's nodes offer to VMs and edges.

package networks

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func nodesForEdges(o objects.Objects, mapped map[string]bool) nad.Nodes {
	nodes := nad.Nodes{ForwardByDefault: forwardByDefault(o), OVN: o.Management.RunsOVN(o.Nodes), Mapped: mapped, Bound: o.Devices.Bound()}
	reported := o.ReportedNodes()
	if o.Partial && len(reported) == 0 {
		return nodes
	}
	nodes.Resources = map[string]bool{}
	for _, n := range reported {
		for name, q := range n.Status.Allocatable {
			if !q.IsZero() {
				nodes.Resources[string(name)] = true
			}
		}
	}
	return nodes
}

// forwardByDefault reports whether some Linux node has a container runtime other than CRI-O, which might leave IPv4
// forwarding enabled in new pods. A node that has not reported its runtime counts as CRI-O. That is safe: an edge with
// forwarding enabled does not become ready.
func forwardByDefault(o objects.Objects) bool {
	return slices.ContainsFunc(o.Nodes, func(n corev1.Node) bool {
		info := n.Status.NodeInfo
		return info.ContainerRuntimeVersion != "" && info.OperatingSystem != "windows" && !strings.HasPrefix(info.ContainerRuntimeVersion, "cri-o://")
	})
}

// A need is what nodes must have for a NAD: a resource that the NAD requests, or a Linux bridge or a physical network of
// OVN-Kubernetes that it names. KubeVirt's bridge marker offers a resource for each bridge of a node.
type need struct{ resource, bridge, physical string }

func (x indexed) needOf(a network.Attachment) need {
	found, ok := x.nad(a)
	object := nadObject(found)
	if !ok {
		object, _ = x.NADCreators.Of(named(a))
	}
	if object.ResourceName != "" {
		return need{resource: object.ResourceName}
	}
	bridge, resource := nad.MarkedBridge(object)
	return need{resource, bridge, nad.Localnet(object)}
}

// ofNetwork reports whether pods also start on nodes that lack it, but without the network.
func (needs need) ofNetwork() bool { return needs.bridge != "" || needs.physical != "" }

// offers reports whether n has what needs names. A node whose bridge mappings are unknown has them.
func (x indexed) offers(n corev1.Node, needs need) bool {
	if needs.physical != "" {
		names, known := x.mappedOn[n.Name]
		return !known || names[needs.physical]
	}
	q := n.Status.Allocatable[corev1.ResourceName(needs.resource)]
	return !q.IsZero()
}

// lacking returns the names of the nodes that selector allows and that do not offer needs. all is true if these are all
// nodes that selector allows. If no node at all offers it, another problem says so.
func (x indexed) lacking(nodes []corev1.Node, selector map[string]string, needs need) (names []string, all bool) {
	if !x.nodes.Resources[needs.resource] && !x.nodes.Mapped[needs.physical] {
		return nil, false
	}
	offers := false
	for _, n := range nodes {
		if of := selected(n, selector); of && !x.offers(n, needs) {
			names = append(names, n.Name)
		} else {
			offers = offers || of
		}
	}
	return names, len(names) > 0 && !offers
}

// withoutResource returns problems if nodes for VMs or for edges lack what a NAD needs and other nodes have: a resource
// that the NAD requests, or the bridge or physical network that it names. A selector that matches no node is not the topic. The
// operator does not cache the labels of nodes, so only files show them.
func withoutResource(o indexed, edges map[string]string, requested []network.NetworkRequest) (ps problem.Problems) {
	nodes, selectors, tolerated := o.ReportedNodes(), NodeSelectors(o.Objects), Tolerations(o.Objects)
	some, all := map[network.Attachment]map[string]bool{}, map[network.Attachment]bool{} // nodes without the network
	for _, np := range oldestFirst(o.NodePools) {
		selector := selectors[np.Name]
		for i, a := range objects.Attachments(o.HostedCluster, np) {
			needs := o.needOf(a)
			args := problem.Args{"nodePools": {np.Name}, "resource": {needs.resource}, "nad": {a.String()}}
			_, none := o.lacking(nodes, selector, needs)
			switch none = none && len(selector) > 0; {
			case size(o.HostedCluster, np) == 0:
			case none && !needs.ofNetwork():
				ps = append(ps, problem.New(problem.VMsWithoutResource, problem.Subject{Kind: string(settings.OnNodePool), Name: np.Name}, args, fieldNodeSelector))
			case !needs.ofNetwork() || o.rebound(np, a):
			case none:
				all[a] = true
				ps = append(ps, o.withoutBridge(a, needs, "nodeSelector of NodePool "+np.Name, i == 0 && !attachesDefault(np), fieldNodeSelector))
			default:
				addNodes(some, o, a, forVMs(nodes, tolerated[np.Name]), selector)
			}
		}
	}
	for _, s := range requested {
		a, needs := named(s.Attachment), o.needOf(s.Attachment)
		_, none := o.lacking(nodes, edges, needs)
		switch none = none && len(edges) > 0; {
		case none && !needs.ofNetwork():
			ps = append(ps, s.Problem(problem.EdgesWithoutResource, problem.Args{"key": {network.KeyEdgeNodeSelector}, "resource": {needs.resource}}, network.KeyEdgeNodeSelector))
		case none:
			all[a] = true
			ps = append(ps, o.withoutBridge(a, needs, "annotation "+network.KeyEdgeNodeSelector, s.Primary, network.KeyEdgeNodeSelector))
		case needs.ofNetwork():
			for _, selector := range edgeSelectors(edges, selectors, s) {
				addNodes(some, o, a, forEdges(o, nodes), selector)
			}
		}
		if names := firstOf(slices.Sorted(maps.Keys(some[a]))); len(names) > 0 && !all[a] {
			p := nad.Problem(problem.NADBridgeOnSomeNodes, a, problem.Args{"nodes": names, "device": {needs.bridge}, "annotation": {wire.AnnotationResourceName}, "resource": {needs.resource}})
			if needs.physical != "" {
				p = o.unmapped(a, needs, "nodes "+problem.Values(names).String())
			}
			if !s.Primary {
				p.Severity = problem.SeverityInfo // Nodes boot without it.
			}
			ps = append(ps, p)
		}
	}
	return ps
}

// fieldNodeSelector is the field of a NodePool that selects the nodes of its VMs.
const fieldNodeSelector = "spec.platform.kubevirt.nodeSelector"

// unmapped returns the problem that nodes do not map the physical network of a to a bridge.
func (x indexed) unmapped(a network.Attachment, needs need, where string) problem.Problem {
	return nad.Problem(problem.LocalnetUnmapped, a, problem.Args{"device": {needs.physical}, "where": {where}, "values": x.nodes.OtherMapped(needs.physical)})
}

func (x indexed) withoutBridge(a network.Attachment, needs need, where string, boots bool, key string) problem.Problem {
	p := nad.Problem(problem.NADBridgeNotSelected, a, problem.Args{"device": {needs.bridge}, "where": {where}})
	if needs.physical != "" {
		p = x.unmapped(a, needs, "nodes that "+where+" allows")
	}
	p.Keys = []string{key}
	if !boots {
		p.Severity = problem.SeverityInfo // Nodes boot without it.
	}
	return p
}

// addNodes adds those of nodes that selector allows, and that lack the network of a, to some.
func addNodes(some map[network.Attachment]map[string]bool, o indexed, a network.Attachment, nodes []corev1.Node, selector map[string]string) {
	names, _ := o.lacking(nodes, selector, o.needOf(a))
	for _, name := range names {
		if some[a] == nil {
			some[a] = map[string]bool{}
		}
		some[a][name] = true
	}
}

// edgeSelectors returns the selectors of nodes for edges of s: edges, which the user set, else those in of that its NodePools have.
func edgeSelectors(edges map[string]string, of map[string]map[string]string, s network.NetworkRequest) (out []map[string]string) {
	if edges != nil {
		return []map[string]string{edges}
	}
	for _, name := range s.NodePools {
		out = append(out, of[name])
	}
	return out
}

// KVM is the resource that KubeVirt offers on nodes with /dev/kvm.
const KVM = "devices.kubevirt.io/kvm"

// forVMs returns the nodes on which VMs may run: those with labels and without taints that VMs do not tolerate and, if some
// node has /dev/kvm, with it.
func forVMs(nodes []corev1.Node, tolerated []corev1.Toleration) []corev1.Node {
	kvm := func(n corev1.Node) bool {
		q := n.Status.Allocatable[KVM]
		return !q.IsZero()
	}
	some := slices.ContainsFunc(nodes, kvm)
	return network.Without(nodes, func(n corev1.Node) bool { return len(n.Labels) == 0 || tainted(n, tolerated) || some && !kvm(n) })
}

// forEdges returns the nodes on which edges may run: those with labels, and without taints that edges do not tolerate.
func forEdges(o indexed, nodes []corev1.Node) []corev1.Node {
	tolerated := append(ControlPlaneTolerations(o.HostedCluster), o.HostedCluster.Spec.Tolerations...)
	return network.Without(nodes, func(n corev1.Node) bool { return len(n.Labels) == 0 || tainted(n, tolerated) })
}

// ControlPlaneTolerations returns the tolerations of HyperShift's own control plane pods.
func ControlPlaneTolerations(hc *hyperv1.HostedCluster) []corev1.Toleration {
	of := func(key, value string) corev1.Toleration {
		return corev1.Toleration{Key: "hypershift.openshift.io/" + key, Operator: corev1.TolerationOpEqual, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	return []corev1.Toleration{of("control-plane", "true"), of("cluster", objects.ControlPlaneNamespace(hc))}
}

func tainted(n corev1.Node, tolerated []corev1.Toleration) bool {
	keepsAway := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, tainted := scheduling.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, tolerated, keepsAway, false)
	return tainted
}

// selected reports whether n has each label of selector.
func selected(n corev1.Node, selector map[string]string) bool {
	for key, value := range selector {
		if v, ok := n.Labels[key]; !ok || v != value {
			return false
		}
	}
	return true
}
