// This file reads the networks of the management cluster that edges never dial for VMs: of its Services and pods, and
// the virtual IPs of its nodes. Package hcp/management knows the fields.

package environment

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
)

// serviceRangeWithin is how long a range of Services from a dry run counts. It changes only with a restart of the API
// server.
const serviceRangeWithin = 5 * time.Minute

// managementNetworks reads the networks of the management cluster. A kind that the cluster lacks has no objects. While
// the network of Services is unknown, only addresses of existing Services are excluded. The caller holds reading.
func (r Reader) managementNetworks(ctx context.Context) []network.ReservedDestination {
	m, known := &management.Cluster{}, &r.sources
	if known.networks == nil {
		known.networks = map[schema.GroupVersionKind][]network.ReservedDestination{}
	}
	for _, kind := range management.NetworkKinds() {
		known.networks[kind] = read(known.state(kind.GroupKind().String()), known.networks[kind], func() ([]network.ReservedDestination, error) { return r.networksOf(ctx, kind) })
		m.Networks = append(m.Networks, known.networks[kind]...)
	}
	services := known.state(serviceRangeSource)
	if m.KnowsServices() {
		services.err = nil
		return m.Networks
	}
	if r.Now().Sub(known.servicesAt) >= serviceRangeWithin {
		known.services = read(services, known.services, func() (network.ReservedDestination, error) { return r.ServiceRange(ctx) })
		if services.err == nil {
			known.servicesAt = r.Now()
		}
	}
	if services.ok {
		m.Networks = append(m.Networks, known.services)
	}
	return m.Networks
}

// networksOf reads the networks in objects of a kind. If the kind disappears after that, it returns an error.
func (r Reader) networksOf(ctx context.Context, kind schema.GroupVersionKind) (out []network.ReservedDestination, err error) {
	ctx, cancel := context.WithTimeout(ctx, environmentReadWithin)
	defer cancel()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = r.Live.List(ctx, list)
	if meta.IsNoMatchError(err) {
		if _, other := requests.Exists(r.Cached.RESTMapper(), kind); other != nil {
			return nil, other
		}
	}
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		if len(r.sources.networks[kind]) == 0 {
			return nil, nil
		}
	}
	for _, o := range list.Items {
		out = append(out, management.Networks(kind, o.Object)...)
	}
	return out, err
}

// ServiceRange returns the network of Services, which the API server names when it refuses a Service. The request is a
// dry run.
func (r Reader) ServiceRange(ctx context.Context) (network.ReservedDestination, error) {
	refused := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "oooi-service-range"},
		Spec:       corev1.ServiceSpec{ClusterIP: management.ImpossibleClusterIP, Ports: []corev1.ServicePort{{Port: 1}}},
	}
	ctx, cancel := context.WithTimeout(ctx, environmentReadWithin)
	defer cancel()
	err := r.Cached.Create(ctx, refused, client.DryRunAll)
	if apierrors.IsInvalid(err) {
		if known, ok := management.ServiceRange(err.Error()); ok {
			return known, nil
		}
	}
	return network.ReservedDestination{}, fmt.Errorf("dry run of a Service with cluster IP %s returned no range: %v", management.ImpossibleClusterIP, err)
}
