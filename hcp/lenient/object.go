// Package lenient decodes objects of HyperShift, KubeVirt, Multus and OpenShift of any version. It
// decodes the fields that oooi reads, and no others. A field that cannot be decoded is stored
// as a problem of its object, so one object never prevents the decoding of others in a list.
package lenient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"
)

// The kinds. Each is registered for the GroupVersionKind of the imported type (AddToScheme).
type (
	HostedCluster               = Object[HostedClusterFields, *HostedClusterFields]
	NodePool                    = Object[hyperv1.NodePool, *hyperv1.NodePool]
	Route                       = Object[routev1.Route, *routev1.Route]
	NetworkAttachmentDefinition = Object[nadv1.NetworkAttachmentDefinition, *nadv1.NetworkAttachmentDefinition]
	VirtualMachineInstance      = Object[kubevirtv1.VirtualMachineInstance, *kubevirtv1.VirtualMachineInstance]

	HostedClusterList               = List[HostedClusterFields, *HostedClusterFields]
	NodePoolList                    = List[hyperv1.NodePool, *hyperv1.NodePool]
	RouteList                       = List[routev1.Route, *routev1.Route]
	NetworkAttachmentDefinitionList = List[nadv1.NetworkAttachmentDefinition, *nadv1.NetworkAttachmentDefinition]
	VirtualMachineInstanceList      = List[kubevirtv1.VirtualMachineInstance, *kubevirtv1.VirtualMachineInstance]
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
	metav1.TypeMeta
	// ObjectMeta has the metadata that is read. Annotations of kubectl are left out, and the UID where the
	// kind has a small form.
	metav1.ObjectMeta
	// Fields are the fields that are read, metadata included. Nil: only metadata is read, or the
	// kind has a small form.
	Fields P
	// small is the form of Fields that is kept of kinds with very many objects. Nil: Fields is.
	small smallForm
	// Unreadable are the fields that are read and cannot be decoded. They are empty in Fields.
	Unreadable []Unreadable
}

// An Unreadable is a field that cannot be decoded.
type Unreadable struct {
	// Field is the path, such as "spec.services[].service".
	Field string
	// Err says why, such as "want int32, not a string".
	Err string
}

// UnmarshalJSON decodes what can be decoded. It never fails.
func (o *Object[T, P]) UnmarshalJSON(b []byte) error {
	k := kindOf[T]()
	o.Fields, o.Unreadable = decode[T, P](k.fields, b)
	if meta, ok := o.Fields.GetObjectMeta().(*metav1.ObjectMeta); ok {
		delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
		o.ObjectMeta = *meta
	}
	o.SetGroupVersionKind(k.GroupVersionKind)
	o.Fields.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	o.Namespace = interned(o.Namespace)
	if k.reduce != nil {
		o.small = k.reduce(o.Fields)
		o.Fields, o.UID, o.Annotations = nil, "", bookmark(o.Annotations)
	}
	return nil
}

// bookmark is annotations, or nil if there are none.
func bookmark(annotations map[string]string) map[string]string {
	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// interned is text. Equal texts share their memory.
func interned(text string) string { return unique.Make(text).Value() }

// A smallForm needs less memory than the imported type. It is never changed.
type smallForm interface {
	// expand returns the object of the imported type, without metadata.
	expand() metav1.Object
}

// Read returns the fields that are read, metadata included. Nil: only metadata is read. They must
// not be changed.
func (o *Object[T, P]) Read() P {
	if o.small == nil {
		return o.Fields
	}
	out, ok := o.small.expand().(P)
	if !ok {
		return nil
	}
	if meta, ok := out.GetObjectMeta().(*metav1.ObjectMeta); ok {
		*meta = o.ObjectMeta
	}
	out.GetObjectKind().SetGroupVersionKind(o.GVK())
	return out
}

// GVK returns the kind of o. Clients may remove it from TypeMeta.
func (o *Object[T, P]) GVK() schema.GroupVersionKind { return kindOf[T]().GroupVersionKind }

// decode decodes the fields of b that p keeps.
func decode[T any, P Imported[T]](p *projection, b []byte) (P, []Unreadable) {
	var bad []Unreadable
	text := &bytes.Buffer{}
	p.keep(text, b, "", &bad)
	out := P(new(T))
	if text.String() == "null" || json.Unmarshal(text.Bytes(), out) == nil {
		return out, bad
	}
	rest := p
	p.leaves(func(path string, alone *projection) {
		text.Reset()
		alone.keep(text, b, "", &[]Unreadable{})
		if err := json.Unmarshal(text.Bytes(), P(new(T))); err != nil {
			bad = append(bad, Unreadable{Field: path, Err: explain(err)})
			rest = rest.without(path)
		}
	})
	slices.SortFunc(bad, func(a, b Unreadable) int { return strings.Compare(a.Field, b.Field) })
	text.Reset()
	rest.keep(text, b, "", &[]Unreadable{})
	out = P(new(T))
	if err := json.Unmarshal(text.Bytes(), out); err != nil {
		return P(new(T)), append(bad, Unreadable{Field: "spec", Err: explain(err)})
	}
	return out, bad
}

// maxErr limits Unreadable.Err in bytes: a library's error may contain the value.
const maxErr = 200

// explain returns what is wrong with a value.
func explain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		got, _, _ := strings.Cut(wrong.Value, " ")
		return fmt.Sprintf("want %s, not %s", wrong.Type, got)
	}
	text := err.Error()
	return text[:min(len(text), maxErr)]
}

// DeepCopyObject returns a copy of o.
func (o *Object[T, P]) DeepCopyObject() runtime.Object {
	out := o.deepCopy()
	return &out
}

func (o *Object[T, P]) deepCopy() Object[T, P] {
	out := Object[T, P]{TypeMeta: o.TypeMeta, ObjectMeta: *o.ObjectMeta.DeepCopy(), small: o.small, Unreadable: slices.Clone(o.Unreadable)}
	if o.Fields != nil {
		out.Fields, _ = o.Fields.DeepCopyObject().(P)
	}
	return out
}

// A List is a list of objects of an imported type.
type List[T any, P Imported[T]] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []Object[T, P] `json:"items"`
}

// DeepCopyObject returns a copy of l.
func (l *List[T, P]) DeepCopyObject() runtime.Object {
	out := &List[T, P]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		out.Items = append(out.Items, l.Items[i].deepCopy())
	}
	return out
}
