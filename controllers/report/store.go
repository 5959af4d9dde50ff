// This file stores the Report of each hosted cluster in a ConfigMap, for `oooi status` and for the next start of the
// operator. It is written when it changes, and every ten minutes to show that the operator still runs.

package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

// StatusEvery is how often an unchanged status is stored again, as long as passes of its cluster succeed.
const StatusEvery = 10 * time.Minute

// storable returns the Report to store. ok is false if nothing is served, or if the operator has no rights in the control
// plane namespace.
func storable(w gather.World, d decide.Decision, v verdict, build string) (r explain.Report, ok bool) {
	if d.Action == decide.Ignore || d.Action == decide.Remove || !w.HasControlPlane() || w.Binding == nil {
		return v.Report, false
	}
	r = v.Report
	r.Build = build
	r.Cluster, r.Generation, r.Plan = own.ClusterName(w.HostedCluster), w.HostedCluster.Generation, explain.PlanHash(planAfter(w, d))
	if !w.Incomplete && hcp.OptedIn(w.HostedCluster) {
		r.Inputs = Inputs(w.Objects)
	}
	return r, true
}

// planAfter returns the plan in force after d, as it is stored, or "" if it has no networks.
func planAfter(w gather.World, d decide.Decision) string {
	if d.Action == decide.Serve {
		return textOf(d.Plan, string(d.Plan.JSON()))
	}
	for _, u := range d.Desired {
		if u.GroupVersionKind() != own.ConfigMapKind {
			continue
		}
		data, _ := u.Object["data"].(map[string]any)
		text, _ := data[wire.PlanKey].(string)
		if p, err := network.ReadPlan([]byte(text)); err == nil {
			return textOf(p, text)
		}
	}
	return textOf(w.Last, w.LastText)
}

func textOf(p network.Plan, text string) string {
	if len(p.Networks) == 0 {
		return ""
	}
	return text
}

// keep stores the Report unless it was stored recently, and returns it. A failure is only logged: readers notice an old
// Report.
func (r Reporter) keep(ctx context.Context, w gather.World, d decide.Decision, v verdict) explain.Report {
	report, ok := storable(w, d, v, r.Build)
	if !ok {
		return report
	}
	now, last := r.Now(), w.PreviousReport
	if report.Written = last.Written; now.Sub(last.Written) < StatusEvery-time.Minute && string(report.JSON()) == string(last.JSON()) {
		return report
	}
	report.Written = now.UTC().Truncate(time.Second)
	if err := r.writeStatus(ctx, w, report); err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "status not stored")
		report.Written = time.Time{}
	}
	return report
}

// writeStatus stores s. It does not change an object of that name that is not oooi's.
func (r Reporter) writeStatus(ctx context.Context, w gather.World, s explain.Report) error {
	key := own.StatusKey(w.ControlPlane.Namespace)
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(key.Kind)
	err := requests.InTime(ctx, func(ctx context.Context) error { return r.Live.Get(ctx, key.NamespacedName, live) })
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case !own.IsOf(live, w.HostedCluster.Name):
		return fmt.Errorf("ConfigMap %s: %w", key.NamespacedName, own.ErrForeign)
	}
	u := own.Object(w.ControlPlane, corev1ac.ConfigMap(key.Name, key.Namespace).
		WithLabels(wire.NamedLabels(wire.StatusConfigMap)).
		WithData(map[string]string{wire.StatusKey: string(s.JSON())}))
	return requests.InTime(ctx, func(ctx context.Context) error {
		return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
}

// Inputs returns a hash (16 hexadecimal digits) of the fields in o that oooi reads. It covers NodePools and NADs
// without their status, Services and Routes, and the HostedCluster's metadata. The spec of the HostedCluster has a
// generation; its status is in no hash. `oooi status` compares the hash with that of the current objects. Both decode
// only fields that are read (package lenient).
func Inputs(o hcp.Objects) string {
	var all []string
	add := func(kind string, meta metav1.ObjectMeta, read ...any) {
		meta.ResourceVersion, meta.Generation, meta.ManagedFields = "", 0, nil
		b, err := json.Marshal([]any{kind, meta, read})
		if err != nil {
			panic("report: fields of objects are always JSON: " + err.Error())
		}
		all = append(all, string(b))
	}
	add("HostedCluster", o.HostedCluster.ObjectMeta)
	for _, np := range o.NodePools {
		add("NodePool", np.ObjectMeta, np.Spec)
	}
	for i := range o.Services {
		if s := services.CachedService(&o.Services[i]); !own.IsService(s.Name) {
			add("Service", s.ObjectMeta, s.Spec, s.Status)
		}
	}
	for _, nad := range o.NetworkAttachmentDefinitions {
		add("NetworkAttachmentDefinition", nad.ObjectMeta, nad.Spec)
	}
	for _, route := range o.Routes {
		add("Route", route.ObjectMeta, route.Spec, route.Status)
	}
	slices.Sort(all)
	sum := sha256.Sum256(fmt.Append(nil, all))
	return hex.EncodeToString(sum[:8])
}
