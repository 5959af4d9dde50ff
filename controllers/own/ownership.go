// This file decides which objects belong to oooi for one hosted cluster.

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

// ErrForeign is the error for an object that has a name of oooi but is not oooi's. The operator never writes such an object.
var ErrForeign = errors.New("an object of this name exists that oooi did not create for this hosted cluster")

// IsService reports whether a Service of oooi may have this name.
func IsService(name string) bool {
	return name == wire.PodDNSService || name == wire.AccessObject || strings.HasPrefix(name, wire.AccessServicePrefix)
}

// Is reports whether o exists and has the labels of oooi.
func Is(o client.Object) bool {
	return o != nil && Labels().AsSelectorPreValidated().Matches(labels.Set(o.GetLabels()))
}

// IsOf reports whether o exists and is oooi's for the hosted cluster with this HostedControlPlane. o must have a name
// of oooi, and its labels or the hash of what was applied. The owner shows the cluster, but proves nothing alone: it
// also owns objects of HyperShift. Backup tools restore objects without owners. Then o must have both labels and hash,
// except for the stored status, which has no hash.
func IsOf(o client.Object, controlPlane string) bool {
	if o == nil || !strings.HasPrefix(o.GetName(), wire.Owner) {
		return false
	}
	owners := ControlPlanesOf(o)
	_, applied := o.GetAnnotations()[DesiredAnnotation]
	if len(owners) == 0 {
		return Is(o) && (applied || o.GetName() == wire.StatusConfigMap)
	}
	return (applied || Is(o)) && slices.Contains(owners, controlPlane)
}

// MadeFor reports whether this HostedControlPlane owns o, as it owns each object that oooi made. A backup tool restores
// objects without owners, and the HostedControlPlane with another UID.
func MadeFor(o, controlPlane metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == controlPlane.GetUID() })
}

// ControlPlanesOf returns the names of the HostedControlPlanes that own o.
func ControlPlanesOf(o metav1.Object) []string {
	var out []string
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == HostedControlPlaneKind.Kind && ref.APIVersion == HostedControlPlaneKind.GroupVersion().String() {
			out = append(out, ref.Name)
		}
	}
	return out
}
