// This file reads the Report that was made last.

package gather

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
)

// A LastReport is the last report about one hosted cluster.
type LastReport struct {
	// Report is the last Report, or the one that the previous operator stored. Written is zero if it is not stored.
	Report explain.Report
	// Condition is the last condition that the operator wrote to the HostedCluster or found there unchanged. Nil:
	// there was none. Version is the resource version of the HostedCluster with this condition. Empty: nothing was
	// written yet. At is when the operator wrote last.
	Condition *metav1.Condition
	Version   string
	At        time.Time
}

// overlay sets the last written condition in hc if the cache does not have it yet. So no second Event is emitted about
// it. If the cache stays older for longer than own.UnseenFor, etcd was restored, and the cache counts.
func (l *LastReport) overlay(hc *hyperv1.HostedCluster, now time.Time) {
	if l == nil || l.Version == "" || now.Sub(l.At) >= own.UnseenFor {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(hc.ResourceVersion, l.Version); err != nil || order >= 0 {
		return
	}
	hc.ResourceVersion = l.Version
	meta.RemoveStatusCondition(&hc.Status.Conditions, own.ConditionType)
	if l.Condition != nil {
		hc.Status.Conditions = append(hc.Status.Conditions, *l.Condition)
	}
}

// readReport returns the last Report about hc. After a restart it reads the stored Report once, so that its problems
// get no second Event. A cluster without a condition has no Report. A Report that cannot be read is only logged.
func (r Reader) readReport(ctx context.Context, hc *hyperv1.HostedCluster, last *LastReport) (out explain.Report) {
	if last != nil {
		return last.Report
	}
	if own.ConditionOf(hc) == nil {
		return out
	}
	stored, key := &corev1.ConfigMap{}, own.StatusKey(hcp.ControlPlaneNamespace(hc))
	err := requests.InTime(ctx, func(ctx context.Context) error { return r.Live.Get(ctx, key.NamespacedName, stored) })
	if apierrors.IsNotFound(err) || err == nil && !own.IsOf(stored, hc.Name) {
		return out
	}
	var report explain.Report
	if err == nil {
		report, err = explain.ReadReport([]byte(stored.Data[wire.StatusKey]))
	}
	switch {
	case err != nil:
		logr.FromContextOrDiscard(ctx).Error(err, "stored status not read")
	case report.Cluster == own.ClusterName(hc):
		out = report
	}
	return out
}
