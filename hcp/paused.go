// This file decides whether a hosted cluster is paused: while it is, nothing of
// it may be changed.

package hcp

import (
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
)

// Paused says whether nothing of hc may be changed at this time, by our
// annotation or by spec.pausedUntil. A value that can't be read does not pause.
func Paused(hc *hyperv1.HostedCluster, now time.Time) bool {
	said := []string{hc.Annotations[settings.Prefix+settings.KeyPaused]}
	if p := hc.Spec.PausedUntil; p != nil {
		said = append(said, *p)
	}
	for _, v := range said {
		if until, err := time.Parse(time.RFC3339, v); strings.EqualFold(v, "true") || err == nil && now.Before(until) {
			return true
		}
	}
	return false
}
