// This file holds every read about one hosted cluster. It reads no Secret.

package controllers

import (
	"context"
	"fmt"
	"net/netip"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// priorityClass is HyperShift's class for pods that the API of a hosted cluster depends on.
const priorityClass = "hypershift-api-critical"

// networkOperatorKind is OpenShift's network operator, which makes Multus isolate namespaces.
// Only the existence of the kind is read.
var networkOperatorKind = schema.GroupKind{Group: "operator.openshift.io", Kind: "Network"}

// The kinds that are read as metadata only, or written.
var (
	hostedControlPlaneKind = hyperv1.GroupVersion.WithKind("HostedControlPlane")
	serviceAccountKind     = corev1.SchemeGroupVersion.WithKind("ServiceAccount")
	configMapKind          = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	roleBindingKind        = rbacv1.SchemeGroupVersion.WithKind("RoleBinding")
	leaseKind              = coordinationv1.SchemeGroupVersion.WithKind("Lease")
	deploymentKind         = appsv1.SchemeGroupVersion.WithKind("Deployment")
	budgetKind             = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	networkPolicyKind      = networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	definitionKind         = nadv1.SchemeGroupVersion.WithKind("NetworkAttachmentDefinition")
)

// A world is the observed state of one hosted cluster.
type world struct {
	hcp.Objects
	// controlPlane is the HostedControlPlane, the owner of all objects of oooi. Nil: HyperShift
	// has not created it.
	controlPlane *metav1.PartialObjectMetadata
	// binding gives the operator ControlPlaneRole in the control plane namespace. Nil: no
	// object of oooi can exist there.
	binding *metav1.PartialObjectMetadata
	// owned are all other objects of oooi in the control plane namespace.
	owned []metav1.PartialObjectMetadata
	// edges are the Deployments among it.
	edges []Edge
	// reports are those of the networks and edges of last, stale ones included.
	reports []reported
	// last is the plan in force. Zero where there is none.
	last network.Plan
	// unread are problems: plans in force that cannot be read, here or at a neighbor.
	unread network.Problems
	// others are the other hosted clusters on its networks, by name.
	others []network.OtherCluster
	// apiServers are the addresses of the management cluster's API server. Empty: unknown.
	apiServers []netip.AddrPort
	// byHand are the endpoints of Services that select no pods.
	byHand map[servicePort][]netip.AddrPort
}

// hasControlPlane reports whether a control plane exists and is not being deleted.
func (w world) hasControlPlane() bool {
	return w.controlPlane != nil && w.controlPlane.DeletionTimestamp.IsZero()
}

// gather reads one world. A HostedCluster that is gone is a NotFound error.
func (r *Reconciler) gather(ctx context.Context, key types.NamespacedName) (world, error) {
	w := world{Objects: hcp.Objects{HostedCluster: &hyperv1.HostedCluster{}}}
	if err := r.Client.Get(ctx, key, w.HostedCluster); err != nil {
		return w, err
	}
	if !w.HostedCluster.DeletionTimestamp.IsZero() {
		return w, nil
	}
	if err := r.gatherOwned(ctx, &w); err != nil {
		return w, fmt.Errorf("reading objects of oooi: %w", err)
	}
	if !hcp.OptedIn(w.HostedCluster) {
		return w, nil
	}
	if err := r.gatherInput(ctx, &w); err != nil {
		return w, fmt.Errorf("reading the request: %w", err)
	}
	return w, nil
}

// gatherOwned reads the objects of oooi from the API server, not from the cache: an object
// created a moment ago must not be missed when all are removed.
func (r *Reconciler) gatherOwned(ctx context.Context, w *world) error {
	ns := hcp.ControlPlaneNamespace(w.HostedCluster)
	binding, err := r.ownedByName(ctx, roleBindingKind, ns, ControlPlaneRole)
	if err != nil || len(binding) == 0 {
		return err
	}
	w.binding = &binding[0]
	if w.last, w.unread, err = r.planInForce(ctx, ns); err != nil {
		return err
	}
	for _, named := range []struct {
		kind schema.GroupVersionKind
		name string
	}{
		{configMapKind, wire.PlanConfigMap}, {serviceAccountKind, wire.ServiceAccount},
		{roleBindingKind, wire.ServiceAccount}, {networkPolicyKind, edgePolicy},
	} {
		found, err := r.ownedByName(ctx, named.kind, ns, named.name)
		if err != nil {
			return err
		}
		w.owned = append(w.owned, found...)
	}
	for _, kind := range []schema.GroupVersionKind{definitionKind, leaseKind, budgetKind} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := present(r.Live.List(ctx, list, client.InNamespace(ns), client.MatchingLabels(ownedLabels()))); err != nil {
			return err
		}
		for _, o := range list.Items {
			o.SetGroupVersionKind(kind)
			w.owned = append(w.owned, o)
		}
	}
	w.reports = reports(w.owned, w.last)
	list := &appsv1.DeploymentList{}
	if err := r.Live.List(ctx, list, client.InNamespace(ns), client.MatchingLabels(ownedLabels())); err != nil {
		return err
	}
	w.edges = edgesOf(list.Items...)
	for _, d := range list.Items {
		o := metav1.PartialObjectMetadata{ObjectMeta: d.ObjectMeta}
		o.SetGroupVersionKind(deploymentKind)
		w.owned = append(w.owned, o)
	}
	return nil
}

