// This file decides whether a hosted cluster is paused. oooi does not change anything for a paused cluster.

package hcp

import (
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Paused reports whether hc is paused at the time now, by the annotation paused or by spec.pausedUntil. An invalid
// value does not pause.
func Paused(hc *hyperv1.HostedCluster, now time.Time) bool { return PausedBy(hc, now) != "" }

// PausedBy returns the annotation key (without prefix) or the field that pauses hc at the time now. Empty: hc is not
// paused.
func PausedBy(hc *hyperv1.HostedCluster, now time.Time) string {
	if pauses(hc.Annotations[settings.Prefix+network.KeyPaused], now) {
		return network.KeyPaused
	}
	if p := hc.Spec.PausedUntil; p != nil && pauses(*p, now) {
		return "spec.pausedUntil"
	}
	return ""
}

func pauses(value string, now time.Time) bool {
	until, err := time.Parse(time.RFC3339, value)
	return strings.EqualFold(value, "true") || err == nil && now.Before(until)
}
