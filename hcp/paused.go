// This file decides whether a hosted cluster is paused. oooi changes nothing of a
// paused cluster.

package hcp

import (
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
)

// Paused reports whether hc is paused at time now, by the annotation paused or by
// spec.pausedUntil. An invalid value does not pause.
func Paused(hc *hyperv1.HostedCluster, now time.Time) bool {
	values := []string{hc.Annotations[settings.Prefix+settings.KeyPaused]}
	if p := hc.Spec.PausedUntil; p != nil {
		values = append(values, *p)
	}
	for _, v := range values {
		if until, err := time.Parse(time.RFC3339, v); strings.EqualFold(v, "true") || err == nil && now.Before(until) {
			return true
		}
	}
	return false
}
