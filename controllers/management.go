// This file reads the networks of the management cluster, which edges never dial for VMs:
// of its Services and pods, and the virtual IPs of its nodes. Package hcp knows the fields.

package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// networksWithin is how long the networks of the management cluster are not read again. They
// are equal for all hosted clusters, and change when an administrator changes them.
const networksWithin = 5 * time.Minute

// managementNetworks are the networks that were read last, for all hosted clusters.
type managementNetworks struct {
	mu    sync.Mutex
	read  time.Time
	known []network.ReservedDestination
	// servicesUnknown is true if the log says that the network of Services is unknown.
	servicesUnknown bool
}

// gatherManagement reads the management cluster's networks, and which addresses are in use.
func (r *Reconciler) gatherManagement(ctx context.Context, m *hcp.Management) error {
	networks, err := r.managementNetworks(ctx)
	if err != nil {
		return err
	}
	m.Networks = slices.Concat(m.Networks, networks)
	services, slicesOf := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, list := range []client.ObjectList{services, slicesOf} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
	}
	m.Observed = append(hcp.ServiceAddresses(services.Items), hcp.PodAddresses(slicesOf.Items)...)
	return nil
}

// managementNetworks returns the networks of the management cluster, read at most networksWithin
// ago. A kind that the cluster lacks has no objects. While the network of Services is unknown,
// only the addresses of the Services that exist are not dialed. The log and a metric say so.
func (r *Reconciler) managementNetworks(ctx context.Context) ([]network.ReservedDestination, error) {
	last := &r.networks
	last.mu.Lock()
	defer last.mu.Unlock()
	if !last.read.IsZero() && r.Now().Sub(last.read) < networksWithin {
		return last.known, nil
	}
	m := &hcp.Management{}
	for _, kind := range hcp.ManagementKinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := present(r.Live.List(ctx, list)); err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			m.Networks = append(m.Networks, hcp.ManagementNetworks(kind, o.Object)...)
		}
	}
	var err error
	if !m.KnowsServices() {
		var services network.ReservedDestination
		if services, err = r.serviceRange(ctx); err == nil {
			m.Networks = append(m.Networks, services)
		}
	}
	r.Metrics.servicesKnown(err == nil)
	if err != nil && !last.servicesUnknown {
		log.FromContext(ctx).Error(err, "the range of Services is unknown: edges can dial addresses that no Service has yet")
	}
	last.servicesUnknown = err != nil
	last.known = m.Networks
	if err == nil {
		last.read = r.Now()
	}
	return last.known, nil
}

// serviceRange is what the API server says of the network of Services when it refuses one. None
// is created: the request is a dry run.
func (r *Reconciler) serviceRange(ctx context.Context) (network.ReservedDestination, error) {
	refused := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Options.ServiceAccount.Namespace, Name: "oooi-service-range"},
		Spec:       corev1.ServiceSpec{ClusterIP: hcp.ImpossibleClusterIP, Ports: []corev1.ServicePort{{Port: 1}}},
	}
	err := r.Client.Create(ctx, refused, client.DryRunAll)
	if apierrors.IsInvalid(err) {
		if known, ok := hcp.ServiceRange(err.Error()); ok {
			return known, nil
		}
	}
	return network.ReservedDestination{}, fmt.Errorf("dry run of a Service with cluster IP %s names no range: %v", hcp.ImpossibleClusterIP, err)
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
