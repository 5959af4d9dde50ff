// This file records whether informers of the cache may list and watch. They retry soon, where client-go waits for up to a
// minute.

package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Informer implements cache.Options.NewInformer.
func (k *Kinds) Informer(
	of toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	gvk, err := apiutil.GVKForObject(example, k.scheme)
	if err != nil {
		// The cache looked up the kind before, so this cannot happen.
		return toolscache.NewSharedIndexInformer(of, example, resync, indexers)
	}
	inner := toolscache.ToListerWatcherWithContext(of)
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return retried(ctx, k, gvk, func() (runtime.Object, error) { return inner.ListWithContext(ctx, o) })
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			watch := func() (apiwatch.Interface, error) { return inner.WatchWithContext(ctx, o) }
			send := func() (apiwatch.Interface, error) { return retried(ctx, k, gvk, watch) }
			if o.SendInitialEvents == nil {
				// This watch continues a list, which may be obsolete after an error: the kind was removed, or etcd restored.
				send = watch
			}
			w, err := send()
			if ctx.Err() == nil && !answeredByList(err) {
				k.Observe(gvk, err)
			}
			return w, err
		},
	}, example, resync, indexers)
}

// answeredByList reports whether err is part of the protocol: the informer lists again.
func answeredByList(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsTimeout(err)
}

// retried repeats a request until the API server accepts it, or until the informer handles the error itself.
func retried[T any](ctx context.Context, k *Kinds, gvk schema.GroupVersionKind, send func() (T, error)) (T, error) {
	for {
		out, err := send()
		if err == nil || answeredByList(err) || ctx.Err() != nil {
			return out, err
		}
		k.Observe(gvk, err)
		select {
		case <-ctx.Done():
			return out, err
		case <-time.After(k.refusedWatch):
		}
	}
}
