// This file holds Edge: the facts about one Deployment of oooi. No other code reads its labels, conditions or status.

package gather

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// A Role is what a Deployment of oooi is for.
type Role string

const (
	// RoleEdge: the Deployment serves a network.
	RoleEdge Role = "edge"
	// RoleACD: the Deployment detects address conflicts before the first edge of a network exists.
	RoleACD Role = "acd"
	// roleOther: another version of the operator created the Deployment, and it is removed.
	roleOther Role = "other"
)

// An Edge is one Deployment of oooi as it exists: an edge, or the address conflict detection (ACD) of a network.
type Edge struct {
	Name, Namespace string
	Role            Role
	// Network is the value of the network's label (wire.NetworkLabel).
	Network string
	// Number is the edge's number on its network, from 1. 0: the Deployment is no edge.
	Number int
	// Release is the release of oooi that applied the Deployment last. Empty: a release that did not record that.
	Release string
	// Seen is the Deployment's state for package rollout. It lacks Drifted, PeerLost and PeerImpaired, which depend on
	// the wanted state and on reports.
	Seen rollout.Seen
	// Refused is the message with which the API server refuses the pod. Empty: the pod is not refused.
	Refused string
	// Ending is true if there is no pod because the previous one has not ended yet.
	Ending bool
	// Avoided are the nodes that its pod prefers not to run on.
	Avoided []string
	// Live is the Deployment, for the detection of drift.
	Live appsv1.Deployment
}

// EdgeReady reports whether the pod of an edge's Deployment is of the newest version, and ready.
func EdgeReady(d appsv1.Deployment) bool { return EdgeOf(d).Seen.Available }

// EdgeOf returns the facts about d, a Deployment of oooi.
func EdgeOf(d appsv1.Deployment) Edge {
	number, err := strconv.Atoi(d.Labels[wire.LabelEdge])
	if err != nil {
		number = 0
	}
	return Edge{
		Name: d.Name, Namespace: d.Namespace, Network: d.Labels[wire.LabelNetwork], Number: number, Role: RoleOf(d),
		Release: d.Annotations[wire.AnnotationRelease], Seen: SeenOf(d), Refused: refusedOf(d), Ending: ending(d), Avoided: desired.Avoided(d), Live: d,
	}
}

// RoleOf returns the role of d, a Deployment of oooi.
func RoleOf(d appsv1.Deployment) Role {
	switch d.Labels[wire.LabelName] {
	case wire.NameEdge:
		return RoleEdge
	case wire.NameACD:
		return RoleACD
	}
	return roleOther
}

// SeenOf returns the state of d for package rollout.
func SeenOf(d appsv1.Deployment) rollout.Seen {
	s, up := d.Status, deploymentCondition(d, appsv1.DeploymentAvailable)
	progress, progressed := progressOf(d)
	return rollout.Seen{
		Exists:   true,
		Version:  d.Annotations[wire.AnnotationTemplate],
		Unproven: d.Annotations[UnprovenAnnotation] != "",
		// The pod is of the newest version, and ready.
		Available:   s.ObservedGeneration >= d.Generation && s.UpdatedReplicas > 0 && s.Replicas == s.UpdatedReplicas && s.AvailableReplicas > 0,
		Observed:    s.ObservedGeneration >= d.Generation,
		Unavailable: up.Status == corev1.ConditionFalse,
		Since:       up.LastTransitionTime.Time,
		Created:     d.CreationTimestamp.Time,
		Progress:    progress,
		Progressed:  progressed.LastUpdateTime.Time,
	}
}

func progressOf(d appsv1.Deployment) (rollout.Progress, appsv1.DeploymentCondition) {
	c := deploymentCondition(d, appsv1.DeploymentProgressing)
	switch {
	case c.Status == corev1.ConditionTrue && c.Reason == "NewReplicaSetAvailable":
		return rollout.Complete, c
	case c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded":
		return rollout.Exceeded, c
	}
	return rollout.Unknown, c
}

func refusedOf(d appsv1.Deployment) string {
	if c := deploymentCondition(d, appsv1.DeploymentReplicaFailure); c.Status == corev1.ConditionTrue {
		return c.Message
	}
	return ""
}

// ending reports whether d has no pod because a previous one must end first. In a cluster that does not count
// terminating pods, a complete rollout without a pod shows this.
func ending(d appsv1.Deployment) bool {
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.Replicas > 0 {
		return false
	}
	if s.TerminatingReplicas != nil {
		return *s.TerminatingReplicas > 0
	}
	progress, _ := progressOf(d)
	return progress == rollout.Complete
}

func deploymentCondition(d appsv1.Deployment, of appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
	if i < 0 {
		return appsv1.DeploymentCondition{}
	}
	return d.Status.Conditions[i]
}

// Subject returns the subject of problems about e.
func (e Edge) Subject() problem.Subject { return EdgeSubject(e.Namespace, e.Name) }

// EdgeSubject returns the subject of problems about the edge with this Deployment.
func EdgeSubject(namespace, deployment string) problem.Subject {
	return problem.Subject{Kind: "Edge", Namespace: namespace, Name: deployment}
}

// Command returns a command that shows the pods of e's network.
func (e Edge) Command() string {
	return fmt.Sprintf("kubectl -n %s describe pod -l %s=%s", e.Namespace, wire.LabelNetwork, e.Network)
}

// Starting reports whether e got its version recently, and has no known fault.
func (e Edge) Starting() bool {
	return e.Refused == "" && e.Seen.Progress == rollout.Unknown
}

// Lost reports whether e became or stayed unavailable for another reason than an act of the operator.
func (e Edge) Lost() bool {
	return e.Role == RoleEdge && !e.Seen.Available && e.Seen.Observed && !e.Starting()
}

// UnavailableSince returns when e became unavailable, or the zero time if that is unknown.
func (e Edge) UnavailableSince() time.Time {
	if !e.Seen.Unavailable {
		return time.Time{}
	}
	return e.Seen.Since.UTC()
}

// Available returns those of edges that are available and whose Network is label.
func Available(edges []Edge, label string) []Edge {
	return slices.DeleteFunc(slices.Clone(edges), func(e Edge) bool { return e.Role != RoleEdge || e.Network != label || !e.Seen.Available })
}

// UnprovenAnnotation of an edge's Deployment holds rollout.Seen.Unproven.
const UnprovenAnnotation = wire.Prefix + "unproven"
