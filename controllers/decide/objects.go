// This file decides which objects a plan needs in the control plane namespace. It is pure. Package desired makes them.

package decide

import (
	"net/netip"
	"slices"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// objectsOf returns the objects that plan needs now, the dependencies of an edge before the edge. The first rollouts are
// those of plan's networks, in the same order.
func objectsOf(w view, plan network.Plan, rollouts []Rolled) []*unstructured.Unstructured {
	ns := plan.Cluster.ControlPlaneNamespace
	out := []*unstructured.Unstructured{
		own.Object(w.ControlPlane, corev1ac.ServiceAccount(wire.ServiceAccount, ns).
			WithLabels(wire.NamedLabels(wire.NameEdge)).
			WithAutomountServiceAccountToken(false)),
		own.Object(w.ControlPlane, desired.EdgeRole(ns).WithLabels(wire.NamedLabels(wire.NameEdge))),
		own.Object(w.ControlPlane, desired.EdgeBinding(ns).WithLabels(wire.NamedLabels(wire.NameEdge))),
		planObject(w, plan),
	}
	if policy := desired.AccessPolicy(plan); policy != nil {
		out = append(out, own.Object(w.ControlPlane, policy))
	}
	if policy := policyObject(w, plan); policy != nil {
		out = append(out, policy)
	}
	if plan.AnswersPods() {
		out = append(out, own.Object(w.ControlPlane, desired.PodService(ns)))
	}
	for i, n := range plan.Networks {
		if n.Access.Port != 0 {
			out = append(out, own.Object(w.ControlPlane, desired.AccessService(plan.AccessService(i), n, ns)))
		}
		for _, definition := range attachments.NADs(n) {
			out = append(out, networkAttachment(w, n, ns, definition))
		}
		out = append(out, rollouts[i].objects(w, n, ns)...)
	}
	return out
}

// planObject returns the ConfigMap that edges follow.
func planObject(w view, plan network.Plan) *unstructured.Unstructured {
	return own.Object(w.ControlPlane, corev1ac.ConfigMap(wire.PlanConfigMap, plan.Cluster.ControlPlaneNamespace).
		WithLabels(wire.NamedLabels(wire.PlanConfigMap)).
		WithData(map[string]string{wire.PlanKey: string(plan.JSON())}))
}

// policyObject returns the NetworkPolicy of the edges of plan, or nil if the API server's addresses are unknown.
func policyObject(w view, plan network.Plan) *unstructured.Unstructured {
	reach := desired.Reach{APIServers: w.APIServers, Resolvers: w.Management.Resolvers, Services: w.Services, ByHand: w.ByHand}
	policy := desired.NetworkPolicy(reach, plan)
	if policy == nil {
		return nil
	}
	return own.Object(w.ControlPlane, policy)
}

// away returns the function that returns the nodes with a published address of n, as they were when the Deployment name
// got its template. So a node that is added, removed or gets an address does not recreate the pod.
func (w view) away(n network.Network, name string) desired.Away {
	return func(hash string) []string {
		if live, exists := w.Edge(name); exists && live.Seen.Version == hash {
			return live.Avoided
		}
		return publishedNodes(w, n)
	}
}

// publishedNodes returns the nodes with an address at which n's edges publish, sorted.
func publishedNodes(w view, n network.Network) []string {
	var out []string
	for _, node := range w.Nodes {
		if slices.ContainsFunc(node.Status.Addresses, func(x corev1.NodeAddress) bool {
			a, err := netip.ParseAddr(x.Address)
			return err == nil && slices.Contains(n.PublishedAddresses, a.Unmap())
		}) {
			out = append(out, node.Name)
		}
	}
	slices.Sort(out)
	return out
}

// networkAttachment returns a NAD for n's edges. VMs use the original one.
func networkAttachment(w view, n network.Network, ns string, of attachments.NAD) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": of.Config}}}
	u.SetGroupVersionKind(nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition"))
	u.SetNamespace(ns)
	u.SetName(of.Name)
	u.SetLabels(wire.NetworkLabels(wire.NameEdge, n))
	if of.ResourceName != "" {
		u.SetAnnotations(map[string]string{wire.AnnotationResourceName: of.ResourceName})
	}
	return own.Owned(w.ControlPlane, u)
}
