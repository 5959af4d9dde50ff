// This file decides how long an edge that is not available is waited for. It is
// pure. What is done without it, and what is said, is decided elsewhere.

package controllers

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

const (
	// waitedFor is how long an edge may take until nothing waits for it any more. A
	// Deployment says by itself that it makes no progress after as long.
	waitedFor = 10 * time.Minute
	// soon is how long after it was given another pod an edge may be seen to lack the
	// former one: that had to end first.
	soon = 2 * time.Minute
)

// isLate says whether d has not been available for long, and has long had what it
// is to run.
func isLate(d appsv1.Deployment, now time.Time) bool {
	up, progress := conditionOf(d, appsv1.DeploymentAvailable), conditionOf(d, appsv1.DeploymentProgressing)
	if available(d) || d.Status.ObservedGeneration < d.Generation || up.Status != corev1.ConditionFalse {
		return false
	}
	// One that ran once is said to be complete, whatever becomes of its pod.
	return isStuck(progress) || isComplete(progress) && now.Sub(up.LastTransitionTime.Time) >= waitedFor
}

// isLame says whether d is late, and not because of what it was given to run: it
// never was available, or ran just this, or did not run when it was given that.
// Then its sibling may be given the same.
func isLame(d appsv1.Deployment, now time.Time) bool {
	if !isLate(d, now) {
		return false
	}
	progress, since := conditionOf(d, appsv1.DeploymentProgressing), conditionOf(d, appsv1.DeploymentAvailable).LastTransitionTime
	never := since.Time.Before(d.CreationTimestamp.Add(soon))
	return isComplete(progress) || never || since.Time.Before(progress.LastUpdateTime.Add(-waitedFor-soon))
}

func isComplete(progress appsv1.DeploymentCondition) bool {
	return progress.Status == corev1.ConditionTrue && progress.Reason == "NewReplicaSetAvailable"
}

func isStuck(progress appsv1.DeploymentCondition) bool {
	return progress.Status == corev1.ConditionFalse && progress.Reason == "ProgressDeadlineExceeded"
}

// conditionOf is d's condition of a type, zero where it has none.
func conditionOf(d appsv1.Deployment, of appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == of })
	if i < 0 {
		return appsv1.DeploymentCondition{}
	}
	return d.Status.Conditions[i]
}
