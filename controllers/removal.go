// This file decides when the edges of a cluster that no longer opts in are removed, and reads what
// that depends on. An annotation that is lost by accident costs no VM its network at once.

package controllers

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

const (
	// removalGrace is how long after its deadline a new process still removes what one before it announced.
	// After a longer absence, the removal is announced again.
	removalGrace = time.Minute
	// removalDelay is how long networks that VMs use are served after the annotation network was lost.
	removalDelay = 10 * time.Minute
	// removalAnnotation of the plan's ConfigMap is when its edges are removed, as RFC 3339. So a restart
	// of the operator does not change it.
	removalAnnotation = wire.Prefix + "removal-after"
)

// notOptedIn is what is done with a cluster that does not opt in. All is removed at once if the
// annotation says so, or if no VM uses a network of the plan in force. If that is unknown, all stays
// while there are VMs on networks.
func (w world) notOptedIn(o Options, now time.Time) decision {
	if hcp.OptedOut(w.HostedCluster) || !w.hasControlPlane() || w.loss == lossRemoving {
		return decision{action: remove}
	}
	d := w.kept(o, now)
	if w.usesUnknown() {
		d.problems = append(d.problems, network.NewProblem(network.RemovalUnsafe, network.Subject{}, nil, settings.KeyNetwork))
		d.again = resyncReady
		return d
	}
	used := w.networksInUse()
	at, announced := w.removalAfter(now)
	if len(used) == 0 || announced && !now.Before(at) {
		return decision{action: remove}
	}
	args := network.Args{"network": strings.Join(used, ", "), "deadline": at.UTC().Format(time.RFC3339)}
	cause := network.RemovalPending
	if w.vmsUnread != nil {
		cause, args["error"] = network.RemovalPendingVMsUnknown, sentence(w.vmsUnread)
	}
	d.problems = append(d.problems, network.NewProblem(cause, network.Subject{}, args, settings.KeyNetwork))
	d.again = at.Sub(now)
	if !announced {
		plan := planObject(w, w.last)
		plan.SetAnnotations(map[string]string{removalAnnotation: at.UTC().Format(time.RFC3339)})
		d.desired = append(d.desired, plan)
	}
	return d
}

// storedRemoval is what is stored with the plan as the deadline. Empty: nothing.
func (w world) storedRemoval() string {
	i := slices.IndexFunc(w.owned, func(o metav1.PartialObjectMetadata) bool {
		return o.GroupVersionKind() == configMapKind && o.Name == wire.PlanConfigMap
	})
	if i < 0 {
		return ""
	}
	return w.owned[i].Annotations[removalAnnotation]
}

// removalAfter is the deadline that is stored with the plan, or the one to store. A stored deadline counts
// if it stood all the time: it is not later than any that the operator sets, the annotation was not back,
// and no pause was in between. Without an operator for long, it passed unseen, unless the removal had begun.
func (w world) removalAfter(now time.Time) (at time.Time, announced bool) {
	next := now.Add(removalDelay).Truncate(time.Second)
	stored, err := time.Parse(time.RFC3339, w.storedRemoval())
	unseen := w.loss == lossUnseen && now.After(stored.Add(removalGrace)) && len(w.edges) > 0
	if err != nil || stored.After(next) || w.loss == lossNone || unseen {
		return next, false
	}
	return stored, true
}

// withoutRemoval is objects, and the plan in force without a deadline if it has one. The cluster opts in.
func (w world) withoutRemoval(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	written := slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind() == configMapKind })
	if written || w.binding == nil || len(w.last.Networks) == 0 || w.storedRemoval() == "" {
		return objects
	}
	return append([]*unstructured.Unstructured{planObject(w, w.last)}, objects...)
}

// networksInUse are the networks of the plan in force that VMs use, as users call them. All, if the
// VMs cannot be listed.
func (w world) networksInUse() []string {
	var out []string
	for _, n := range w.last.Networks {
		if w.vmsUnread != nil || len(w.Unreadable) > 0 || hcp.InUse(w.Objects, n.Attachment) {
			out = append(out, n.Attachment.String())
		}
	}
	return out
}

// usesUnknown reports whether VMs may use networks of a plan that is unreadable, or missing although its
// edges exist.
func (w world) usesUnknown() bool {
	missing := slices.ContainsFunc(w.edges, func(e Edge) bool { return e.Role == roleEdge && e.live.DeletionTimestamp.IsZero() })
	return len(w.last.Networks) == 0 && (len(w.unread) > 0 || missing) &&
		(w.vmsUnread != nil || len(w.Unreadable) > 0 || len(hcp.NetworksInUse(w.Objects)) > 0)
}

// A loss is what this process saw of a cluster's annotation network at its last pass.
type loss int

const (
	// lossUnseen: there was no pass yet.
	lossUnseen loss = iota
	// lossNone: the cluster opts in or is paused.
	lossNone
	// lossAnnounced: the annotation is lost, and the removal is announced.
	lossAnnounced
	// lossRemoving: the removal has begun.
	lossRemoving
)

// loss is what a pass that carries out d has seen. That of an announcement counts once it is stored.
func (d decision) loss(w world, now time.Time) loss {
	switch {
	case d.action == remove:
		return lossRemoving
	case d.action == keep && !hcp.OptedIn(w.HostedCluster) && !hcp.Paused(w.HostedCluster, now):
		return lossAnnounced
	}
	return lossNone
}

// gatherRemaining reads what decides how a cluster is left that does not opt in.
func (r *Reconciler) gatherRemaining(ctx context.Context, w *world) error {
	if w.binding == nil && len(w.owned) == 0 || hcp.OptedOut(w.HostedCluster) && hcp.PausedBy(w.HostedCluster, r.Now()) == "" {
		return nil
	}
	if err := r.gatherControlPlane(ctx, w); err != nil {
		return err
	}
	vms := &lenient.VirtualMachineInstanceList{}
	w.vmsUnread = present(r.Client.List(ctx, vms, client.InNamespace(hcp.ControlPlaneNamespace(w.HostedCluster)), client.UnsafeDisableDeepCopy))
	w.AddVMs(vms.Items)
	return r.gatherDefinitions(ctx, &w.Objects, hcp.UsedNADs(w.Objects))
}

// announceRemoval stores the deadline of d, and emits the Event about it. Nothing else is written.
func (r *Reconciler) announceRemoval(ctx context.Context, w world, d decision) error {
	for _, want := range d.desired {
		if _, err := r.write(ctx, want.DeepCopy()); err != nil {
			return err
		}
		logr.FromContextOrDiscard(ctx).Info("removal announced", "after", want.GetAnnotations()[removalAnnotation])
		for _, p := range d.problems {
			if p.Reason == network.RemovalScheduled {
				r.Events.Eventf(w.HostedCluster, nil, corev1.EventTypeWarning, string(p.Reason), actionRemove, "%s", explain.Problem(p).String())
			}
		}
	}
	return nil
}
