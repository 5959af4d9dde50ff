// This file reads the objects of oooi in a control plane namespace, and the plan in force.

package controllers

import (
	"context"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	operator "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// gatherOwned reads the objects of oooi for w's hosted cluster.
func (r *Reconciler) gatherOwned(ctx context.Context, w *world) error {
	ns, name := hcp.ControlPlaneNamespace(w.HostedCluster), w.HostedCluster.Name
	r.verifyWrites(ctx, ns)
	// Edges come first: they are in the condition even where another kind is not watched.
	if err := r.gatherKind(ctx, w, deploymentKind); err != nil {
		return err
	}
	binding, err := r.readOwn(ctx, bindingKey(ns))
	if err != nil {
		return err
	}
	if isOf(binding, name) {
		metadata := metadataOf(roleBindingKind, binding)
		w.binding = &metadata
	}
	if w.last, w.lastText, w.unread, err = r.planInForce(ctx, w.HostedCluster); err != nil {
		return err
	}
	for _, key := range ownNamed(ns) {
		o, err := r.readOwn(ctx, key)
		if err != nil {
			return err
		}
		if isOf(o, name) {
			w.owned = append(w.owned, metadataOf(key.kind, o))
		}
	}
	for _, kind := range []schema.GroupVersionKind{definitionKind, budgetKind} {
		if err := r.gatherKind(ctx, w, kind); err != nil {
			return err
		}
	}
	if err := r.gatherServices(ctx, w); err != nil {
		return err
	}
	if err := r.gatherUnlabeled(ctx, w); err != nil || w.binding == nil && len(w.owned) == 0 {
		return err
	}
	// Edges write Leases, which have no owner: they are of the cluster that has the edges.
	leases, err := r.listOwn(ctx, leaseKind, ns)
	for _, o := range leases {
		r.addOwned(w, leaseKind, o)
	}
	w.reports = reports(w.owned, w.last)
	return err
}

// gatherKind reads all objects of oooi of a kind for w's hosted cluster.
func (r *Reconciler) gatherKind(ctx context.Context, w *world, kind schema.GroupVersionKind) error {
	all, err := r.listOwn(ctx, kind, hcp.ControlPlaneNamespace(w.HostedCluster))
	for _, o := range all {
		if isOf(o, w.HostedCluster.Name) {
			r.addOwned(w, kind, o)
		}
	}
	return err
}

// gatherServices reads the Services of oooi for w's hosted cluster, by their names: another client may
// have removed their labels.
func (r *Reconciler) gatherServices(ctx context.Context, w *world) error {
	ns, list := hcp.ControlPlaneNamespace(w.HostedCluster), &corev1.ServiceList{}
	if err := present(r.Client.List(ctx, list, client.InNamespace(ns), client.UnsafeDisableDeepCopy)); err != nil {
		return err
	}
	keys := r.writes.in(serviceKind, ns)
	for i := range list.Items {
		w.led = w.led || hcp.IsLoadBalancer(&list.Items[i]) && hcp.LeadsToEdges(&list.Items[i])
		if key := ownKeyOf(serviceKind, &list.Items[i]); isOwnService(key.Name) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		o, err := r.readOwn(ctx, key)
		if err != nil {
			return err
		}
		if isOf(o, w.HostedCluster.Name) {
			r.addOwned(w, serviceKind, o)
		}
	}
	return nil
}

func (r *Reconciler) addOwned(w *world, kind schema.GroupVersionKind, o client.Object) {
	w.owned = append(w.owned, metadataOf(kind, o))
	if d, ok := o.(*appsv1.Deployment); ok {
		w.edges = append(w.edges, edgeOf(r.observed.settled(*d)))
	}
}

// gatherUnlabeled reads edges of the plan in force that the cache does not have live: another client may
// have removed their labels.
func (r *Reconciler) gatherUnlabeled(ctx context.Context, w *world) error {
	for _, n := range w.last.Networks {
		for _, e := range n.Edges {
			key := ownKey{deploymentKind, types.NamespacedName{Namespace: hcp.ControlPlaneNamespace(w.HostedCluster), Name: wire.EdgeDeploymentName(n, e)}}
			if _, known := w.edge(key.Name); known {
				continue
			}
			if _, err := r.learn(ctx, key); err != nil {
				return err
			}
			o, err := r.readOwn(ctx, key)
			if err != nil {
				return err
			}
			if isOf(o, w.HostedCluster.Name) {
				r.addOwned(w, deploymentKind, o)
			}
		}
	}
	return nil
}

// learn reads an object live that no cache shows, and remembers it. Nil: there is none.
func (r *Reconciler) learn(ctx context.Context, key ownKey) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(key.kind)
	if err := r.Live.Get(ctx, key.NamespacedName, u); err != nil {
		return nil, present(client.IgnoreNotFound(err))
	}
	if isOwn(u) || len(controlPlanesOf(u)) > 0 {
		r.writes.wrote(key, u, r.Now())
	}
	return u, nil
}

