// Package controllers connects HostedClusters with the API server. Reconcile gathers
// what a cluster's network is derived from, decides, applies and reports: each is a package
// of that name. Packages hcp and network decide what is served, package rollout which edges
// change now, and package desired what the objects look like.
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

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/environment"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/network"
)

// Options of the controllers.
type Options struct {
	desired.Release
	// Build is the version of the operator. Empty: unknown.
	Build string
	// ServiceAccount is the operator's own, which it binds ControlPlaneRole to.
	ServiceAccount types.NamespacedName
	// Management is what the operator knows of the cluster that it runs on.
	Management management.Cluster
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
	// SecondNames has the objects with second names (own.Name). Nil: Client reads them.
	SecondNames cache.Cache
	Events      events.EventRecorder
	// Kinds says which kinds are watched. Nil: all are.
	Kinds   *watch.Kinds
	Metrics *report.Metrics
	Options Options
	// Now is the clock.
	Now func() time.Time

	// intervals are how often it looks at what no watch reports.
	intervals intervals
	// writes are the writes of this process that caches do not show yet.
	writes own.Writes
	// observed says which status of an edge is still about its spec.
	observed own.Observed
	// memory is what is remembered of each cluster.
	memory memory
	// applied is what was applied of each cluster.
	applied apply.Memory
	// waves are how far edges of this release have come among all hosted clusters.
	waves updates
	// neighborhoods are the neighbors of each cluster at its last pass.
	neighborhoods neighborhoods
	// slow are the clusters whose requests take too long.
	slow slowClusters
	// environment is what all hosted clusters share.
	environment environment.Store
}

// own reads the objects of oooi.
func (r *Reconciler) own() own.Store {
	return own.Store{Client: r.Client, Live: r.Live, SecondNames: r.SecondNames, Writes: &r.writes, Now: r.Now}
}

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
	last := r.memory.of(req.NamespacedName)
	w, err := r.reader().World(limited, req.NamespacedName, gather.Before{Turn: r.waves.turn(req.NamespacedName), Loss: last.loss, Reported: last.reported})
	if errors.Is(err, gather.ErrGone) {
		r.Metrics.ForgetCluster(req.NamespacedName)
		r.memory.forget(req.NamespacedName)
		r.applied.Forget(req.NamespacedName)
		r.neighborhoods.replace(req.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	r.memory.read(req.NamespacedName, w.Reported)
	if err != nil {
		return ctrl.Result{}, r.fail(ctx, w, decide.Decision{Action: decide.Leave, Plan: w.Last, Problems: w.Unread}, apply.Outcome{Edges: w.Edges}, err)
	}
	if hcp.OptedIn(w.HostedCluster) && w.HostedCluster.DeletionTimestamp.IsZero() {
		r.neighborhoods.replace(req.NamespacedName, w.Others)
	}
	return r.carryOut(ctx, limited, w)
}

// carryOut decides what is done with w, does it while limited lasts, and reports.
func (r *Reconciler) carryOut(ctx, limited context.Context, w gather.World) (ctrl.Result, error) {
	d := decide.About(w, r.Options.Release, r.Now())
	if d.Err != nil {
		invalid := fmt.Errorf("the plan for HostedCluster %s is not valid: %w", own.ClusterName(w.HostedCluster), d.Err)
		err := errors.Join(invalid, r.report(ctx, w, d, apply.Outcome{Edges: w.Edges}))
		r.Metrics.Passed(client.ObjectKeyFromObject(w.HostedCluster), d, err)
		return ctrl.Result{}, err
	}
	key, seen := client.ObjectKeyFromObject(w.HostedCluster), d.Loss(w, r.Now())
	if seen != gather.LossAnnounced {
		r.memory.change(key, func(m *remembered) { m.loss = seen })
	}
	a, err := r.writer().Apply(limited, w, d)
	if err != nil {
		return ctrl.Result{}, r.fail(ctx, w, d, a, err)
	}
	r.memory.change(key, func(m *remembered) { m.loss, m.failing = seen, failing{} })
	if r.writes.Pending(hcp.ControlPlaneNamespace(w.HostedCluster)) && (a.Again == 0 || a.Again > own.UnseenFor) {
		a.Again = own.UnseenFor
	}
	err = r.report(ctx, w, d, a)
	r.Metrics.Passed(key, d, err)
	return ctrl.Result{RequeueAfter: a.Again}, err
}

// fail returns err, and reports it where passes of this cluster have failed for long enough. What the
// API server rejects however often it is retried is reported at once.
func (r *Reconciler) fail(ctx context.Context, w gather.World, d decide.Decision, o apply.Outcome, err error) error {
	if w.HostedCluster == nil || !own.Relevant(w.HostedCluster) {
		return err
	}
	r.Metrics.Passed(client.ObjectKeyFromObject(w.HostedCluster), d, err)
	now := r.Now()
	f := r.memory.fails(client.ObjectKeyFromObject(w.HostedCluster), apply.Failures(err), now)
	if !f.lasts(now) && !refused(err) && !requests.TimedOut(err) {
		return err
	}
	o.Unfinished = false
	return errors.Join(err, r.report(ctx, w, apply.Failed(d, w, f.said, err), o))
}

// refused reports whether the API server rejects what was written, however often it is
// retried.
func refused(err error) bool {
	return errors.Is(err, own.ErrForeign) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// environmentReader reads what all hosted clusters share.
func (r *Reconciler) environmentReader() environment.Reader {
	return environment.Reader{
		Store: &r.environment, Cached: r.Client, Live: r.Live, Namespace: r.Options.ServiceAccount.Namespace, Metrics: r.Metrics.Set, Now: r.Now,
	}
}

// reader reads hosted clusters.
func (r *Reconciler) reader() gather.Reader {
	return gather.Reader{
		Store: r.own(), Kinds: r.Kinds, Observed: &r.observed, Shared: r.environmentReader(),
		Management: r.Options.Management, Proxy: r.Options.Proxy, Permissions: r.Options.Permissions,
	}
}

// writer carries out decisions.
func (r *Reconciler) writer() apply.Writer {
	return apply.Writer{Reader: r.reader(), Account: r.Options.ServiceAccount, Events: r.Events, Metrics: r.Metrics.Set, Memory: &r.applied}
}

// reporter reports about hosted clusters.
func (r *Reconciler) reporter() report.Reporter {
	return report.Reporter{Store: r.own(), Events: r.Events, Metrics: r.Metrics, Build: r.Options.Build}
}

// report reports d and what came of it, and remembers that.
func (r *Reconciler) report(ctx context.Context, w gather.World, d decide.Decision, o apply.Outcome) error {
	last, err := r.reporter().Report(ctx, w, d, o)
	if last != nil {
		r.memory.change(client.ObjectKeyFromObject(w.HostedCluster), func(m *remembered) { m.reported = last })
	}
	return err
}
