// This file decides which changes lead to which HostedCluster, and what the
// cache keeps of each kind. It reads from the cache only.

package controllers

import (
	"context"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/hcp"
)

// AddToScheme registers every kind that is read or written.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, hyperv1.AddToScheme, nadv1.AddToScheme, routev1.Install, kubevirtv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// CacheOptions keep of each kind what is read: our own Deployments only, and no
// managed fields. They name no kind that a cluster may lack.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: stripped,
		ByObject:         map[client.Object]cache.ByObject{&appsv1.Deployment{}: {Label: ownedLabels().AsSelectorPreValidated()}},
	}
}

// stripped keeps what is read of nodes and machines, of which there are many and
// of which others write much more.
func stripped(o any) (any, error) {
	switch o := o.(type) {
	case *corev1.Node:
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion, Labels: o.Labels},
			Status:     corev1.NodeStatus{NodeInfo: o.Status.NodeInfo, Addresses: o.Status.Addresses},
		}, nil
	case *kubevirtv1.VirtualMachineInstance:
		return &kubevirtv1.VirtualMachineInstance{
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion},
			Spec:       kubevirtv1.VirtualMachineInstanceSpec{Networks: o.Spec.Networks},
		}, nil
	}
	return cache.TransformStripManagedFields()(o)
}

// A watch is one kind, and which clusters a change of one of its objects is for.
type watch struct {
	object     client.Object
	clusters   func(context.Context, client.Object) []reconcile.Request
	predicates []predicate.Predicate
}

func (r *Reconciler) watches() []watch {
	controlPlane := &metav1.PartialObjectMetadata{}
	controlPlane.SetGroupVersionKind(hostedControlPlaneKind)
	inNamespace := func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool { return hcp.ControlPlaneNamespace(hc) == o.GetNamespace() })
	}
	return []watch{
		{&hyperv1.HostedCluster{}, itself, []predicate.Predicate{concerned}},
		{&hyperv1.NodePool{}, r.ofNodePool, nil},
		{controlPlane, inNamespace, []predicate.Predicate{comesOrGoes}},
		{&nadv1.NetworkAttachmentDefinition{}, r.ofDefinition, nil},
		{&routev1.Route{}, inNamespace, nil},
		{&corev1.Service{}, inNamespace, nil},
		{&kubevirtv1.VirtualMachineInstance{}, inNamespace, []predicate.Predicate{comesOrGoes}},
		{&appsv1.Deployment{}, inNamespace, nil},
	}
}

// concerned passes HostedClusters that opted in, or may have something of ours.
var concerned = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return ofOurs(e.ObjectOld) || ofOurs(e.ObjectNew) },
}

// comesOrGoes passes what is new and what is going: what such objects report in
// between decides nothing.
var comesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

func ofOurs(o client.Object) bool {
	hc, ok := o.(*hyperv1.HostedCluster)
	return ok && (hcp.OptedIn(hc) || meta.FindStatusCondition(hc.Status.Conditions, ConditionType) != nil)
}

func itself(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
}

// clusters are those that concern us and that match.
func (r *Reconciler) clusters(ctx context.Context, match func(*hyperv1.HostedCluster) bool) []reconcile.Request {
	list := &hyperv1.HostedClusterList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		// Not known to the cluster yet: then there is none. Each is looked at when
		// its watch begins.
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if hc := &list.Items[i]; ofOurs(hc) && match(hc) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hc)})
		}
	}
	return out
}

func (r *Reconciler) ofNodePool(ctx context.Context, o client.Object) []reconcile.Request {
	np, ok := o.(*hyperv1.NodePool)
	if !ok {
		return nil
	}
	return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool {
		return hc.Namespace == np.Namespace && hc.Name == np.Spec.ClusterName
	})
}

// ofDefinition: one of ours is its control plane namespace's, every other one
// is for the clusters whose NodePools name it.
func (r *Reconciler) ofDefinition(ctx context.Context, o client.Object) []reconcile.Request {
	return r.clusters(ctx, func(hc *hyperv1.HostedCluster) bool {
		if ownedLabels().AsSelectorPreValidated().Matches(labels.Set(o.GetLabels())) {
			return hcp.ControlPlaneNamespace(hc) == o.GetNamespace()
		}
		pools := &hyperv1.NodePoolList{}
		if err := r.Client.List(ctx, pools, client.InNamespace(hc.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return false
		}
		named := hcp.Objects{HostedCluster: hc}
		for _, np := range pools.Items {
			if np.Spec.ClusterName == hc.Name {
				named.NodePools = append(named.NodePools, np)
			}
		}
		for _, a := range hcp.Definitions(named) {
			if a.Namespace == o.GetNamespace() && a.Name == o.GetName() {
				return true
			}
		}
		return false
	})
}
