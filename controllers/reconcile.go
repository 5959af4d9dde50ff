// Package controllers connects HostedClusters with the API server. Reconcile gathers the facts about a cluster, decides,
// applies and reports: each step is a package of that name. One Reconcile of one cluster is a pass. Packages hcp and derive
// decide what is served, package rollout which edges change now, and package desired what the objects contain.
//
// The operator writes one condition of a HostedCluster, and nothing else of HostedClusters and NodePools. It sets no
// finalizer, creates no Route, and reads no Secret.
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
	// ServiceAccount is the operator's own, to which it binds ControlPlaneRole.
	ServiceAccount types.NamespacedName
	// Management is what the operator knows about the cluster that it runs on.
	Management management.Cluster
	// Proxy is the HTTP proxy through which that cluster reaches external hosts.
	Proxy httpproxy.Config
	// Permissions say what the cluster's administrator permits HostedClusters to ask for.
	Permissions network.Permissions
}

// A Reconciler serves the networks of hosted clusters as their annotations request.
type Reconciler struct {
	// Client writes, and reads from the cache.
	Client client.Client
	// Live reads objects that are not cached, or that must be as new as the last write of another client.
	Live client.Reader
	// SecondNames has the objects with second names (own.Name). Nil: Client reads them.
	SecondNames cache.Cache
	Events      events.EventRecorder
	// Kinds knows which kinds are watched. Nil: all are.
	Kinds   *watch.Kinds
	Metrics *report.Metrics
	Options Options
	Now     func() time.Time

	// intervals say how often the operator looks for changes that no watch reports.
	intervals intervals
	// The fields below are all that outlives a pass (TestReconcilerRemembers).

	// writes are the writes of this process that caches do not show yet.
	writes own.Writes
	// observed knows whether the status of an edge is about its present spec. Caches may show an older status.
	observed own.Observed
	// memory has the last Report of each cluster, and values that a Report cannot have.
	memory memory
	// applied does not affect decisions. It saves reads of leases.
	applied apply.Memory
	// waves says how far the update to this release is among all hosted clusters. It outlives a pass, because no
	// object shows how long it has been the turn of a cluster that does not begin.
	waves updates
	// slots knows the clusters with quick passes. It decides when a pass begins, and not what the pass does.
	slots slots
	// environment is what all hosted clusters share, as it was read last.
	environment environment.Store
}

func (r *Reconciler) own() own.Store {
	return own.Store{Client: r.Client, Live: r.Live, SecondNames: r.SecondNames, Writes: &r.writes, Now: r.Now}
}

// Reconcile applies the request of one hosted cluster. It returns only errors of the API server, which are retried.
// What a user can fix is in the condition.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	leave, ok := r.slots.enter(req.NamespacedName, r.Now())
	if !ok {
		return ctrl.Result{RequeueAfter: whileUnproven}, nil
	}
	var deciding time.Duration
	var err error
	defer func() { leave(err, deciding, r.Now()) }()
	var result ctrl.Result
	if result, err = r.pass(ctx, req, &deciding); errors.Is(err, gather.ErrGone) {
		r.Metrics.ForgetCluster(req.NamespacedName)
		r.memory.forget(req.NamespacedName)
		r.applied.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	return result, err
}

// pass reconciles one hosted cluster, and sets deciding to the duration of the decision. Its error is gather.ErrGone if
// there is nothing to reconcile.
func (r *Reconciler) pass(ctx context.Context, req ctrl.Request, deciding *time.Duration) (ctrl.Result, error) {
	limited, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	last := r.memory.of(req.NamespacedName)
	w, err := r.reader().World(limited, req.NamespacedName, gather.Before{Turn: r.waves.turn(req.NamespacedName), Loss: last.loss, Last: last.reported})
	if errors.Is(err, gather.ErrGone) {
		return ctrl.Result{}, err
	}
	r.memory.read(req.NamespacedName, w.PreviousReport)
	if err != nil {
		return r.finish(ctx, w, decide.Decision{Action: decide.Leave, Plan: w.Last, Problems: w.Unread}, apply.Outcome{Edges: w.Edges}, err)
	}
	began := r.Now()
	d := decide.About(w, r.Options.Release, began)
	*deciding = r.Now().Sub(began)
	return r.carryOut(ctx, limited, w, d)
}

