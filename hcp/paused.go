// This file decides whether a hosted cluster is paused. oooi does not change anything for a paused cluster.

package hcp

import (
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Paused reports whether hc is paused at the time now, by the annotation paused or by spec.pausedUntil. An invalid value
// does not pause.
func Paused(hc *hyperv1.HostedCluster, now time.Time) bool { return PausedBy(hc, now) != "" }

// PausedBy returns the annotation key (without prefix) or the field that pauses hc. It returns "" if hc is not paused.
func PausedBy(hc *hyperv1.HostedCluster, now time.Time) string {
	if pauses(hc.Annotations[settings.Prefix+network.KeyPaused], now) {
		return network.KeyPaused
	}
	if p := hc.Spec.PausedUntil; p != nil && pauses(*p, now) {
		return "spec.pausedUntil"
	}
	return ""
}

// PauseProblems returns the problem that oooi applies nothing at the time now because hc is paused, or none. served is true
// if there is a plan in force, which edges keep serving.
func PauseProblems(hc *hyperv1.HostedCluster, served bool, now time.Time) problem.Problems {
	by, cause := PausedBy(hc, now), problem.PausedUnserved
	if by == "" {
		return nil
	}
	if served {
		cause = problem.ClusterPaused
	}
	return problem.Problems{problem.New(cause, problem.Subject{}, nil, by)}
}

// PausedForBackup returns a problem for the HostedCluster and each NodePool that is still paused for a backup.
func PausedForBackup(o Objects, now time.Time) (out problem.Problems) {
	add := func(kind string, x metav1.ObjectMeta, until *string) {
		if _, marked := x.Annotations[lenient.PausedByAnnotation]; marked && until != nil && pauses(*until, now) {
			out = append(out, problem.New(problem.PausedForBackup, problem.Subject{Kind: kind, Namespace: x.Namespace, Name: x.Name},
				problem.Args{"annotation": {lenient.PausedByAnnotation}}))
		}
	}
	add("HostedCluster", o.HostedCluster.ObjectMeta, o.HostedCluster.Spec.PausedUntil)
	for _, np := range o.NodePools {
		add("NodePool", np.ObjectMeta, np.Spec.PausedUntil)
	}
	return out
}

func pauses(value string, now time.Time) bool {
	until, err := time.Parse(time.RFC3339, value)
	return strings.EqualFold(value, "true") || err == nil && now.Before(until)
}
