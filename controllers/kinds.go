// This file starts the watch of each kind once the cluster has it, so that the
// operator can be installed before HyperShift, KubeVirt or Routes are. It never ends a
// watch: a kind that is removed and installed again uses the same one. kind_states.go holds whether
// each works.

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A reconcile that failed is tried again after firstRetry, then after twice as long each time,
// up to lastRetry: a problem that was fixed is gone from the condition within that time.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 8 * time.Second
)

// SetupWithManager adds the controller to mgr. It works once HyperShift's kinds
// exist, and watches further ones as they appear.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	name := r.Options.ControllerName
	if name == "" {
		name = "hostedcluster"
	}
	c, err := controller.New(name, mgr, controller.Options{
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
	log, all := mgr.GetLogger(), handler.EnqueueRequestsFromMapFunc(r.everyCluster)
	waves := &waveKeeper{Reconciler: r, log: log.WithName("waves"), turns: make(chan event.GenericEvent, 1)}
	if err := add(waves.turns, &handler.EnqueueRequestForObject{}, waves); err != nil {
		return err
	}
	environment := &environmentKeeper{Reconciler: r, log: log.WithName("environment"), changed: make(chan event.GenericEvent, 1)}
	if err := add(environment.changed, all, environment); err != nil {
		return err
	}
	every := r.intervals.orProduct()
	check := &policyCheck{live: r.Live, metrics: r.Metrics, account: r.Options.ServiceAccount, log: log.WithName("admission"), every: every.policies}
	if err := mgr.Add(check); err != nil {
		return err
	}
	r.Client = promptClient{r.Client, r.Kinds}
	kinds := &kindKeeper{
		Kinds: r.Kinds, mapper: mgr.GetRESTMapper(), cache: mgr.GetCache(), controller: c,
		metrics: r.Metrics, log: log.WithName("kinds"), watches: r.watches(),
		indexer: mgr.GetFieldIndexer(), begun: map[informed]bool{}, every: every,
		clusters: func(ctx context.Context) int { return len(r.everyCluster(ctx, nil)) }, changed: make(chan event.GenericEvent, 1),
	}
	return add(kinds.changed, all, kinds)
}

// send sends an event about o, unless ctx ends before it is taken.
func send(ctx context.Context, to chan<- event.GenericEvent, o client.Object) {
	select {
	case to <- event.GenericEvent{Object: o}:
	case <-ctx.Done():
	}
}

// listedWithin is how long reconciles wait at the start until all objects are listed.
const listedWithin = 30 * time.Second

// A kindKeeper begins the watch of each kind, and follows whether it works. It does so on each replica,
// so that the next leader has all objects.
type kindKeeper struct {
	*Kinds
	mapper     meta.RESTMapper
	cache      cache.Cache
	controller controller.Controller
	metrics    *Metrics
	log        logr.Logger
	indexer    client.FieldIndexer
	// watches whose events are not handled yet.
	watches []watch
	// begun are the informers that exist.
	begun map[informed]bool
	// every is how often the kinds are looked at.
	every intervals
	// clusters is how many hosted clusters opted in.
	clusters func(context.Context) int
	// changed receives an event if another set of kinds is watched.
	changed chan event.GenericEvent
}

// An informed is one informer: a cache has one for each kind and Go type.
type informed struct {
	cache  cache.Cache
	gvk    schema.GroupVersionKind
	object reflect.Type
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *kindKeeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (k *kindKeeper) Start(ctx context.Context) error {
	all := append(slices.Clone(k.watches), watch{object: &corev1.Node{}})
	tick := time.NewTicker(k.every.kinds)
	defer tick.Stop()
	said, looked := "", time.Time{}
	for {
		if now := time.Now(); now.Sub(looked) >= k.every.missingKinds {
			if err := k.beginAll(ctx, all); err != nil {
				return err
			}
			looked = now
		}
		if err := k.handle(); err != nil {
			return err
		}
		said = k.report(ctx, said)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// beginAll begins the informers of the kinds that have appeared.
func (k *kindKeeper) beginAll(ctx context.Context, all []watch) error {
	for _, w := range all {
		gvk, err := apiutil.GVKForObject(w.object, k.scheme)
		if err != nil {
			return err
		}
		of := informed{cmp.Or(w.cache, k.cache), gvk, reflect.TypeOf(w.object)}
		if k.begun[of] {
			continue
		}
		there, err := there(k.mapper, gvk)
		k.at(gvk, func(s *kindState) { s.absent = !there && err == nil })
		if there {
			err = k.begin(ctx, of, w.object)
		}
		if err != nil {
			k.observe(gvk, err)
		}
	}
	return nil
}

// begin begins one informer. Its indexes come first, so no read lacks them.
func (k *kindKeeper) begin(ctx context.Context, of informed, object client.Object) error {
	if of.cache == k.cache {
		if err := addIndexes(ctx, k.indexer, object); err != nil {
			return err
		}
	}
	informer, err := of.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	k.begun[of] = true
	k.at(of.gvk, func(s *kindState) { s.synced, s.begun, s.err = append(s.synced, informer.HasSynced), time.Now(), nil })
	return nil
}

// there reports whether the API server has a kind. A kind that exists in other versions only is an error.
func there(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil {
		return true, nil
	}
	if other, e := mapper.RESTMapping(gvk.GroupKind()); e == nil {
		return false, fmt.Errorf("the API server serves version %s of it, not %s", other.GroupVersionKind.Version, gvk.Version)
	}
	return false, client.IgnoreNotFound(present(err))
}

// handle begins to handle the events of kinds whose objects are listed. The first reconciles wait until
// all are.
func (k *kindKeeper) handle() error {
	if !k.settled(time.Now()) {
		return nil
	}
	var later []watch
	for _, w := range k.watches {
		if k.readable(w.object) != nil {
			later = append(later, w)
			continue
		}
		if err := k.controller.Watch(source.Kind(cmp.Or(w.cache, k.cache), w.object, w.handler(), w.predicates...)); err != nil {
			return err
		}
	}
	k.watches = later
	return nil
}

// report updates metrics, and logs and reconciles all clusters if other kinds are watched than before, or
// other kinds exist. It returns the kinds that are not watched. Words of an error may change all the time.
func (k *kindKeeper) report(ctx context.Context, before string) string {
	used := k.clusters(ctx) > 0
	var kinds, words, missing []string
	failing := map[schema.GroupVersionKind]bool{}
	for _, e := range k.unwatched() {
		kinds, words, failing[e.gvk] = append(kinds, e.gvk.String()), append(words, e.Error()), true
	}
	k.mu.Lock()
	k.used = used
	for gvk, s := range k.states {
		k.metrics.watched(gvk.Kind, !s.absent && !failing[gvk])
		if s.absent {
			missing = append(missing, gvk.GroupKind().String())
		}
	}
	k.mu.Unlock()
	slices.Sort(missing)
	now := strings.Join(slices.Concat(kinds, missing), "; ")
	if now == before || !k.settled(time.Now()) {
		return before
	}
	switch {
	case len(words) > 0:
		k.log.Error(nil, "kinds cannot be watched", "problems", words, "missing", missing)
	case len(missing) > 0:
		k.log.Info("kinds do not exist yet: each is watched as soon as it exists", "missing", missing)
	default:
		k.log.Info("all kinds are watched")
	}
	select {
	case k.changed <- event.GenericEvent{Object: &corev1.Node{}}:
	default: // Another event is not handled yet. It is for all clusters, too.
	}
	return now
}
