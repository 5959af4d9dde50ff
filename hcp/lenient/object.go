// Package lenient decodes objects of HyperShift, KubeVirt, Multus and OpenShift, in all versions. It decodes only the
// fields that oooi reads. A field that cannot be decoded is recorded in its object, and the rest of a list is still
// decoded.
package lenient

import (
	"slices"
	"unique"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds, each registered for the GroupVersionKind of the imported type (AddToScheme).
type (
	HostedCluster               = Object[HostedClusterFields, *HostedClusterFields]
	NodePool                    = Object[hyperv1.NodePool, *hyperv1.NodePool]
	Route                       = Object[routev1.Route, *routev1.Route]
	NetworkAttachmentDefinition = Object[nadv1.NetworkAttachmentDefinition, *nadv1.NetworkAttachmentDefinition]

	HostedClusterList               = List[HostedCluster, *HostedCluster]
	NodePoolList                    = List[NodePool, *NodePool]
	RouteList                       = List[Route, *Route]
	NetworkAttachmentDefinitionList = List[NetworkAttachmentDefinition, *NetworkAttachmentDefinition]
	VirtualMachineInstanceList      = List[VirtualMachineInstance, *VirtualMachineInstance]
)

// Imported is a pointer to an imported type, or to a struct that embeds one.
type Imported[T any] interface {
	*T
	metav1.Object
	metav1.ObjectMetaAccessor
	runtime.Object
}

// An Object holds one object of an imported type.
type Object[T any, P Imported[T]] struct {
	// ObjectMeta has the metadata that is read.
	metav1.ObjectMeta
	// Fields are the fields that are read, metadata included.
	Fields P
	// Unreadable are fields that should be read and cannot be decoded. They are empty in Fields.
	Unreadable []Unreadable
}

// An Unreadable is a field that cannot be decoded.
type Unreadable struct {
	// Field is the path, such as "spec.services[].service".
	Field string
	// Err says why, such as "want int32, not a string".
	Err string
}

// UnmarshalJSON decodes all fields that can be decoded. It never fails.
func (o *Object[T, P]) UnmarshalJSON(b []byte) error {
	k := kindOf[T]()
	o.Fields = new(T)
	o.Unreadable = decode(k.fields, b, o.Fields)
	if meta, ok := o.Fields.GetObjectMeta().(*metav1.ObjectMeta); ok {
		o.ObjectMeta = *meta
	}
	o.Fields.GetObjectKind().SetGroupVersionKind(k.gvk)
	o.Namespace = interned(o.Namespace)
	return nil
}

// interned returns text. Equal texts share their memory.
func interned(text string) string { return unique.Make(text).Value() }

// GetObjectKind implements runtime.Object. The kind is always the same.
func (o *Object[T, P]) GetObjectKind() schema.ObjectKind { return kindOf[T]() }

// DeepCopyObject returns a copy of o.
func (o *Object[T, P]) DeepCopyObject() runtime.Object {
	out := &Object[T, P]{ObjectMeta: *o.ObjectMeta.DeepCopy(), Unreadable: slices.Clone(o.Unreadable)}
	if o.Fields != nil {
		out.Fields, _ = o.Fields.DeepCopyObject().(P)
	}
	return out
}

// A List is a list of objects of one of the kinds.
type List[E any, P interface {
	*E
	runtime.Object
}] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []E `json:"items"`
}

// DeepCopyObject returns a copy of l.
func (l *List[E, P]) DeepCopyObject() runtime.Object {
	out := &List[E, P]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if item, ok := P(&l.Items[i]).DeepCopyObject().(P); ok {
			out.Items = append(out.Items, *item)
		}
	}
	return out
}
