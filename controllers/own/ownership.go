// This file decides which objects are those of oooi for one hosted cluster, and which of two hosted
// clusters has a control plane namespace that is the namespace of both.

package own

import (
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
)

// ErrForeign is why an object with a name of oooi is never written.
var ErrForeign = errors.New("an object of this name exists that oooi did not create for this hosted cluster")

// IsService reports whether a Service of oooi has this name.
func IsService(name string) bool {
	return name == wire.PodDNSService || name == wire.AccessObject || strings.HasPrefix(name, wire.AccessServicePrefix)
}

// Is reports whether o exists and has the labels of oooi.
func Is(o client.Object) bool {
	return o != nil && Labels().AsSelectorPreValidated().Matches(labels.Set(o.GetLabels()))
}

// IsOf reports whether o exists and is oooi's for the hosted cluster with this HostedControlPlane. Its
// name, and its labels or the hash of what was applied, say that oooi wrote it: the HostedControlPlane also owns
// what HyperShift writes. Its owner says for which cluster. Without an owner, it needs labels and hash.
func IsOf(o client.Object, controlPlane string) bool {
	if o == nil || !strings.HasPrefix(o.GetName(), wire.Owner) {
		return false
	}
	owners := ControlPlanesOf(o)
	_, applied := o.GetAnnotations()[DesiredAnnotation]
	if len(owners) == 0 {
		return applied && Is(o)
	}
	return (applied || Is(o)) && slices.Contains(owners, controlPlane)
}

// ControlPlanesOf are the names of the HostedControlPlanes that own o.
func ControlPlanesOf(o metav1.Object) []string {
	var out []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == HostedControlPlaneKind.Kind && ref.APIVersion == HostedControlPlaneKind.GroupVersion().String() {
			out = append(out, ref.Name)
		}
	}
	return out
}
