// Package controllers connects HostedClusters with the API server. Reconcile gathers
// what a cluster's network is derived from (gather.go), decides (decide.go), applies
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// How long until a cluster is reconciled again although no watch reported a change.
const (
	// resyncReady restores what is not watched: the objects of ours of which the
	// operator may not read all others of their kind.
	resyncReady = 5 * time.Minute
	// resyncManualEndpoints is how soon endpoints are read again that someone writes
	// by hand, and that no watch covers.
	resyncManualEndpoints = 30 * time.Second
	// whilePaused is how late the end of a pause may be noticed.
	whilePaused = time.Minute
	// whileRemoving is how soon to look for Leases that a terminating edge still
	// wrote.
	whileRemoving = 2 * time.Second
	// whileBinding is how long the API server has to notice the operator's new rights.
	whileBinding = 100 * time.Millisecond
)

// Options of the controllers.
type Options struct {
	// Image is the oooi image, for edges. EnvoyImage has envoy as its entrypoint and a
	// numeric user.
	Image, EnvoyImage string
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
	// Live reads what the operator may read in some namespaces only, which no
	// cache can hold.
	Live    client.Reader
	Events  events.EventRecorder
	Metrics *Metrics
	Options Options
	// Now is the clock.
	Now func() time.Time

	// plans receives HostedClusters whose plan in force changed. Nil: none is sent.
	plans chan event.GenericEvent
	// memory is what was last reported of each cluster.
	memory memory
	// networks of the management cluster.
	networks managementNetworks
}

// Reconcile applies the request of one hosted cluster. An error is the API server's, and is
// retried. What a user can fix is in the condition.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w, err := r.gather(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.Metrics.forget(req.NamespacedName)
		r.memory.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return r.carryOut(ctx, w)
}

// carryOut decides what is done with w, does it, and reports.
func (r *Reconciler) carryOut(ctx context.Context, w world) (ctrl.Result, error) {
	d := decide(w, r.Options, r.Now())
	if d.err != nil {
		return ctrl.Result{}, fmt.Errorf("the plan for HostedCluster %s is not valid: %w", clusterName(w.HostedCluster), d.err)
	}
	a, err := r.apply(ctx, w, d)
	if refused(err) {
		return ctrl.Result{}, errors.Join(err, r.report(ctx, w, d.refusedBy(err), outcome{edges: w.edges}))
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: a.again}, r.report(ctx, w, d, a)
}

// refused reports whether the API server rejects what was written, however often it is
// retried.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err)
}