// planInForce is what the edges in ns serve. A plan that exists and cannot be read is a
// fault, and not the same as no plan: VMs would lose their addresses.
func (r *Reconciler) planInForce(ctx context.Context, ns string) (p network.Plan, fault network.Problems, err error) {
	var cm corev1.ConfigMap
	if err := r.Live.Get(ctx, types.NamespacedName{Namespace: ns, Name: wire.PlanConfigMap}, &cm); err != nil {
		return p, nil, client.IgnoreNotFound(err)
	}
	p, err = network.ReadPlan([]byte(cm.Data[wire.PlanKey]))
	if err != nil {
		stored := network.Subject{Kind: "ConfigMap", Namespace: ns, Name: wire.PlanConfigMap}
		fault = network.Problems{network.NewProblem(network.PlanUnreadable, stored, network.Args{"namespace": ns, "error": err.Error()})}
	}
	return p, fault, nil
}

// ownedByName returns the object if it exists and has the labels of oooi, else nothing.
func (r *Reconciler) ownedByName(
	ctx context.Context, kind schema.GroupVersionKind, ns, name string,
) ([]metav1.PartialObjectMetadata, error) {
	o := metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	err := r.Live.Get(ctx, types.NamespacedName{Namespace: ns, Name: name}, &o)
	if apierrors.IsNotFound(err) || err == nil && !ownedLabels().AsSelectorPreValidated().Matches(labels.Set(o.Labels)) {
		return nil, nil
	}
	o.SetGroupVersionKind(kind)
	return []metav1.PartialObjectMetadata{o}, err
}

// gatherInput reads what the network is derived from.
func (r *Reconciler) gatherInput(ctx context.Context, w *world) error {
	hc := w.HostedCluster
	ns := hcp.ControlPlaneNamespace(hc)
	cp := &metav1.PartialObjectMetadata{}
	cp.SetGroupVersionKind(hostedControlPlaneKind)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: ns, Name: hc.Name}, cp)
	if err == nil {
		w.controlPlane = cp
	}
	if err := present(client.IgnoreNotFound(err)); err != nil {
		return err
	}
	if err := r.gatherAttached(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.gatherPublished(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.gatherGuestIngress(ctx, w); err != nil {
		return err
	}
	if err := r.gatherEnvironment(ctx, w); err != nil {
		return err
	}
	if err := r.gatherEndpoints(ctx, w); err != nil {
		return err
	}
	return r.gatherNeighbors(ctx, w)
}

// gatherAttached reads which networks o's VMs are on.
func (r *Reconciler) gatherAttached(ctx context.Context, o *hcp.Objects) error {
	hc := o.HostedCluster
	pools := &hyperv1.NodePoolList{}
	if err := present(r.Client.List(ctx, pools, client.InNamespace(hc.Namespace), client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	for _, np := range pools.Items {
		if np.Spec.ClusterName == hc.Name {
			o.NodePools = append(o.NodePools, np)
		}
	}
	machines := &kubevirtv1.VirtualMachineInstanceList{}
	err := present(r.Client.List(ctx, machines, client.InNamespace(hcp.ControlPlaneNamespace(hc)), client.UnsafeDisableDeepCopy))
	if err != nil {
		return err
	}
	o.VMs = machines.Items
	return r.gatherDefinitions(ctx, o)
}

// gatherDefinitions reads the NADs that o's NodePools use.
func (r *Reconciler) gatherDefinitions(ctx context.Context, o *hcp.Objects) error {
	o.NetworkAttachmentDefinitions = nil
	for _, a := range hcp.NamedNADs(*o) {
		nad := nadv1.NetworkAttachmentDefinition{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &nad)
		if err == nil {
			o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
		}
		if err := present(client.IgnoreNotFound(err)); err != nil {
			return err
		}
	}
	return nil
}

// gatherPublished reads how o's control plane is published.
func (r *Reconciler) gatherPublished(ctx context.Context, o *hcp.Objects) error {
	ns := client.InNamespace(hcp.ControlPlaneNamespace(o.HostedCluster))
	routes, services := &routev1.RouteList{}, &corev1.ServiceList{}
	for _, list := range []client.ObjectList{routes, services} {
		if err := present(r.Client.List(ctx, list, ns, client.UnsafeDisableDeepCopy)); err != nil {
			return err
		}
	}
	o.Routes, o.Services = routes.Items, services.Items
	return nil
}

// gatherGuestIngress reads a field of the HostedCluster that the imported types lack.
func (r *Reconciler) gatherGuestIngress(ctx context.Context, w *world) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(w.HostedCluster), u); err != nil {
		return client.IgnoreNotFound(err)
	}
	text, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	w.GuestIngress = hcp.GuestIngress(text)
	return nil
}

// gatherEnvironment reads what all hosted clusters share.
func (r *Reconciler) gatherEnvironment(ctx context.Context, w *world) error {
	nodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodes, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	w.Nodes, w.Management, w.Proxy, w.Permissions = nodes.Items, r.Options.Management, r.Options.Proxy, r.Options.Permissions
	if err := r.gatherManagement(ctx, &w.Management); err != nil {
		return fmt.Errorf("reading the networks of the management cluster: %w", err)
	}
	_, err := r.Client.RESTMapper().RESTMapping(networkOperatorKind)
	w.MultusIsolates = err == nil
	if err := present(err); err != nil {
		return err
	}
	class := &metav1.PartialObjectMetadata{}
	class.SetGroupVersionKind(schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	err = r.Live.Get(ctx, types.NamespacedName{Name: priorityClass}, class)
	if err == nil {
		w.Management.PriorityClass = priorityClass
	}
	return client.IgnoreNotFound(err)
}

// present is err, or nil if the cluster does not have the kind, so no object of it exists.
func present(err error) error {
	if meta.IsNoMatchError(err) {
		return nil
	}
	return err
}