// carryOut carries out d for w until limited is done, and finishes the pass.
func (r *Reconciler) carryOut(ctx, limited context.Context, w gather.World, d decide.Decision) (ctrl.Result, error) {
	if d.Err != nil {
		invalid := fmt.Errorf("the plan for HostedCluster %s is not valid: %w", own.ClusterName(w.HostedCluster), d.Err)
		return r.finish(ctx, w, d, apply.Outcome{Edges: w.Edges}, invalid)
	}
	a, err := r.writer().Apply(limited, w, d)
	if r.writes.Pending(hcp.ControlPlaneNamespace(w.HostedCluster)) && (a.Again == 0 || a.Again > own.UnseenFor) {
		a.Again = own.UnseenFor
	}
	return r.finish(ctx, w, d, a, err)
}

// finish ends each pass: it remembers what the pass saw, reports d and its outcome, and counts the pass. err is why it
// failed.
func (r *Reconciler) finish(ctx context.Context, w gather.World, d decide.Decision, o apply.Outcome, err error) (ctrl.Result, error) {
	if err != nil && (w.HostedCluster == nil || !own.Relevant(w.HostedCluster)) {
		return ctrl.Result{}, err
	}
	key, said := client.ObjectKeyFromObject(w.HostedCluster), d
	if seen := d.Loss(w, r.Now()); !w.Incomplete && (err == nil || seen != gather.LossAnnounced) {
		r.memory.change(key, func(m *remembered) { m.loss = seen })
	}
	switch {
	case err == nil:
		r.memory.change(key, func(m *remembered) { m.failing = failing{} })
	case d.Err == nil:
		said, o.Unfinished = r.failed(w, d, err)
	}
	if unreported := r.report(ctx, w, said, o); unreported != nil {
		err = errors.Join(err, unreported)
	}
	r.Metrics.Passed(key, d, err)
	return ctrl.Result{RequeueAfter: o.Again}, err
}

// failed returns d as it must be reported after err. early is true if passes have not failed for long enough to report
// the failure. A failure that a retry cannot help is reported immediately.
func (r *Reconciler) failed(w gather.World, d decide.Decision, err error) (said decide.Decision, early bool) {
	now := r.Now()
	f := r.memory.fails(client.ObjectKeyFromObject(w.HostedCluster), apply.Failures(err), now)
	return apply.Failed(d, w, f.said, err), !f.lasts(now) && !refused(err) && !requests.TimedOut(err)
}

// refused reports whether err means that the API server will refuse the write at each retry.
func refused(err error) bool {
	return errors.Is(err, own.ErrForeign) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}

func (r *Reconciler) environmentReader() environment.Reader {
	return environment.Reader{
		Store: &r.environment, Cached: r.Client, Live: r.Live, Namespace: r.Options.ServiceAccount.Namespace, Metrics: r.Metrics.Set, Now: r.Now,
	}
}

func (r *Reconciler) reader() gather.Reader {
	return gather.Reader{
		Store: r.own(), Kinds: r.Kinds, Observed: &r.observed, Shared: r.environmentReader(),
		Management: r.Options.Management, Proxy: r.Options.Proxy, Permissions: r.Options.Permissions,
	}
}

func (r *Reconciler) writer() apply.Writer {
	return apply.Writer{Reader: r.reader(), Account: r.Options.ServiceAccount, Events: r.Events, Metrics: r.Metrics.Set, Memory: &r.applied}
}

func (r *Reconciler) reporter() report.Reporter {
	return report.Reporter{Store: r.own(), Events: r.Events, Metrics: r.Metrics, Build: r.Options.Build}
}

// report reports d and its outcome, and remembers what was reported.
func (r *Reconciler) report(ctx context.Context, w gather.World, d decide.Decision, o apply.Outcome) error {
	last, err := r.reporter().Report(ctx, w, d, o)
	if last != nil {
		r.memory.change(client.ObjectKeyFromObject(w.HostedCluster), func(m *remembered) {
			if m.reported != nil && last.At.IsZero() {
				last.At = m.reported.At
			}
			m.reported = last
		})
	}
	return err
}
