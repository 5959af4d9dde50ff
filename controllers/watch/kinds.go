// This file starts the watch of each kind once the cluster has the kind. So the operator can be installed before
// HyperShift, KubeVirt or Routes. A watch never ends: it is used again after a kind is reinstalled. kind_states.go
// records whether each watch works.

package watch

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/network/metrics"
)

// listedWithin is how long the first reconciles wait until all objects are listed.
const listedWithin = 30 * time.Second

// A Keeper begins and follows the watch of each kind. It runs on each replica, so that the next leader has all objects.
type Keeper struct {
	*Kinds
	Mapper     meta.RESTMapper
	Cache      cache.Cache
	Controller controller.Controller
	Metrics    metrics.Set
	Log        logr.Logger
	Indexer    client.FieldIndexer
	// Watches have events that are not handled yet.
	Watches []Watched
	// Every is how often the state of all kinds is checked. EveryMissing is how often to look for kinds that the API
	// server does not have yet.
	Every, EveryMissing time.Duration
	// Clusters returns how many hosted clusters opted in.
	Clusters func(context.Context) int
	// Changed receives an event if the set of watched kinds changes.
	Changed chan event.GenericEvent
	// begun are the informers that exist.
	begun map[informed]bool
}

// An informed is one informer: a cache has one for each kind and Go type.
type informed struct {
	cache  cache.Cache
	gvk    schema.GroupVersionKind
	object reflect.Type
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (k *Keeper) Start(ctx context.Context) error {
	k.begun = map[informed]bool{}
	all := append(slices.Clone(k.Watches), Watched{Object: &corev1.Node{}})
	tick := time.NewTicker(k.Every)
	defer tick.Stop()
	said, looked := "", time.Time{}
	for {
		if now := time.Now(); now.Sub(looked) >= k.EveryMissing {
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

func (k *Keeper) beginAll(ctx context.Context, all []Watched) error {
	for _, w := range all {
		gvk, err := apiutil.GVKForObject(w.Object, k.scheme)
		if err != nil {
			return err
		}
		of := informed{cmp.Or(w.Cache, k.Cache), gvk, reflect.TypeOf(w.Object)}
		if k.begun[of] {
			continue
		}
		there, err := requests.Exists(k.Mapper, gvk)
		k.at(gvk, func(s *kindState) { s.absent = !there && err == nil })
		if there {
			err = k.begin(ctx, of, w.Object)
		}
		if err != nil {
			k.Observe(gvk, err)
		}
	}
	return nil
}

// begin begins one informer. Indexes come first, so that all reads have them.
func (k *Keeper) begin(ctx context.Context, of informed, object client.Object) error {
	if of.cache == k.Cache {
		if err := addIndexes(ctx, k.Indexer, object); err != nil {
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

// handle begins to handle the events of kinds whose objects are listed. The first reconciles wait for all kinds.
func (k *Keeper) handle() error {
	if !k.settled(time.Now()) {
		return nil
	}
	var later []Watched
	for _, w := range k.Watches {
		if k.readable(w.Object) != nil {
			later = append(later, w)
			continue
		}
		if err := k.Controller.Watch(source.Kind(cmp.Or(w.Cache, k.Cache), w.Object, w.Handler(), w.Predicates...)); err != nil {
			return err
		}
	}
	k.Watches = later
	return nil
}

// report updates metrics. If the watched or missing kinds differ from before, it also logs and reconciles all clusters.
// It returns their names, without error texts, which may change all the time.
func (k *Keeper) report(ctx context.Context, before string) string {
	used := k.Clusters(ctx) > 0
	var kinds, words, missing []string
	failing := map[schema.GroupVersionKind]bool{}
	for _, e := range k.unwatched() {
		kinds, words, failing[e.GVK] = append(kinds, e.GVK.String()), append(words, e.Error()), true
	}
	k.mu.Lock()
	k.used = used
	for gvk, s := range k.states {
		k.Metrics.SetBool(metrics.KindWatched, !s.absent && !failing[gvk], gvk.Kind)
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
		k.Log.Error(nil, "kinds cannot be watched", "problems", words, "missing", missing)
	case len(missing) > 0:
		k.Log.Info("kinds do not exist yet: each is watched as soon as it exists", "missing", missing)
	default:
		k.Log.Info("all kinds are watched")
	}
	select {
	case k.Changed <- event.GenericEvent{Object: &corev1.Node{}}:
	default: // The previous event is not handled yet. It is for all clusters, too.
	}
	return now
}
