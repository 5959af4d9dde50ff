// This file reads the networks of the management cluster, which edges never dial for VMs:
// of its Services and pods, and the virtual IPs of its nodes. Package hcp knows the fields.

package controllers

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// gatherManagement reads the management cluster's networks, and which addresses are in use.
// A kind that the cluster lacks has no objects.
func (r *Reconciler) gatherManagement(ctx context.Context, m *hcp.Management) error {
	m.Networks = slices.Clone(m.Networks)
	for _, kind := range hcp.ManagementKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := present(r.Live.List(ctx, list)); err != nil {
			return err
		}
		for _, o := range list.Items {
			m.Networks = append(m.Networks, hcp.ManagementNetworks(kind, o.Object)...)
		}
	}
	if !m.KnowsServices() {
		if known, ok := r.serviceRange(ctx); ok {
			m.Networks = append(m.Networks, known)
		}
	}
	services, slicesOf := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, list := range []client.ObjectList{services, slicesOf} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	m.Observed = append(hcp.ServiceAddresses(services.Items), hcp.PodAddresses(slicesOf.Items)...)
	return nil
}

// serviceRange is what the API server says of the network of Services when it refuses one. None
// is created: the request is a dry run. Without an answer, the Services that exist are known.
func (r *Reconciler) serviceRange(ctx context.Context) (network.ReservedDestination, bool) {
	refused := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Options.ServiceAccount.Namespace, Name: "oooi-service-range"},
		Spec:       corev1.ServiceSpec{ClusterIP: hcp.ImpossibleClusterIP, Ports: []corev1.ServicePort{{Port: 1}}},
	}
	err := r.Client.Create(ctx, refused, client.DryRunAll)
	if !apierrors.IsInvalid(err) {
		return network.ReservedDestination{}, false
	}
	return hcp.ServiceRange(err.Error())
}

// strippedSlice keeps of an EndpointSlice the addresses of pods, and the API server's own one
// whole. There is one or more for each Service.
func strippedSlice(o any) (any, error) {
	s, ok := o.(*discoveryv1.EndpointSlice)
	if !ok || client.ObjectKeyFromObject(s) == apiServerSlice {
		return o, nil
	}
	out := &discoveryv1.EndpointSlice{AddressType: s.AddressType, ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name, UID: s.UID, ResourceVersion: s.ResourceVersion}}
	for _, e := range s.Endpoints {
		if hcp.OfPod(e) {
			out.Endpoints = append(out.Endpoints, discoveryv1.Endpoint{Addresses: e.Addresses, TargetRef: &corev1.ObjectReference{Kind: e.TargetRef.Kind}})
		}
	}
	return out, nil
}