// liveOwned are the objects of oooi for w's hosted cluster as the API server has them, but for the
// operator's rights. The removal of all must miss none, labels or not.
func (r *Reconciler) liveOwned(ctx context.Context, w world) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	ns, name := hcp.ControlPlaneNamespace(w.HostedCluster), w.HostedCluster.Name
	for _, key := range append(ownNamed(ns), statusKey(ns)) {
		o := metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(key.kind)
		err := r.Live.Get(ctx, key.NamespacedName, &o)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil && isOf(&o, name) {
			o.SetGroupVersionKind(key.kind)
			out = append(out, o)
		}
	}
	for _, kind := range []schema.GroupVersionKind{definitionKind, budgetKind, deploymentKind, serviceKind} {
		found, err := r.liveList(ctx, kind, ns, labels.Everything())
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(found, func(o metav1.PartialObjectMetadata) bool { return !isOf(&o, name) })...)
	}
	leases, err := r.liveList(ctx, leaseKind, ns, ownedLabels().AsSelectorPreValidated())
	return append(out, leases...), err
}

// liveList are the objects of kind in ns that match, as the API server has them.
func (r *Reconciler) liveList(
	ctx context.Context, kind schema.GroupVersionKind, ns string, match labels.Selector,
) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := present(r.Live.List(ctx, list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: match})); err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, nil
}

// leasesToCheck are the leases of networks that d does not serve. No cache has them: an edge that a VM
// took over could write very many. They are read if the networks changed, else once in resyncReady, and
// again until removed says that they were removed.
func (r *Reconciler) leasesToCheck(ctx context.Context, w world, d decision) (found []metav1.PartialObjectMetadata, removed func(), err error) {
	var served []string
	for _, n := range d.plan.Networks {
		served = append(served, wire.NetworkLabel(n.Name))
	}
	key, now := client.ObjectKeyFromObject(w.HostedCluster), r.Now()
	if !r.memory.of(key).leases.due(served, now) {
		return nil, func() {}, nil
	}
	match := ownedLabels().AsSelectorPreValidated()
	for label, values := range map[string][]string{wire.LabelName: {wire.NameReport}, wire.LabelNetwork: served} {
		if len(values) == 0 {
			continue
		}
		none, err := labels.NewRequirement(label, operator.NotIn, values)
		if err != nil {
			return nil, nil, err
		}
		match = match.Add(*none)
	}
	found, err = r.liveList(ctx, leaseKind, hcp.ControlPlaneNamespace(w.HostedCluster), match)
	return found, func() { r.memory.change(key, func(m *remembered) { m.leases = leaseCheck{served, now} }) }, err
}

// planInForce is what the edges of hc serve, also as the text that is stored. A plan that exists and cannot be read is a
// fault.
func (r *Reconciler) planInForce(ctx context.Context, hc *hyperv1.HostedCluster) (p network.Plan, text string, fault network.Problems, err error) {
	ns := hcp.ControlPlaneNamespace(hc)
	o, err := r.readOwn(ctx, ownKey{configMapKind, types.NamespacedName{Namespace: ns, Name: wire.PlanConfigMap}})
	cm, ok := o.(*corev1.ConfigMap)
	if err != nil || !ok || !isOf(o, hc.Name) {
		return p, "", nil, err
	}
	text = cm.Data[wire.PlanKey]
	p, fault = hcp.ReadPlanInForce(ns, text)
	return p, text, fault, nil
}
