// This file decides which objects are those of oooi for one hosted cluster, and which of two hosted
// clusters has a control plane namespace that is the namespace of both.

package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// errNotOwn is why an object with a name of oooi is never written.
var errNotOwn = errors.New("an object of this name exists that oooi did not create for this hosted cluster")

// isOwnService reports whether a Service of oooi has this name.
func isOwnService(name string) bool {
	return name == wire.PodDNSService || name == wire.AccessObject || strings.HasPrefix(name, wire.AccessServicePrefix)
}

// isOwn reports whether o exists and has the labels of oooi.
func isOwn(o client.Object) bool {
	return o != nil && ownedLabels().AsSelectorPreValidated().Matches(labels.Set(o.GetLabels()))
}

// isOf reports whether o exists and is oooi's for the hosted cluster with this HostedControlPlane. Its
// name, and its labels or the hash of what was applied, say that oooi wrote it: the HostedControlPlane also owns
// what HyperShift writes. Its owner says for which cluster. Without an owner, it needs labels and hash.
func isOf(o client.Object, controlPlane string) bool {
	if o == nil || !strings.HasPrefix(o.GetName(), wire.Owner) {
		return false
	}
	owners := controlPlanesOf(o)
	_, applied := o.GetAnnotations()[desiredAnnotation]
	if len(owners) == 0 {
		return applied && isOwn(o)
	}
	return (applied || isOwn(o)) && slices.Contains(owners, controlPlane)
}

// controlPlanesOf are the names of the HostedControlPlanes that own o.
func controlPlanesOf(o metav1.Object) []string {
	var out []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == hostedControlPlaneKind.Kind && ref.APIVersion == hostedControlPlaneKind.GroupVersion().String() {
			out = append(out, ref.Name)
		}
	}
	return out
}

// gatherRival reads which other hosted cluster keeps w's control plane namespace.
func (r *Reconciler) gatherRival(ctx context.Context, w *world) error {
	hc := w.HostedCluster
	for _, req := range r.clusters(ctx, client.MatchingFields{byControlPlane: hcp.ControlPlaneNamespace(hc)}) {
		if req.String() == clusterName(hc) {
			continue
		}
		other, objects := &lenient.HostedCluster{}, hcp.Objects{}
		if err := r.Client.Get(ctx, req.NamespacedName, other); apierrors.IsNotFound(err) {
			continue // It was deleted meanwhile.
		} else if err != nil {
			return err
		}
		objects.SetHostedCluster(other)
		exist, err := r.serves(ctx, objects.HostedCluster)
		if err != nil {
			return err
		}
		if hcp.KeepsControlPlane(objects.HostedCluster, exist, hc, w.binding != nil || len(w.owned) > 0) {
			w.rival = req.NamespacedName
		}
	}
	return nil
}

// serves reports whether objects of oooi exist for hc.
func (r *Reconciler) serves(ctx context.Context, hc *hyperv1.HostedCluster) (bool, error) {
	ns := hcp.ControlPlaneNamespace(hc)
	for _, key := range append(ownNamed(ns), bindingKey(ns)) {
		o, err := r.readOwn(ctx, key)
		if err != nil || isOf(o, hc.Name) {
			return err == nil, err
		}
	}
	return false, nil
}

// rivalry is the problem that another hosted cluster keeps w's control plane namespace.
func (w world) rivalry() network.Problems {
	if w.rival == (types.NamespacedName{}) {
		return nil
	}
	return network.Problems{hcp.ControlPlaneShared(w.HostedCluster, w.rival.String())}
}
