// This file registers the kinds, so that clients and caches decode them leniently.

package lenient

import (
	"reflect"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kinds does not change after initialization.
var kinds = map[reflect.Type]kind{
	reflect.TypeFor[HostedClusterFields]():               hostedClusterKind(),
	reflect.TypeFor[hyperv1.NodePool]():                  nodePoolKind(),
	reflect.TypeFor[routev1.Route]():                     routeKind(),
	reflect.TypeFor[nadv1.NetworkAttachmentDefinition](): nadKind(),
	reflect.TypeFor[VirtualMachineInstance]():            vmiKind(),
}

func kindOf[T any]() kind { return kinds[reflect.TypeFor[T]()] }

// AddToScheme registers the kinds of this package in s. The imported types must not be in s. The
// error is always nil.
func AddToScheme(s *runtime.Scheme) error {
	register[HostedCluster](s)
	register[NodePool](s)
	register[Route](s)
	register[NetworkAttachmentDefinition](s)
	register[VirtualMachineInstance](s)
	return nil
}

func register[E any, P interface {
	*E
	runtime.Object
}](s *runtime.Scheme) {
	o := P(new(E))
	gvk := o.GetObjectKind().GroupVersionKind()
	s.AddKnownTypeWithName(gvk, o)
	s.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &List[E, P]{})
	metav1.AddToGroupVersion(s, gvk.GroupVersion())
}
