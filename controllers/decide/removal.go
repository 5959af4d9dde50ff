// This file decides when the edges of a cluster that no longer opts in are removed. If an annotation is lost by
// accident, VMs do not lose their network immediately.

package decide

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// removalGrace is how long after the deadline a new process still carries out an earlier announcement. Later, it
	// announces the removal again.
	removalGrace = time.Minute
	// removalDelay is how long networks that VMs use are still served after the annotation network was lost.
	removalDelay = 10 * time.Minute
	// RemovalAnnotation of the plan's ConfigMap is the time at which its edges are removed, in RFC 3339. It is stored
	// so that a restart of the operator does not change it.
	RemovalAnnotation = wire.Prefix + "removal-after"
)

// notOptedIn decides about a cluster that does not opt in. Everything is removed if the annotation asks for it, or if
// no VM uses a network of the plan in force. Nothing is removed while the plan is unknown and VMs are on networks.
func (w view) notOptedIn(release desired.Release, now time.Time) Decision {
	if hcp.OptedOut(w.HostedCluster) || !w.HasControlPlane() || w.Loss == gather.LossRemoving {
		return Decision{Action: Remove}
	}
	d := w.kept(release, now)
	if w.usesUnknown() {
		d.Problems = append(d.Problems, problem.New(problem.RemovalUnsafe, problem.Subject{}, nil, network.KeyNetwork))
		d.Again = ResyncReady
		return d
	}
	used := w.networksInUse()
	at, announced := w.removalAfter(now)
	if len(used) == 0 || announced && !now.Before(at) {
		return Decision{Action: Remove}
	}
	args := problem.Args{"network": used, "deadline": {at.UTC().Format(time.RFC3339)}}
	cause := problem.RemovalPending
	if w.VMsUnread != nil {
		cause, args["error"] = problem.RemovalPendingVMsUnknown, []string{requests.Sentence(w.VMsUnread)}
	}
	d.Problems = append(d.Problems, problem.New(cause, problem.Subject{}, args, network.KeyNetwork))
	d.Again = at.Sub(now)
	if !announced {
		plan := planObject(w, w.Last)
		plan.SetAnnotations(map[string]string{RemovalAnnotation: at.UTC().Format(time.RFC3339)})
		d.Desired = append(d.Desired, plan)
	}
	return d
}

func (w view) storedRemoval() string {
	i := slices.IndexFunc(w.Owned, func(o metav1.PartialObjectMetadata) bool {
		return o.GroupVersionKind() == own.ConfigMapKind && o.Name == wire.PlanConfigMap
	})
	if i < 0 {
		return ""
	}
	return w.Owned[i].Annotations[RemovalAnnotation]
}

// removalAfter returns the stored deadline, or a new one to store. A stored deadline counts if it is not later than a
// new one would be. If the annotation came back, or if there was a pause, it no longer counts. If the deadline passed
// while no operator ran, it counts only if the removal had begun.
func (w view) removalAfter(now time.Time) (at time.Time, announced bool) {
	next := now.Add(removalDelay).Truncate(time.Second)
	stored, err := time.Parse(time.RFC3339, w.storedRemoval())
	unseen := w.Loss == gather.LossUnseen && now.After(stored.Add(removalGrace)) && len(w.Edges) > 0
	if err != nil || stored.After(next) || w.Loss == gather.LossNone || unseen {
		return next, false
	}
	return stored, true
}

// withoutRemoval adds to objects the plan in force without its removal deadline, if it has one, because the cluster opts in.
func (w view) withoutRemoval(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	written := slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GroupVersionKind() == own.ConfigMapKind })
	if written || w.Binding == nil || len(w.Last.Networks) == 0 || w.storedRemoval() == "" {
		return objects
	}
	return append([]*unstructured.Unstructured{planObject(w, w.Last)}, objects...)
}

// networksInUse returns the networks of the plan in force that VMs use, as users call them. If VMs cannot be listed, it
// returns all.
func (w view) networksInUse() []string {
	var out []string
	used := networks.InUse(w.Objects, w.Last)
	for _, n := range w.Last.Networks {
		if w.VMsUnread != nil || len(w.Unreadable) > 0 || slices.Contains(used, n.Name) {
			out = append(out, n.Attachment.String())
		}
	}
	return out
}

// usesUnknown reports whether VMs may use networks of a plan that is unreadable, or that is missing although edges exist.
func (w view) usesUnknown() bool {
	missing := slices.ContainsFunc(w.Edges, func(e gather.Edge) bool { return e.Role == gather.RoleEdge && e.Live.DeletionTimestamp.IsZero() })
	return len(w.Last.Networks) == 0 && (len(w.Unread) > 0 || missing) &&
		(w.VMsUnread != nil || len(w.Unreadable) > 0 || len(networks.InUse(w.Objects, w.Last)) > 0)
}

// Loss returns what a pass that carries out d has seen of the annotation network. An announcement counts once it is
// stored.
func (d Decision) Loss(w gather.World, now time.Time) gather.Loss {
	switch {
	case d.Action == Remove:
		return gather.LossRemoving
	case d.Action == Keep && !hcp.OptedIn(w.HostedCluster) && !hcp.Paused(w.HostedCluster, now):
		return gather.LossAnnounced
	}
	return gather.LossNone
}
