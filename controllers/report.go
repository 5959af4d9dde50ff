// This file writes the HostedCluster's condition, its Events and its log lines, each only when
// it changes. Package explain has the texts. It changes no other field, so HyperShift's
// fields are kept.

package controllers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// Reasons of Events that are not a condition's.
const (
	// optedOut: everything was removed.
	optedOut = "OptedOut"
	// actionServe and actionRemove are the actions that Events are about.
	actionServe  = "Serve"
	actionRemove = "Remove"
)

// A verdict is the result for one hosted cluster after a decision was carried out. Metrics, condition, Events and logs are
// made from it.
type verdict struct {
	// problems are all of them, also those that do not matter until the plan is applied.
	problems network.Problems
	explain.Report
}

func verdictOf(w world, d decision, o outcome) verdict {
	problems := slices.Concat(d.problems, o.problems, edgeProblems(d, o.edges, w.reports))
	running := problems.Has(network.EdgeNotReady) || slices.ContainsFunc(o.edges, func(e Edge) bool { return e.Role == roleEdge })
	s := explain.Status{
		Plan: d.plan, Problems: problems, Applied: d.applied(), Running: running,
		ReadyEdges: map[string]int{}, OtherClusters: d.others, Settings: w.settings(),
	}
	for _, n := range d.plan.Networks {
		s.ReadyEdges[n.Name] = len(available(o.edges, wire.NetworkLabel(n.Name)))
	}
	v := verdict{problems, s.Report()}
	for _, e := range o.edges {
		if e.lost() {
			v.UnavailableEdges = append(v.UnavailableEdges, explain.UnavailableEdge{Subject: e.subject(), Since: e.unavailableSince()})
		}
	}
	return v
}

// applied reports whether d.plan is in force.
func (d decision) applied() bool {
	return d.action == serve || d.action == keep && len(d.plan.Networks) > 0
}

// condition is the condition of the HostedCluster. ok is false if it should have none.
func condition(w world, d decision, v verdict, now time.Time) (c metav1.Condition, ok bool) {
	if d.action == remove && !v.problems.Has(network.Removing) {
		return c, false
	}
	c = metav1.Condition{
		Type:               ConditionType,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: w.HostedCluster.Generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		Reason:             string(v.Reason),
		Message:            v.Message(),
	}
	if v.Ready {
		c.Status = metav1.ConditionTrue
	}
	if before := conditionOf(w.HostedCluster); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c, true
}

// conditionOf is our condition on hc, nil where it has none.
func conditionOf(hc *hyperv1.HostedCluster) *metav1.Condition {
	return meta.FindStatusCondition(hc.Status.Conditions, ConditionType)
}

// settings is the hash of the annotations that were read. If a read failed, it is the one that was
// reported last: a new hash says that a change was seen. Empty: unknown.
func (w world) settings() string {
	if w.partial {
		return w.reported.Settings
	}
	return Settings(w.Objects)
}

// Settings is a hash (8 hexadecimal digits) of all oooi annotations on o's
// HostedCluster, NodePools, Services and NADs. The condition's message ends with it,
// because annotations do not raise a generation: after a change a script can wait for
// the new hash.
func Settings(o hcp.Objects) string {
	var all []string
	add := func(kind string, of metav1.Object) {
		for key, value := range of.GetAnnotations() {
			if strings.HasPrefix(key, settings.Prefix) {
				all = append(all, fmt.Sprintf("%q %q %q %q %q", kind, of.GetNamespace(), of.GetName(), key, value))
			}
		}
	}
	add("HostedCluster", o.HostedCluster)
	for i := range o.NodePools {
		add("NodePool", &o.NodePools[i])
	}
	for i := range o.Services {
		add("Service", &o.Services[i])
	}
	for i := range o.NetworkAttachmentDefinitions {
		add("NetworkAttachmentDefinition", &o.NetworkAttachmentDefinitions[i])
	}
	slices.Sort(all)
	sum := sha256.Sum256([]byte(strings.Join(all, "\n")))
	return hex.EncodeToString(sum[:4])
}

// report writes the condition where it differs from what exists, once the decision is
// carried out. Edges that were lost since the last Report have an Event even where the
// condition stays.
func (r *Reconciler) report(ctx context.Context, w world, d decision, o outcome) error {
	hc := w.HostedCluster
	key := client.ObjectKeyFromObject(hc)
	if d.action == ignore {
		r.Metrics.forget(key) // Its last state would keep alerts firing.
		return nil
	}
	if o.unfinished {
		return nil
	}
	v := verdictOf(w, d, o)
	r.Metrics.observe(w, d, v)
	before, version := conditionOf(hc), hc.ResourceVersion
	want, exists := condition(w, d, v, r.Now())
	told := network.Reason("")
	changed := exists != (before != nil) || exists && *before != want
	if changed {
		var err error
		version, err = r.writeCondition(ctx, hc, want, exists)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if exists {
			r.Metrics.written(key, err == nil)
		}
		if err != nil {
			return fmt.Errorf("writing the condition of HostedCluster %s: %w", clusterName(hc), err)
		}
		logCondition(logr.FromContextOrDiscard(ctx), d, v, exists)
		told = r.announce(hc, before, v, exists)
	} else if exists {
		r.Metrics.written(key, true) // A write that failed may have had an effect, or is not needed any more.
	}
	now := &reportedLast{report: r.store(ctx, w, d, v), version: version}
	if exists {
		now.condition = &want
	}
	r.memory.change(key, func(m *remembered) { m.reported = now })
	for _, p := range begun(v.Report, w.reported, told) {
		r.Events.Eventf(hc, nil, corev1.EventTypeWarning, string(p.Reason), actionServe, "%s", p.Event())
	}
	return nil
}

// writeCondition replaces the condition by want, or removes it unless it exists. It returns the
// resource version of the HostedCluster after that.
func (r *Reconciler) writeCondition(ctx context.Context, hc *hyperv1.HostedCluster, want metav1.Condition, exists bool) (string, error) {
	status := map[string]any{}
	if exists {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
		if err != nil {
			return "", err
		}
		status["conditions"] = []any{c}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	u.SetNamespace(hc.Namespace)
	u.SetName(hc.Name)
	err := inTime(ctx, func(ctx context.Context) error {
		return r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
	return u.GetResourceVersion(), err
}

// announce emits an Event where the condition's status or reason changed, not where
// only words did. told is the reason of that Event, empty where there was none.
func (r *Reconciler) announce(hc *hyperv1.HostedCluster, before *metav1.Condition, v verdict, exists bool) (told network.Reason) {
	if !exists {
		r.Events.Eventf(hc, nil, corev1.EventTypeNormal, optedOut, actionRemove, "%s", explain.OptedOut)
		return optedOut
	}
	wasReady := before != nil && before.Status == metav1.ConditionTrue
	if before != nil && wasReady == v.Ready && before.Reason == string(v.Reason) {
		return ""
	}
	kind := corev1.EventTypeNormal
	if v.Severity() == network.SeverityError || wasReady && v.Reason == network.EdgeNotReady {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(hc, nil, kind, string(v.Reason), actionServe, "%s", v.Event())
	return v.Reason
}
