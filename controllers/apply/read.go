// This file reads objects that may have to be removed, from the API server.

package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	operator "k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
)

// liveOwned returns all objects of oooi for w's hosted cluster from the API server, except the operator's rights. It also
// finds objects without labels: the removal must not miss any.
func (r Writer) liveOwned(ctx context.Context, w gather.World) ([]metav1.PartialObjectMetadata, error) {
	var out []metav1.PartialObjectMetadata
	ns, name := hcp.ControlPlaneNamespace(w.HostedCluster), w.HostedCluster.Name
	for _, key := range append(own.Named(ns), own.StatusKey(ns)) {
		o := metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(key.Kind)
		err := r.Live.Get(ctx, key.NamespacedName, &o)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil && own.IsOf(&o, name) {
			o.SetGroupVersionKind(key.Kind)
			out = append(out, o)
		}
	}
	for _, kind := range []schema.GroupVersionKind{own.DefinitionKind, own.BudgetKind, own.DeploymentKind, own.ServiceKind} {
		found, err := r.liveList(ctx, kind, ns, labels.Everything())
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(found, func(o metav1.PartialObjectMetadata) bool { return !own.IsOf(&o, name) })...)
	}
	leases, err := r.liveList(ctx, own.LeaseKind, ns, own.Labels().AsSelectorPreValidated())
	return append(out, leases...), err
}

func (r Writer) liveList(
	ctx context.Context, kind schema.GroupVersionKind, ns string, match labels.Selector,
) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := requests.Present(r.Live.List(ctx, list, client.InNamespace(ns), client.MatchingLabelsSelector{Selector: match})); err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return list.Items, nil
}

// leasesToCheck returns the leases of networks that d does not serve. They are not cached: an edge that a VM took over
// could write very many. They are read when the networks have changed, or after ResyncReady. Call removed after their
// deletion, or the next pass reads them again.
func (r Writer) leasesToCheck(ctx context.Context, w gather.World, d decide.Decision) (found []metav1.PartialObjectMetadata, removed func(), err error) {
	var served []string
	for _, n := range d.Plan.Networks {
		served = append(served, wire.NetworkLabel(n.Name))
	}
	key, now := client.ObjectKeyFromObject(w.HostedCluster), r.Now()
	if !r.Memory.leasesDue(key, served, now) {
		return nil, func() {}, nil
	}
	match := own.Labels().AsSelectorPreValidated()
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
	found, err = r.liveList(ctx, own.LeaseKind, hcp.ControlPlaneNamespace(w.HostedCluster), match)
	return found, func() { r.Memory.leasesRemoved(key, served, now) }, err
}
