// This file makes load balancers of hosted clusters forward to edges, gives them back to HyperShift, and removes the
// endpoints that remain. It decides nothing. A precondition of each write is the UID that was read: another object may
// have got the name.

package apply

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network/metrics"
)

// lead does in the control plane namespace of w what x says. If one write fails, the others are still sent.
func (r Writer) lead(ctx context.Context, w gather.World, x decide.Leading) error {
	var all []error
	ns := hcp.ControlPlaneNamespace(w.HostedCluster)
	for _, s := range x.Lead {
		all = append(all, r.leadOne(ctx, ns, s, x.Selector))
	}
	for _, s := range x.Back {
		all = append(all, r.giveBack(ctx, ns, s))
	}
	for _, name := range x.Endpoints {
		all = append(all, r.removeEndpoints(ctx, ns, name))
	}
	for _, s := range x.Slices {
		o := nameOf(own.EndpointSliceKind, ns, s.Name)
		o.UID = s.UID
		if err := r.removeLeft(ctx, o); err != nil {
			all = append(all, err)
			continue
		}
		logr.FromContextOrDiscard(ctx).V(1).Info("endpoints of a load balancer removed", "service", s.Service, "name", s.Name)
	}
	return errors.Join(all...)
}

func (r Writer) leadOne(ctx context.Context, ns string, s decide.LedService, selector map[string]string) error {
	labels := map[string]any{}
	for k, v := range selector {
		labels[k] = v
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": ns, "name": s.Name, "uid": string(s.UID)},
		"spec":     map[string]any{"selector": labels},
	}}
	u.SetGroupVersionKind(own.ServiceKind)
	written, err := r.writeService(ctx, ns, s, func(ctx context.Context) error {
		return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
	if !written {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("load balancer forwards to edges", "service", s.Name)
	return nil
}

// giveBack removes the selector of s. It patches only this field, so it needs no other objects of the hosted cluster.
func (r Writer) giveBack(ctx context.Context, ns string, s decide.LedService) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": s.UID}, "spec": map[string]any{"selector": nil}})
	if err != nil {
		return err
	}
	o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: s.Name}}
	written, err := r.writeService(ctx, ns, s, func(ctx context.Context) error {
		return r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(wire.Owner))
	})
	if !written {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("load balancer returned to HyperShift", "service", s.Name)
	return nil
}

// writeService calls write, which writes the Service s. written is false if the write failed, or if s no longer exists.
func (r Writer) writeService(ctx context.Context, ns string, s decide.LedService, write func(context.Context) error) (written bool, err error) {
	err = requests.InTime(ctx, write)
	if replaced(err) {
		return false, nil
	}
	if err != nil {
		return false, &WriteError{"applying", nameOf(own.ServiceKind, ns, s.Name), err}
	}
	r.Metrics.Counter(metrics.ObjectWrites).WithLabelValues(own.ServiceKind.Kind).Inc()
	return true, nil
}

// replaced reports whether a write failed because the object with its UID no longer exists.
func replaced(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// removeEndpoints deletes the Endpoints of this name if all their addresses are edges. When a Service loses its
// selector, Kubernetes does not delete its Endpoints, and mirrors them in EndpointSlices.
func (r Writer) removeEndpoints(ctx context.Context, ns, name string) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(own.EndpointsKind)
	if err := r.Live.Get(ctx, types.NamespacedName{Namespace: ns, Name: name}, u); err != nil {
		return requests.Present(client.IgnoreNotFound(err))
	}
	if !services.IsLoadBalancer(u) || !services.OfEdges(references(u)) {
		return nil
	}
	return r.removeLeft(ctx, own.MetadataOf(own.EndpointsKind, u))
}

// references returns what each address in u, Endpoints, refers to, or nil for an address without a reference.
func references(u *unstructured.Unstructured) []*corev1.ObjectReference {
	subsets, _, _ := unstructured.NestedSlice(u.Object, "subsets")
	var out []*corev1.ObjectReference
	for _, subset := range subsets {
		fields, _ := subset.(map[string]any)
		for _, list := range []string{"addresses", "notReadyAddresses"} {
			all, _, _ := unstructured.NestedSlice(fields, list)
			for _, a := range all {
				address, _ := a.(map[string]any)
				ref, found, _ := unstructured.NestedStringMap(address, "targetRef")
				if !found {
					out = append(out, nil)
					continue
				}
				out = append(out, &corev1.ObjectReference{Kind: ref["kind"], Name: ref["name"]})
			}
		}
	}
	return out
}

func (r Writer) removeLeft(ctx context.Context, o metav1.PartialObjectMetadata) error {
	err := requests.InTime(ctx, func(ctx context.Context) error {
		return r.Client.Delete(ctx, &o, client.Preconditions{UID: &o.UID})
	})
	if err == nil || replaced(err) {
		return nil
	}
	return &WriteError{"removing", o, err}
}

func nameOf(kind schema.GroupVersionKind, ns, name string) metav1.PartialObjectMetadata {
	o := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	o.SetGroupVersionKind(kind)
	return o
}

// giveAllBack gives back all load balancers that reader finds.
func (r Writer) giveAllBack(ctx context.Context, reader client.Reader, w gather.World) error {
	ns, these, found := hcp.ControlPlaneNamespace(w.HostedCluster), &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, list := range []client.ObjectList{these, found} {
		if err := requests.Present(reader.List(ctx, list, client.InNamespace(ns))); err != nil {
			return err
		}
	}
	return r.lead(ctx, w, decide.Leading{}.With(these.Items, services.LoadBalancerSlices(found.Items), nil))
}

// giveBackDeleted gives back the load balancers of a hosted cluster that is being deleted. It retries until the
// operator's rights are deleted together with the control plane, and so with the Services.
func (r Writer) giveBackDeleted(ctx context.Context, w gather.World) Outcome {
	err := r.giveAllBack(ctx, r.Client, w)
	if err == nil || apierrors.IsForbidden(err) {
		return Outcome{}
	}
	logr.FromContextOrDiscard(ctx).Info("load balancers not returned to HyperShift, retrying", "err", err.Error())
	return Outcome{Again: whileTerminating}
}
