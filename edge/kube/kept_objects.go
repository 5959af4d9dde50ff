// This file lets an edge need little memory: lists are read in pages, and only the used parts of each
// object are kept.

package kube

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/network"
)

// pageSize is the number of objects in a page. A VirtualMachineInstance has about 15 KiB, ten times as
// much while it is decoded.
const pageSize = 50

// A keptLease is the part of a Lease object that an edge keeps.
type keptLease struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	lease network.Lease
	// written is when the API server wrote the object, in whole seconds. Zero: unknown.
	written time.Time
	// err is why the object is not a lease.
	err error
}

// DeepCopyObject implements runtime.Object. A keptLease is immutable, so it returns itself.
func (l *keptLease) DeepCopyObject() runtime.Object { return l }

func newKeptLease(o *coordinationv1.Lease) *keptLease {
	l, err := leaseobject.Read(o)
	kept := &keptLease{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, ResourceVersion: o.ResourceVersion}, lease: l, err: err}
	for _, m := range o.ManagedFields {
		if m.Time != nil && m.Time.After(kept.written) {
			kept.written = m.Time.Time
		}
	}
	return kept
}

// keepLease converts a Lease to a keptLease.
func keepLease(o any) (any, error) {
	if l, ok := o.(*coordinationv1.Lease); ok {
		return newKeptLease(l), nil
	}
	return o, nil
}

// A keptList is a list of kept objects.
type keptList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject implements runtime.Object. A keptList is immutable, so it returns itself.
func (l *keptList) DeepCopyObject() runtime.Object { return l }

// A pagedLister reads a list page by page, and keeps the used parts of each object. The API server's
// cache does not serve pages. So the pages come from etcd, all from one consistent version.
type pagedLister struct {
	cache.ListerWatcherWithContext
	keep cache.TransformFunc
	// answered gets the result of each request.
	answered func(error)
}

func newPagedLister(l cache.ListerWatcher, keep cache.TransformFunc, answered func(error)) *pagedLister {
	if answered == nil {
		answered = func(error) {}
	}
	return &pagedLister{cache.ToListerWatcherWithContext(l), keep, answered}
}

// ListWithContext returns the whole list.
func (p *pagedLister) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.Limit, o.Continue, o.ResourceVersion, o.ResourceVersionMatch = pageSize, "", "", ""
	out := &keptList{}
	for {
		page, err := p.ListerWatcherWithContext.ListWithContext(ctx, o)
		p.answered(err)
		if err != nil {
			return nil, err
		}
		if err := meta.EachListItem(page, func(item runtime.Object) error {
			kept, err := p.keep(item)
			if object, ok := kept.(runtime.Object); ok && err == nil {
				out.Items = append(out.Items, object)
			}
			return err
		}); err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return nil, err
		}
		out.ResourceVersion = list.GetResourceVersion()
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return out, nil
		}
	}
}

// WatchWithContext watches the changes since a list, and passes the result of the request to answered.
func (p *pagedLister) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := p.ListerWatcherWithContext.WatchWithContext(ctx, o)
	p.answered(err)
	return w, err
}

// List is ListWithContext without a context.
func (p *pagedLister) List(o metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), o)
}

// Watch is WatchWithContext without a context.
func (p *pagedLister) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), o)
}
