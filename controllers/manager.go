// This file makes the manager of the operator. The program and the tests run the same one.

package controllers

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// NewManager returns a manager that runs r once it is started. It sets o's scheme and cache, and
// what r reads and writes with. r must have its Options, Metrics and Now.
func NewManager(config *rest.Config, o ctrl.Options, r *Reconciler) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		return nil, err
	}
	kinds := NewKinds(scheme)
	kinds.refusedWatch = r.intervals.orProduct().refusedWatch
	o.Scheme, o.Cache = scheme, CacheOptions(kinds)
	mgr, err := ctrl.NewManager(config, o)
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	second, err := cache.New(mgr.GetConfig(), cache.Options{
		Scheme: scheme, Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
		DefaultTransform: stripped, NewInformer: kinds.informer, ByObject: secondNames(),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of second names: %w", err)
	}
	if err := mgr.Add(startedCache{second}); err != nil {
		return nil, err
	}
	r.Client, r.Live, r.Events, r.SecondNames = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("oooi"), second
	if err := mgr.AddReadyzCheck("kinds", kinds.Ready); err != nil {
		return nil, err
	}
	r.Kinds = kinds
	return mgr, r.SetupWithManager(mgr)
}

// A startedCache is a cache that the manager starts before its controllers, on every replica.
type startedCache struct{ cache.Cache }

// GetCache tells the manager that it is a cache.
func (c startedCache) GetCache() cache.Cache { return c.Cache }
