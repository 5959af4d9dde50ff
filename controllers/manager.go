// This file makes the manager of the operator, for the program and for tests.

package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cldmnky/oooi/controllers/environment"
	"github.com/cldmnky/oooi/controllers/policies"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
)

// NewManager returns a manager that runs r once it is started. It sets the scheme and the cache of o, and the clients
// of r. r must have its Options, Metrics and Now.
func NewManager(config *rest.Config, o ctrl.Options, r *Reconciler) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := watch.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(wire.ListAfterFailure)
	kinds := watch.NewKinds(scheme, r.intervals.orProduct().refusedWatch)
	o.Scheme, o.Cache = scheme, watch.CacheOptions(kinds)
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	second, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultTransform: watch.Stripped, NewInformer: kinds.Informer, ByObject: watch.SecondNames(),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of second names: %w", err)
	}
	if err := mgr.Add(startedCache{second}); err != nil {
		return nil, err
	}
	r.Client, r.Live, r.Events, r.SecondNames = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("oooi"), second
	r.Kinds = kinds
	return mgr, r.SetupWithManager(mgr)
}

// A startedCache is a cache that the manager starts before its controllers, on every replica.
type startedCache struct{ cache.Cache }

// GetCache returns the cache. The manager starts a Runnable with this method before its controllers.
func (c startedCache) GetCache() cache.Cache { return c.Cache }

// A failed reconcile is retried after firstRetry, then after twice as long each time, up to lastRetry. A problem that was
// fixed leaves the condition within lastRetry.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 8 * time.Second
)

// SetupWithManager adds the controller to mgr. It works once HyperShift's kinds exist, and watches other kinds as
// they appear.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.Client = watch.PromptClient{Client: r.Client, Kinds: r.Kinds}
	c, err := controller.New("hostedcluster", mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: workers, LogConstructor: clusterLog(mgr.GetLogger()),
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	if err != nil {
		return err
	}
	add := func(events chan event.GenericEvent, clusters handler.EventHandler, keeper manager.Runnable) error {
		if err := c.Watch(source.Channel(events, clusters)); err != nil {
			return err
		}
		return mgr.Add(keeper)
	}
	every, log, all := r.intervals.orProduct(), mgr.GetLogger(), handler.EnqueueRequestsFromMapFunc(r.everyCluster)
	waves := &waveKeeper{Reconciler: r, log: log.WithName("waves"), turns: make(chan event.GenericEvent, 1)}
	if err := add(waves.turns, &handler.EnqueueRequestForObject{}, waves); err != nil {
		return err
	}
	shared := &environment.Keeper{Reader: r.environmentReader(), Every: every.environment, Log: log.WithName("environment"), Changed: make(chan event.GenericEvent, 1)}
	if err := add(shared.Changed, all, shared); err != nil {
		return err
	}
	check := &policies.Check{Live: r.Live, Metrics: r.Metrics.Set, Account: r.Options.ServiceAccount, Log: log.WithName("admission"), Every: every.policies}
	if err := mgr.Add(check); err != nil {
		return err
	}
	kinds := &watch.Keeper{
		Kinds: r.Kinds, Mapper: mgr.GetRESTMapper(), Cache: mgr.GetCache(), Controller: c,
		Metrics: r.Metrics.Set, Log: log.WithName("kinds"), Watches: r.watches(),
		Indexer: mgr.GetFieldIndexer(), Every: every.kinds, EveryMissing: every.missingKinds,
		Clusters: func(ctx context.Context) int { return len(r.everyCluster(ctx, nil)) }, Changed: make(chan event.GenericEvent, 1),
	}
	return add(kinds.Changed, all, kinds)
}

func clusterLog(log logr.Logger) func(*reconcile.Request) logr.Logger {
	return func(req *reconcile.Request) logr.Logger {
		if req == nil {
			return log
		}
		return log.WithValues("cluster", req.String())
	}
}

// send sends an event about o. It returns early if ctx ends.
func send(ctx context.Context, to chan<- event.GenericEvent, o client.Object) {
	select {
	case to <- event.GenericEvent{Object: o}:
	case <-ctx.Done():
	}
}
