// This file decides which objects `oooi must-gather` collects.

package main

import (
	"context"
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/manifest"
)

// A wanted is objects of one kind: one by its name, or those with labels.
type wanted struct {
	kind schema.GroupVersionKind
	// namespace is empty for all.
	namespace, name string
	labels          map[string]string
}

func deploymentKind() schema.GroupVersionKind { return kindOf("apps", "v1", "Deployment") }

func podKind() schema.GroupVersionKind { return kindOf("", "v1", "Pod") }

func kindOf(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// wantedOf are the objects of one hosted cluster. Of ConfigMaps, the plan and the status.
func wantedOf(namespace, controlPlane string) []wanted {
	out := []wanted{
		{kind: hcp.NodePoolKind(), namespace: namespace},
		{kind: kindOf("", "v1", "Event"), namespace: namespace},
		{kind: kindOf("", "v1", "ConfigMap"), namespace: controlPlane, name: wire.PlanConfigMap},
		{kind: kindOf("", "v1", "ConfigMap"), namespace: controlPlane, name: wire.StatusConfigMap},
	}
	for _, k := range []schema.GroupVersionKind{
		kindOf("hypershift.openshift.io", "v1beta1", "HostedControlPlane"),
		kindOf("", "v1", "Service"),
		kindOf("route.openshift.io", "v1", "Route"),
		kindOf("discovery.k8s.io", "v1", "EndpointSlice"),
		kindOf("kubevirt.io", "v1", "VirtualMachineInstance"),
		kindOf("", "v1", "Event"),
	} {
		out = append(out, wanted{kind: k, namespace: controlPlane})
	}
	for _, k := range []schema.GroupVersionKind{
		hcp.NADKind(),
		deploymentKind(),
		kindOf("apps", "v1", "ReplicaSet"),
		podKind(),
		kindOf("coordination.k8s.io", "v1", "Lease"),
		kindOf("networking.k8s.io", "v1", "NetworkPolicy"),
		kindOf("policy", "v1", "PodDisruptionBudget"),
		kindOf("rbac.authorization.k8s.io", "v1", "RoleBinding"),
	} {
		out = append(out, wanted{kind: k, namespace: controlPlane, labels: wire.OwnedLabels()})
	}
	return out
}

// definitionsOf are the NetworkAttachmentDefinitions that the NodePools of hc name. Without hc none is known.
func definitionsOf(hc *unstructured.Unstructured, pools []unstructured.Unstructured, running hcp.Running) (out []wanted) {
	if hc == nil {
		return nil
	}
	var dump hcp.Dump
	for _, o := range append([]unstructured.Unstructured{*hc}, pools...) {
		if text, err := json.Marshal(&o); err == nil {
			_ = dump.Add(text) // One that cannot be read names none.
		}
	}
	for _, c := range dump.Clusters() {
		for _, a := range hcp.NamedNADs(c) {
			out = append(out, wanted{kind: hcp.NADKind(), namespace: a.Namespace, name: a.Name})
		}
	}
	return out
}

// wantedOfAll are the objects that all hosted clusters share, and the operator.
func wantedOfAll() []wanted {
	operator := map[string]string{wire.LabelName: wire.Owner}
	out := []wanted{
		{kind: deploymentKind(), labels: operator},
		{kind: kindOf("", "v1", "Node")},
		{kind: kindOf("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"), labels: operator},
		{kind: kindOf("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"), labels: operator},
	}
	for _, k := range hcp.ManagementKinds() {
		out = append(out, wanted{kind: k})
	}
	return out
}

// wantedOfOperator are the objects of the operator in its namespace.
func wantedOfOperator(namespace string) []wanted {
	return []wanted{
		{kind: podKind(), namespace: namespace, labels: map[string]string{wire.LabelName: wire.Owner}},
		{kind: kindOf("", "v1", "Event"), namespace: namespace},
	}
}

// pageSize is how many objects the API server returns at once.
const pageSize = 250

// read reads the objects, page by page. None of a kind that is not installed is an error of package meta.
func (w wanted) read(ctx context.Context, api client.Reader) ([]unstructured.Unstructured, error) {
	if w.name != "" {
		o := unstructured.Unstructured{}
		o.SetGroupVersionKind(w.kind)
		err := api.Get(ctx, client.ObjectKey{Namespace: w.namespace, Name: w.name}, &o)
		return []unstructured.Unstructured{o}, err
	}
	var all []unstructured.Unstructured
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(w.kind.GroupVersion().WithKind(w.kind.Kind + "List"))
		err := api.List(ctx, list, client.InNamespace(w.namespace), client.MatchingLabels(w.labels), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			unstructured.RemoveNestedField(o.Object, "status", "images") // Of a node: most of it, and no command reads it.
			all = append(all, o)
		}
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// String tells what is wanted.
func (w wanted) String() string {
	out := w.kind.Kind
	if w.name != "" {
		out += " " + w.name
	}
	if w.namespace != "" {
		out += " in namespace " + w.namespace
	}
	return out
}

// matters reports whether plans are made from it.
func (w wanted) matters() bool {
	group, _, _ := strings.Cut(groupKind(w.kind), " ")
	return hcp.Matters(manifest.Object{Group: group, Kind: w.kind.Kind, Name: w.name})
}
