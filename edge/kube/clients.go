// This file has a client for each group of kinds that an edge reads and writes. client-go's
// clientset would link the types of all groups into each container.

package kube

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// leaseObjects are the Lease objects of one namespace.
type leaseObjects interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, l *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, l *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// clients has one client for each group, which encodes objects as protobuf.
type clients struct {
	core, coordination, discovery rest.Interface
}

func newClients(config *rest.Config) (clients, error) {
	var out clients
	for _, group := range []struct {
		client *rest.Interface
		path   string
		kinds  schema.GroupVersion
		add    func(*runtime.Scheme) error
	}{
		{&out.core, "/api", corev1.SchemeGroupVersion, corev1.AddToScheme},
		{&out.coordination, "/apis", coordinationv1.SchemeGroupVersion, coordinationv1.AddToScheme},
		{&out.discovery, "/apis", discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme},
	} {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // for errors
		if err := group.add(scheme); err != nil {
			return clients{}, err
		}
		c := rest.CopyConfig(config)
		c.AcceptContentTypes, c.ContentType = runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
		c.APIPath, c.GroupVersion = group.path, &group.kinds
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		client, err := rest.RESTClientFor(c)
		if err != nil {
			return clients{}, err
		}
		*group.client = client
	}
	return out, nil
}

// A leaseClient implements leaseObjects on the API server.
type leaseClient struct {
	client    rest.Interface
	namespace string
}

func (l leaseClient) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.lease(ctx, l.of(l.client.Get()).Name(name).VersionedParams(&o, metav1.ParameterCodec))
}

func (l leaseClient) Create(ctx context.Context, x *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.lease(ctx, l.of(l.client.Post()).VersionedParams(&o, metav1.ParameterCodec).Body(x))
}

func (l leaseClient) Update(ctx context.Context, x *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l.lease(ctx, l.of(l.client.Put()).Name(x.Name).VersionedParams(&o, metav1.ParameterCodec).Body(x))
}

func (l leaseClient) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return l.of(l.client.Delete()).Name(name).Body(&o).Do(ctx).Error()
}

func (l leaseClient) of(r *rest.Request) *rest.Request {
	return r.Namespace(l.namespace).Resource("leases")
}

// lease sends r, and returns the Lease in the answer.
func (leaseClient) lease(ctx context.Context, r *rest.Request) (*coordinationv1.Lease, error) {
	out := &coordinationv1.Lease{}
	return out, r.Do(ctx).Into(out)
}
