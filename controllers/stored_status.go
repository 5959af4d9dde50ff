// This file stores the Report of each hosted cluster in a ConfigMap of its own, for `oooi status` and for the operator that runs
// next. A ConfigMap of its own wakes no edge. It is written if it changes, and every ten minutes, which says that the
// operator still looks.

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// StatusEvery is how often an equal status is stored again, if passes of its cluster succeed.
const StatusEvery = 10 * time.Minute

// statusKey is the ConfigMap with the status. No cache has it.
func statusKey(ns string) ownKey {
	return ownKey{configMapKind, types.NamespacedName{Namespace: ns, Name: wire.StatusConfigMap}}
}

// lastReport is the Report about hc that was made last. After a restart it is read once, as it was stored: what had an Event
// gets no second one. A cluster without a condition has none, and one that cannot be read is only logged.
func (r *Reconciler) lastReport(ctx context.Context, hc *hyperv1.HostedCluster, last *reportedLast) (out explain.Report) {
	if last != nil {
		return last.report
	}
	if conditionOf(hc) == nil {
		return out
	}
	stored, key := &corev1.ConfigMap{}, statusKey(hcp.ControlPlaneNamespace(hc))
	err := inTime(ctx, func(ctx context.Context) error { return r.Live.Get(ctx, key.NamespacedName, stored) })
	if apierrors.IsNotFound(err) || err == nil && !isOf(stored, hc.Name) {
		return out
	}
	var report explain.Report
	if err == nil {
		report, err = explain.ReadReport([]byte(stored.Data[wire.StatusKey]))
	}
	switch {
	case err != nil:
		logr.FromContextOrDiscard(ctx).Error(err, "stored status not read")
	case report.Cluster == clusterName(hc):
		out = report
		r.memory.change(client.ObjectKeyFromObject(hc), func(m *remembered) { m.reported = &reportedLast{report: out} })
	}
	return out
}

// storable is the Report to store, without its time. ok is false if there is none: nothing is served, or the operator
// has no rights in the control plane namespace.
func storable(w world, d decision, v verdict, build string) (r explain.Report, ok bool) {
	if d.action == ignore || d.action == remove || !w.hasControlPlane() || w.binding == nil {
		return v.Report, false
	}
	r = v.Report
	r.Build = build
	r.Cluster, r.Generation, r.Plan = clusterName(w.HostedCluster), w.HostedCluster.Generation, explain.PlanHash(planAfter(w, d))
	if !w.partial && hcp.OptedIn(w.HostedCluster) {
		r.Inputs = Inputs(w.Objects)
	}
	return r, true
}

// planAfter is the plan in force once d is carried out, as it is stored. Empty: it has no networks.
func planAfter(w world, d decision) string {
	if d.action == serve {
		return textOf(d.plan, string(d.plan.JSON()))
	}
	for _, u := range d.desired {
		if u.GroupVersionKind() != configMapKind {
			continue
		}
		data, _ := u.Object["data"].(map[string]any)
		text, _ := data[wire.PlanKey].(string)
		if p, err := network.ReadPlan([]byte(text)); err == nil {
			return textOf(p, text)
		}
	}
	return textOf(w.last, w.lastText)
}

// textOf is text, which is p. Empty: p has no networks.
func textOf(p network.Plan, text string) string {
	if len(p.Networks) == 0 {
		return ""
	}
	return text
}

// store stores the Report unless it was stored of late, and returns it. That it cannot be stored is no fault of the hosted
// cluster, so it is only logged: a reader notices that it is old.
func (r *Reconciler) store(ctx context.Context, w world, d decision, v verdict) explain.Report {
	report, ok := storable(w, d, v, r.Options.Build)
	if !ok {
		return report
	}
	now, last := r.Now(), w.reported
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

// writeStatus writes s. An object of others with that name stays.
func (r *Reconciler) writeStatus(ctx context.Context, w world, s explain.Report) error {
	key := statusKey(w.controlPlane.Namespace)
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(key.kind)
	err := inTime(ctx, func(ctx context.Context) error { return r.Live.Get(ctx, key.NamespacedName, live) })
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case !isOf(live, w.HostedCluster.Name):
		return fmt.Errorf("ConfigMap %s: %w", key.NamespacedName, errNotOwn)
	}
	u := object(w, corev1ac.ConfigMap(key.Name, key.Namespace).
		WithLabels(wire.NamedLabels(wire.StatusConfigMap)).
		WithData(map[string]string{wire.StatusKey: string(s.JSON())}))
	return inTime(ctx, func(ctx context.Context) error {
		return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
}

// Inputs is a hash (16 hexadecimal digits) of the fields of o's NodePools, NADs, Services and Routes that plans are made from,
// without annotations, which Settings covers. `oooi status` compares it with that of the objects of now.
func Inputs(o hcp.Objects) string {
	var all []string
	add := func(of metav1.Object, fields ...any) {
		b, err := json.Marshal(fields)
		if err != nil {
			panic("controllers: fields of objects are always JSON: " + err.Error())
		}
		all = append(all, fmt.Sprintf("%T %s/%s %s", of, of.GetNamespace(), of.GetName(), b))
	}
	for i := range o.NodePools {
		np := &o.NodePools[i]
		var on any
		if k := np.Spec.Platform.Kubevirt; k != nil {
			on = []any{k.AdditionalNetworks, k.AttachDefaultNetwork, k.NodeSelector}
		}
		add(np, np.Spec.ClusterName, np.Spec.Replicas, maxOf(np.Spec.AutoScaling), on, np.DeletionTimestamp != nil)
	}
	for i := range o.Services {
		if s := hcp.CachedService(&o.Services[i]); !isOwnService(s.Name) {
			add(s, s.Spec, s.Status.LoadBalancer, s.DeletionTimestamp != nil)
		}
	}
	for i := range o.NetworkAttachmentDefinitions {
		nad := &o.NetworkAttachmentDefinitions[i]
		add(nad, nad.Spec.Config)
	}
	for i := range o.Routes {
		route := &o.Routes[i]
		var hosts []string
		for _, ingress := range route.Status.Ingress {
			hosts = append(hosts, ingress.Host)
		}
		add(route, route.Spec.Host, route.Spec.To.Name, route.Spec.Port, hosts)
	}
	slices.Sort(all)
	sum := sha256.Sum256(fmt.Append(nil, all))
	return hex.EncodeToString(sum[:8])
}

// maxOf is the most nodes that a is for. Nil: it is not set.
func maxOf(a *hyperv1.NodePoolAutoScaling) any {
	if a == nil {
		return nil
	}
	return a.Max
}
