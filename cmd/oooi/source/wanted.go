// This file lists the objects that the operator reads and writes, for `oooi check` and `oooi must-gather`.

package source

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/objects"
)

// A Wanted selects objects of one kind: the one with a name, or all with certain labels.
type Wanted struct {
	Kind schema.GroupVersionKind
	// Namespace is empty for all namespaces.
	Namespace, name string
	labels, fields  map[string]string
}

// DeploymentKind returns the kind of Deployments.
func DeploymentKind() schema.GroupVersionKind { return KindOf("apps", "v1", "Deployment") }

// PodKind returns the kind of pods.
func PodKind() schema.GroupVersionKind { return KindOf("", "v1", "Pod") }

// KindOf returns a GroupVersionKind.
func KindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// EachOf calls function read for the objects of a hosted cluster, and for the NADs that its NodePools name. If hc, the
// HostedCluster object, is nil, these NADs are unknown and left out. EachOf returns the first error of function read.
func EachOf(hc *unstructured.Unstructured, running hcp.LiveCluster, read func(Wanted) ([]unstructured.Unstructured, error)) error {
	var pools []unstructured.Unstructured
	for _, w := range wantedOf(running.Namespace, running.ControlPlane) {
		found, err := read(w)
		if err != nil {
			return err
		}
		if w.Kind == hcp.NodePoolKind() {
			pools = found
		}
	}
	for _, w := range DefinitionsOf(hc, pools) {
		if _, err := read(w); err != nil {
			return err
		}
	}
	return nil
}

// wantedOf selects the objects of a hosted cluster in its namespace and in its control plane namespace.
func wantedOf(namespace, controlPlane string) []Wanted {
	owned := wire.OwnedLabels()
	return []Wanted{
		{Kind: hcp.NodePoolKind(), Namespace: namespace},
		{Kind: KindOf("", "v1", "Event"), Namespace: namespace},
		{Kind: KindOf("", "v1", "ConfigMap"), Namespace: controlPlane, name: wire.PlanConfigMap},
		{Kind: KindOf("", "v1", "ConfigMap"), Namespace: controlPlane, name: wire.StatusConfigMap},
		{Kind: KindOf("hypershift.openshift.io", "v1beta1", "HostedControlPlane"), Namespace: controlPlane},
		{Kind: KindOf("", "v1", "Service"), Namespace: controlPlane},
		{Kind: KindOf("route.openshift.io", "v1", "Route"), Namespace: controlPlane},
		{Kind: KindOf("discovery.k8s.io", "v1", "EndpointSlice"), Namespace: controlPlane},
		{Kind: KindOf(wire.KubeVirtGroup, "v1", "VirtualMachineInstance"), Namespace: controlPlane},
		{Kind: KindOf("", "v1", "Event"), Namespace: controlPlane},
		{Kind: hcp.NADKind(), Namespace: controlPlane, labels: owned},
		{Kind: DeploymentKind(), Namespace: controlPlane, labels: owned},
		{Kind: KindOf("apps", "v1", "ReplicaSet"), Namespace: controlPlane, labels: owned},
		{Kind: PodKind(), Namespace: controlPlane, labels: owned},
		{Kind: KindOf("coordination.k8s.io", "v1", "Lease"), Namespace: controlPlane, labels: owned},
		{Kind: KindOf("networking.k8s.io", "v1", "NetworkPolicy"), Namespace: controlPlane, labels: owned},
		{Kind: KindOf("policy", "v1", "PodDisruptionBudget"), Namespace: controlPlane, labels: owned},
		{Kind: KindOf("rbac.authorization.k8s.io", "v1", "RoleBinding"), Namespace: controlPlane, labels: owned},
	}
}

// DefinitionsOf selects the NADs that the NodePools of hc name. Parameter pools contains these NodePools. If hc is nil,
// it returns nil.
func DefinitionsOf(hc *unstructured.Unstructured, pools []unstructured.Unstructured) (out []Wanted) {
	if hc == nil {
		return nil
	}
	var dump files.Dump
	for _, o := range append([]unstructured.Unstructured{*hc}, pools...) {
		_ = dump.AddUnstructured(o) // A NodePool that cannot be read names no NADs.
	}
	for _, c := range dump.Clusters() {
		for _, a := range objects.NamedNADs(c) {
			out = append(out, Wanted{Kind: hcp.NADKind(), Namespace: a.Namespace, name: a.Name})
		}
	}
	return out
}

// WantedOfAll selects the objects that all hosted clusters share, and the operator's Deployment.
func WantedOfAll() []Wanted {
	operator := map[string]string{wire.LabelName: wire.Owner}
	out := []Wanted{
		{Kind: DeploymentKind(), labels: operator},
		{Kind: KindOf("", "v1", "Node")},
		{Kind: KindOf("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"), labels: operator},
		{Kind: KindOf("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"), labels: operator},
	}
	for _, k := range management.Kinds() {
		out = append(out, Wanted{Kind: k})
	}
	return out
}

// WantedOfOperator selects the pods of the operator in its namespace, and all events there.
func WantedOfOperator(namespace string) []Wanted {
	return []Wanted{
		{Kind: PodKind(), Namespace: namespace, labels: map[string]string{wire.LabelName: wire.Owner}},
		{Kind: KindOf("", "v1", "Event"), Namespace: namespace},
	}
}

// PageSize is the limit of objects that one list request asks for.
const PageSize = 250

// Read returns the objects that w selects. It reads them page by page. If their kind is not installed, or if the object with
// a name does not exist, it returns nil. Of Events, it returns at most MostEvents, with short texts.
func (w Wanted) Read(ctx context.Context, api client.Reader) ([]unstructured.Unstructured, error) {
	all, err := w.read(ctx, api)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	return all, err
}

func (w Wanted) read(ctx context.Context, api client.Reader) ([]unstructured.Unstructured, error) {
	if w.name != "" {
		o := unstructured.Unstructured{}
		o.SetGroupVersionKind(w.Kind)
		err := api.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.name}, &o)
		return []unstructured.Unstructured{o}, err
	}
	var all []unstructured.Unstructured
	events, cut, page := w.Kind == KindOf("", "v1", "Event"), 0, int64(PageSize)
	if events {
		page = eventsPage
	}
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(w.Kind.GroupVersion().WithKind(w.Kind.Kind + "List"))
		err := api.List(ctx, list, client.InNamespace(w.Namespace), client.MatchingLabels(w.labels), client.MatchingFields(w.fields), client.Limit(page), client.Continue(next))
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			unstructured.RemoveNestedField(o.Object, "status", "images") // In a Node, this is most of the object, and no command reads it.
			if events {
				cut += shorten(o.Object)
			}
			all = append(all, o)
		}
		switch next = list.GetContinue(); {
		case next == "":
			return all, nil
		case events && (len(all) >= MostEvents || cut > mostCut):
			return all, ErrMoreEvents
		}
	}
}

// String returns words for the objects, such as "Pods in namespace clusters-blue".
func (w Wanted) String() string {
	out := w.Kind.Kind + " " + w.name
	if w.name == "" {
		out = plural(w.Kind.Kind)
	}
	if w.Namespace != "" {
		out += " in namespace " + w.Namespace
	}
	return out
}

func plural(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return stem + "ies"
	}
	return kind + "s"
}

// Matters reports whether plans depend on objects that w selects.
func (w Wanted) Matters() bool {
	group, _, _ := strings.Cut(groupKind(w.Kind), " ")
	return files.Matters(manifest.Object{Group: group, Kind: w.Kind.Kind, Name: w.name})
}
