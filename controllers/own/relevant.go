// This file decides which hosted clusters concern oooi.

package own

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
)

// Relevant reports whether a HostedCluster opted in, or has oooi's condition.
func Relevant(o client.Object) bool {
	var hc *hyperv1.HostedCluster
	switch o := o.(type) {
	case *lenient.HostedCluster:
		hc = &o.Fields.HostedCluster
	case *hyperv1.HostedCluster:
		hc = o
	default:
		return false
	}
	return hcp.OptedIn(hc) || ConditionOf(hc) != nil
}

// StatusKey returns the key of the ConfigMap with the stored Report, which is not in any cache.
func StatusKey(ns string) Key {
	return Key{ConfigMapKind, types.NamespacedName{Namespace: ns, Name: wire.StatusConfigMap}}
}
