// This file decides which objects a plan needs in the control plane namespace. It is pure. Package
// desired has each of them.

package controllers

import (
	"fmt"
	"net/netip"
	"slices"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// objectsOf are the objects that plan needs now, in the order in which they are applied: the
// dependencies of an edge before the edge. rollouts begin with those of plan's networks,
// in the same order.
func objectsOf(w world, plan network.Plan, rollouts []rolled) []*unstructured.Unstructured {
	ns := plan.Cluster.ControlPlaneNamespace
	out := []*unstructured.Unstructured{
		object(w, corev1ac.ServiceAccount(wire.ServiceAccount, ns).
			WithLabels(wire.NamedLabels(wire.NameEdge)).
			WithAutomountServiceAccountToken(false)),
		object(w, desired.EdgeRole(ns).WithLabels(wire.NamedLabels(wire.NameEdge))),
		object(w, desired.EdgeBinding(ns).WithLabels(wire.NamedLabels(wire.NameEdge))),
		planObject(w, plan),
	}
	if policy := desired.AccessPolicy(plan); policy != nil {
		out = append(out, object(w, policy))
	}
	if policy := policyObject(w, plan); policy != nil {
		out = append(out, policy)
	}
	if plan.AnswersPods() {
		out = append(out, object(w, desired.PodService(ns)))
	}
	for i, n := range plan.Networks {
		if n.Access.Port != 0 {
			out = append(out, object(w, desired.AccessService(plan.AccessService(i), n, ns)))
		}
		for _, definition := range attachments.NADs(n) {
			out = append(out, networkAttachment(w, n, ns, definition))
		}
		out = append(out, rollouts[i].objects(w, n, ns)...)
	}
	return out
}

// planObject is the ConfigMap that edges follow.
func planObject(w world, plan network.Plan) *unstructured.Unstructured {
	return object(w, corev1ac.ConfigMap(wire.PlanConfigMap, plan.Cluster.ControlPlaneNamespace).
		WithLabels(wire.NamedLabels(wire.PlanConfigMap)).
		WithData(map[string]string{wire.PlanKey: string(plan.JSON())}))
}

// policyObject is nil where the API server's addresses are unknown.
func policyObject(w world, plan network.Plan) *unstructured.Unstructured {
	policy := networkPolicy(w, plan)
	if policy == nil {
		return nil
	}
	return object(w, policy)
}

// networkPolicy is that of the edges of plan. It is nil where the API server's addresses are unknown.
func networkPolicy(w world, plan network.Plan) *networkingv1ac.NetworkPolicyApplyConfiguration {
	reach := desired.Reach{APIServers: w.apiServers, Resolvers: w.Management.Resolvers, Services: w.Services, ByHand: w.byHand}
	return desired.NetworkPolicy(reach, plan)
}

// edgeDeployment is the Deployment of e.
func edgeDeployment(w world, n network.Network, e network.Edge, o Options, ns string) *appsv1ac.DeploymentApplyConfiguration {
	return desired.EdgeDeployment(n, e, o.Release, ns, w.away(n, wire.EdgeDeploymentName(n, e)))
}

// acdDeployment is the Deployment of the address conflict detection of n.
func acdDeployment(w world, n network.Network, o Options, ns string) *appsv1ac.DeploymentApplyConfiguration {
	return desired.ACDDeployment(n, o.Release, ns, w.away(n, wire.ACDDeploymentName(n)))
}

// away are the nodes that publish an address of n, as they were when the Deployment of this name got its template. A
// node that is added, removed or gets an address recreates no pod.
func (w world) away(n network.Network, name string) desired.Away {
	return func(hash string) []string {
		if live, exists := w.edge(name); exists && live.Seen.Version == hash {
			return live.avoided
		}
		return publishedNodes(w, n)
	}
}

// publishedNodes are the nodes that have an address at which n's edges publish, sorted.
func publishedNodes(w world, n network.Network) []string {
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

// controlPlaneBinding gives the operator ControlPlaneRole in w's control plane namespace.
func controlPlaneBinding(w world, o Options) *unstructured.Unstructured {
	ns := w.controlPlane.Namespace
	return object(w, desired.RoleBinding(clusterRoleKind.Kind, ControlPlaneRole, ns, o.ServiceAccount.Name, o.ServiceAccount.Namespace).
		WithLabels(wire.NamedLabels(nameOperator)))
}

// networkAttachment returns a NAD of n's edges. VMs use the original one.
func networkAttachment(w world, n network.Network, ns string, of attachments.NAD) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"config": of.Config}}}
	u.SetGroupVersionKind(nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition"))
	u.SetNamespace(ns)
	u.SetName(of.Name)
	u.SetLabels(wire.NetworkLabels(wire.NameEdge, n))
	if of.ResourceName != "" {
		u.SetAnnotations(map[string]string{wire.AnnotationResourceName: of.ResourceName})
	}
	return owned(w, u)
}

// object returns a typed apply configuration as unstructured, with the HostedControlPlane as
// its owner.
func object(w world, typed any) *unstructured.Unstructured {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(fmt.Sprintf("controllers: what we build can always be converted: %v", err))
	}
	return owned(w, &unstructured.Unstructured{Object: m})
}

// owned sets the HostedControlPlane as owner of u, so that u is deleted with it. The
// reference neither controls nor blocks: OpenShift denies both without rights on the
// owner's finalizers.
func owned(w world, u *unstructured.Unstructured) *unstructured.Unstructured {
	ref, err := runtime.DefaultUnstructuredConverter.ToUnstructured(metav1ac.OwnerReference().
		WithAPIVersion(hyperv1.GroupVersion.String()).WithKind("HostedControlPlane").
		WithName(w.controlPlane.Name).WithUID(w.controlPlane.UID))
	if err == nil {
		err = unstructured.SetNestedSlice(u.Object, []any{ref}, "metadata", "ownerReferences")
	}
	if err != nil {
		panic(fmt.Sprintf("controllers: what we build can always be converted: %v", err))
	}
	return u
}
