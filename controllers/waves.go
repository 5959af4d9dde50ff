// This file follows the update of edges to this release among all hosted clusters. Package waves decides which are next.

package controllers

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/metrics"
)

// updates holds the last decision. With the zero value, no edge changes its release.
type updates struct {
	mu   sync.Mutex
	last waves.Decision
}

func (u *updates) turn(cluster types.NamespacedName) waves.Turn {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last.Turns[cluster.String()]
}

func (u *updates) next(all []waves.Cluster, now time.Time) (before, d waves.Decision) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before, u.last = u.last, waves.Next(all, u.last, now)
	return before, u.last
}

// A waveKeeper decides at intervals, and reconciles the clusters whose turn changed.
type waveKeeper struct {
	*Reconciler
	log logr.Logger
	// turns receives the clusters whose turn changed.
	turns chan event.GenericEvent
}

// Start implements manager.Runnable.
func (k *waveKeeper) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		all, err := k.fleet(ctx)
		if err == nil {
			k.follow(ctx, all)
		} else if ctx.Err() == nil && requests.Present(err) != nil && len(requests.ErrorsOf[*watch.NotWatched](err)) == 0 {
			k.log.Error(err, "not all edges can be read, no edge is updated")
		}
	}, k.intervals.orProduct().waves)
	return nil
}

func (k *waveKeeper) follow(ctx context.Context, all []waves.Cluster) {
	before, d := k.waves.next(all, k.Now())
	k.Metrics.Gauge(metrics.UpdateWave).WithLabelValues().Set(float64(d.Wave))
	for _, s := range waves.States() {
		k.Metrics.Gauge(metrics.UpdateClusters).WithLabelValues(string(s)).Set(float64(d.Count(s)))
	}
	for state, message := range map[waves.State]string{
		waves.Failed:  "edges of these clusters fail with this release",
		waves.Blocked: "these clusters were due for this release, but none of their edges was updated",
	} {
		if now := d.Clusters(state); len(now) > 0 && !slices.Equal(before.Clusters(state), now) {
			k.log.Info(message, "clusters", now, "wave", d.Wave, "stopped", d.Stopped)
		}
	}
	switch {
	case before.Wave != d.Wave && d.Wave == 0:
		k.log.Info("all edges run this release")
	case before.Wave != d.Wave || before.Stopped != d.Stopped:
		k.log.Info("edges get this release in waves", "wave", d.Wave, "stopped", d.Stopped, "waiting", d.Count(waves.Waiting), "updated", d.Count(waves.Updated))
	}
	for name, turn := range d.Turns {
		if before.Turns[name] != turn {
			send(ctx, k.turns, hostedClusterNamed(name))
		}
	}
}

// hostedClusterNamed returns a HostedCluster with only its names set. name is "namespace/name".
func hostedClusterNamed(name string) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{}
	hc.Namespace, hc.Name, _ = strings.Cut(name, string(types.Separator))
	return hc
}

func (k *waveKeeper) fleet(ctx context.Context) ([]waves.Cluster, error) {
	clusters, deployments := &lenient.HostedClusterList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{clusters, deployments} {
		if err := k.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	release, now := k.Options.Release.Hash(), k.Now()
	edges := map[string][]waves.Edge{}
	for _, d := range deployments.Items {
		if gather.RoleOf(d) == gather.RoleEdge {
			seen := gather.SeenOf(k.observed.Settled(d))
			edges[d.Namespace] = append(edges[d.Namespace], waves.Edge{
				Outdated: d.Annotations[wire.AnnotationRelease] != release, Health: rollout.HealthOf(seen, now), Since: seen.Since})
		}
	}
	var out []waves.Cluster
	for i := range clusters.Items {
		hc := &clusters.Items[i].Fields.HostedCluster
		if of := edges[hcp.ControlPlaneNamespace(hc)]; len(of) > 0 && hcp.OptedIn(hc) && hc.DeletionTimestamp.IsZero() {
			out = append(out, waves.Cluster{
				Name: client.ObjectKeyFromObject(hc).String(), Namespace: hc.Namespace, Created: hc.CreationTimestamp.Time, Paused: hcp.Paused(hc, now), Edges: of})
		}
	}
	return out, nil
}
