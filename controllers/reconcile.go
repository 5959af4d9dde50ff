// Package controllers connects HostedClusters with the API server. Reconcile gathers
// what a cluster's network is derived from (gather*.go), decides (decide.go), applies
// (apply.go) and reports (report.go). Packages hcp and network decide what is served,
// package rollout which edges change now, and desired*.go what the objects look like.
//
// It writes one condition of a HostedCluster and nothing else of it or of a NodePool.
// It sets no finalizer, creates no Role and no Route, and reads no Secret.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http/httpproxy"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// How long until a cluster is reconciled again although no watch reported a change.
const (
	// resyncReady looks for what no watch reports: leases of networks that are not served.
	resyncReady = 5 * time.Minute
	// resyncManualEndpoints is how soon endpoints are read again that someone writes
	// by hand, and that no watch covers.
	resyncManualEndpoints = 30 * time.Second
	// whilePaused is how late the end of a pause may be noticed.
	whilePaused = time.Minute
	// whileBinding is how long the API server has to notice the operator's new rights.
	whileBinding = 100 * time.Millisecond
)

// Options of the controllers.
type Options struct {
	desired.Release
	// Build is the version of the operator. Empty: unknown.
	Build string
	// ServiceAccount is the operator's own, which it binds ControlPlaneRole to.
	ServiceAccount types.NamespacedName
	// Management is what the operator knows of the cluster that it runs on.
	Management hcp.Management
	// Proxy is the HTTP proxy through which that cluster reaches external hosts.
	Proxy httpproxy.Config
	// Permissions are what its administrator permits HostedClusters to ask for.
	Permissions network.Permissions
	// ControllerName must be unique in a process. Empty: "hostedcluster".
	ControllerName string
}

// A Reconciler serves the networks of hosted clusters as their annotations request.
type Reconciler struct {
	// Client writes, and reads from the cache.
	Client client.Client
	// Live reads what no cache holds, and what must not be older than the last write of another client.
	Live client.Reader
	// SecondNames has the RoleBindings of edges, and the NetworkPolicies of management access. Nil:
	// Client reads them.
	SecondNames cache.Cache
	Events      events.EventRecorder
	// Kinds says which kinds are watched. Nil: all are.
	Kinds   *Kinds
	Metrics *Metrics
	Options Options
	// Now is the clock.
	Now func() time.Time

	// intervals are how often it looks at what no watch reports.
	intervals intervals
	// writes are the writes of this process that caches do not show yet.
	writes ownWrites
	// observed says which status of an edge is still about its spec.
	observed observedSpecs
	// memory is what is remembered of each cluster.
	memory memory
	// waves are how far edges of this release have come among all hosted clusters.
	waves updates
	// neighborhoods are the neighbors of each cluster at its last pass.
	neighborhoods neighborhoods
	// slow are the clusters whose requests take too long.
	slow slowClusters
	// environment is what all hosted clusters share.
	environment environmentStore
}

// errGone is the error of a HostedCluster that does not exist. Any other object that was not found is a
// fault of the pass.
var errGone = errors.New("the HostedCluster does not exist")

// Reconcile applies the request of one hosted cluster. An error is the API server's, and is
// retried. What a user can fix is in the condition.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	leave, ok := r.slow.enter(req.NamespacedName)
	if !ok {
		return ctrl.Result{RequeueAfter: whileSlow}, nil
	}
	result, err := r.pass(ctx, req)
	leave(err)
	return result, err
}

// pass reconciles one hosted cluster.
func (r *Reconciler) pass(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	limited, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	w, err := r.gather(limited, req.NamespacedName)
	if errors.Is(err, errGone) {
		r.Metrics.forget(req.NamespacedName)
		r.memory.forget(req.NamespacedName)
		r.neighborhoods.replace(req.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, r.fail(ctx, w, decision{action: leave, plan: w.last, problems: w.unread}, outcome{edges: w.edges}, err)
	}
	return r.carryOut(ctx, limited, w)
}

// carryOut decides what is done with w, does it while limited lasts, and reports.
func (r *Reconciler) carryOut(ctx, limited context.Context, w world) (ctrl.Result, error) {
	d := decide(w, r.Options, r.Now())
	if d.err != nil {
		invalid := fmt.Errorf("the plan for HostedCluster %s is not valid: %w", clusterName(w.HostedCluster), d.err)
		err := errors.Join(invalid, r.report(ctx, w, d, outcome{edges: w.edges}))
		r.Metrics.passed(client.ObjectKeyFromObject(w.HostedCluster), d, err)
		return ctrl.Result{}, err
	}
	key, seen := client.ObjectKeyFromObject(w.HostedCluster), d.loss(w, r.Now())
	if seen != lossAnnounced {
		r.memory.change(key, func(m *remembered) { m.loss = seen })
	}
	a, err := r.apply(limited, w, d)
	if err != nil {
		return ctrl.Result{}, r.fail(ctx, w, d, a, err)
	}
	r.memory.change(key, func(m *remembered) { m.loss, m.failing = seen, failing{} })
	if r.writes.pending(hcp.ControlPlaneNamespace(w.HostedCluster)) && (a.again == 0 || a.again > unseenFor) {
		a.again = unseenFor
	}
	err = r.report(ctx, w, d, a)
	r.Metrics.passed(key, d, err)
	return ctrl.Result{RequeueAfter: a.again}, err
}

// fail returns err, and reports it where passes of this cluster have failed for long enough. What the
// API server rejects however often it is retried is reported at once.
func (r *Reconciler) fail(ctx context.Context, w world, d decision, o outcome, err error) error {
	if w.HostedCluster == nil || !ofOurs(w.HostedCluster) {
		return err
	}
	r.Metrics.passed(client.ObjectKeyFromObject(w.HostedCluster), d, err)
	now := r.Now()
	f := r.memory.fails(client.ObjectKeyFromObject(w.HostedCluster), failures(err), now)
	if !f.lasts(now) && !refused(err) && !timedOut(err) {
		return err
	}
	o.unfinished = false
	return errors.Join(err, r.report(ctx, w, d.failed(w, f.said, err), o))
}

// refused reports whether the API server rejects what was written, however often it is
// retried.
func refused(err error) bool {
	return errors.Is(err, errNotOwn) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}
