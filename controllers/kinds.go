// This file starts the watch of each kind once the cluster has it, so that the
// operator can be installed before HyperShift, KubeVirt or Routes are. It never ends a
// watch: a kind that is removed and installed again uses the same one.

package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// lookForKinds is how often missing kinds are looked up.
const lookForKinds = 5 * time.Second

// SetupWithManager adds the controller to mgr. It works once HyperShift's kinds
// exist, and watches further ones as they appear.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	name := r.Options.ControllerName
	if name == "" {
		name = "hostedcluster"
	}
	c, err := controller.New(name, mgr, controller.Options{
		Reconciler: r, MaxConcurrentReconciles: 4, LogConstructor: clusterLog(mgr.GetLogger())})
	if err != nil {
		return err
	}
	r.plans = make(chan event.GenericEvent, 1)
	if err := c.Watch(source.Channel(r.plans, handler.EnqueueRequestsFromMapFunc(r.neighborsOfHostedCluster))); err != nil {
		return err
	}
	check := &policyCheck{live: r.Live, metrics: r.Metrics, account: r.Options.ServiceAccount, log: mgr.GetLogger().WithName("admission")}
	if err := mgr.Add(check); err != nil {
		return err
	}
	return mgr.Add(&kinds{
		mapper:  mgr.GetRESTMapper(),
		metrics: r.Metrics,
		log:     mgr.GetLogger().WithName("kinds"),
		missing: r.watches(),
		begin: func(w watch) error {
			return c.Watch(source.Kind(mgr.GetCache(), w.object, w.handler(), w.predicates...))
		},
		kind: func(w watch) (schema.GroupVersionKind, error) { return apiutil.GVKForObject(w.object, mgr.GetScheme()) },
	})
}

// kinds are watches that wait for their kind.
type kinds struct {
	mapper  meta.RESTMapper
	metrics *Metrics
	log     logr.Logger
	missing []watch
	begin   func(watch) error
	kind    func(watch) (schema.GroupVersionKind, error)
}

// Start begins each watch once its kind is there, until none is missing.
func (k *kinds) Start(ctx context.Context) error {
	tick := time.NewTicker(lookForKinds)
	defer tick.Stop()
	said := ""
	for {
		names, err := k.look()
		if err != nil {
			return err
		}
		if len(names) == 0 {
			k.log.Info("all kinds are watched")
			return nil
		}
		if s := strings.Join(names, ", "); s != said {
			said = s
			k.log.Info("kinds are missing, waiting for them", "missing", names)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look begins the watches whose kinds are there, and names those that are not.
func (k *kinds) look() ([]string, error) {
	var names []string
	var still []watch
	for _, w := range k.missing {
		gvk, err := k.kind(w)
		if err != nil {
			return nil, err
		}
		there, err := k.there(gvk)
		if err != nil {
			k.log.Error(err, "cannot look up a kind", "kind", gvk.Kind)
		}
		k.metrics.watched(gvk.Kind, there)
		if !there {
			names, still = append(names, gvk.GroupKind().String()), append(still, w)
			continue
		}
		if err := k.begin(w); err != nil {
			return nil, fmt.Errorf("watching %s: %w", gvk.Kind, err)
		}
	}
	k.missing = still
	return names, nil
}

func (k *kinds) there(gvk schema.GroupVersionKind) (bool, error) {
	_, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err == nil, client.IgnoreNotFound(present(err))
}
