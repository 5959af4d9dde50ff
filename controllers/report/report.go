// Package report writes the HostedCluster's condition, its Events, metrics and log lines, each only when it changes,
// and stores the Report. Package explain has the texts. It does not change any other field of the HostedCluster.
package report

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/rollout"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// optedOut is the reason of the Event after everything was removed.
const optedOut = "OptedOut"

// A verdict is the result for one hosted cluster. Metrics, the condition, Events and log lines are made from it.
type verdict struct {
	// AllProblems also has the problems that do not matter until the plan is applied.
	AllProblems problem.Problems
	explain.Report
}

func verdictOf(w gather.World, d decide.Decision, o apply.Outcome) verdict {
	problems := slices.Concat(d.Problems, o.Problems, decide.EdgeProblems(d, o.Edges, w.EdgeReports))
	running := problems.Has(problem.EdgeNotReady) || slices.ContainsFunc(o.Edges, func(e gather.Edge) bool { return e.Role == gather.RoleEdge })
	s := explain.Status{
		Plan: d.Plan, Problems: problems, Applied: d.Memory(), Running: running,
		ReadyEdges: map[string]int{}, Settings: settingsOf(w),
	}
	for _, n := range d.Plan.Networks {
		s.ReadyEdges[n.Name] = len(gather.Available(o.Edges, wire.NetworkLabel(n.Name)))
	}
	v := verdict{problems, s.Report()}
	v.Neighbors = neighborsOf(w)
	for _, e := range o.Edges {
		if e.Lost() {
			v.UnavailableEdges = append(v.UnavailableEdges, explain.UnavailableEdge{Subject: e.Subject(), Since: e.UnavailableSince()})
		}
	}
	return v
}

func conditionOf(w gather.World, d decide.Decision, v verdict, now time.Time) (c metav1.Condition, ok bool) {
	if d.Action == decide.Remove && !v.AllProblems.Has(problem.Removing) {
		return c, false
	}
	c = metav1.Condition{
		Type:               own.ConditionType,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: w.HostedCluster.Generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		Reason:             string(v.Reason),
		Message:            v.Message(),
	}
	if v.Ready {
		c.Status = metav1.ConditionTrue
	}
	if before := own.ConditionOf(w.HostedCluster); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c, true
}

// Settings returns a hash (8 hexadecimal digits) of all oooi annotations on o's HostedCluster, NodePools, Services and NADs.
// The condition's message ends with it. Annotations do not raise the generation, so scripts wait for a new hash.
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

// A Reporter writes reports about hosted clusters.
type Reporter struct {
	own.Store
	Events  events.EventRecorder
	Metrics *Metrics
	Build   string
}

// Report writes the condition if it differs, once the decision is carried out. Edges that were lost since the last
// Report get an Event even if the condition does not change. It returns what was reported, or nil.
func (r Reporter) Report(ctx context.Context, w gather.World, d decide.Decision, o apply.Outcome) (*gather.LastReport, error) {
	hc := w.HostedCluster
	key := client.ObjectKeyFromObject(hc)
	if d.Action == decide.Ignore {
		r.Metrics.ForgetCluster(key) // Otherwise the cluster's last state would keep alerts firing.
		return nil, nil
	}
	if o.Unfinished {
		return nil, nil
	}
	v := verdictOf(w, d, o)
	r.Metrics.observe(w, d, v)
	before, version := own.ConditionOf(hc), hc.ResourceVersion
	want, exists := conditionOf(w, d, v, r.Now())
	told := problem.Reason("")
	changed := exists != (before != nil) || exists && *before != want
	if changed {
		var err error
		version, err = r.writeCondition(ctx, hc, want, exists)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if exists {
			r.Metrics.written(key, err == nil)
		}
		if err != nil {
			return nil, fmt.Errorf("writing the condition of HostedCluster %s: %w", own.ClusterName(hc), err)
		}
		logCondition(logr.FromContextOrDiscard(ctx), d, v, exists)
		told = r.announce(hc, before, v, exists)
	} else if exists {
		r.Metrics.written(key, true) // A write that failed may have had an effect, or is no longer needed.
	}
	now := &gather.LastReport{Report: r.keep(ctx, w, d, v), Version: version}
	if changed {
		now.At = r.Now()
	}
	if exists {
		now.Condition = &want
	}
	for _, p := range begun(v.Report, w.PreviousReport, told) {
		r.Events.Eventf(hc, nil, corev1.EventTypeWarning, string(p.Reason), apply.ActionServe, "%s", p.Event())
	}
	return now, nil
}

// writeCondition writes want, or removes the condition if exists is false. It returns the new resource version.
func (r Reporter) writeCondition(ctx context.Context, hc *hyperv1.HostedCluster, want metav1.Condition, exists bool) (string, error) {
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
	err := requests.InTime(ctx, func(ctx context.Context) error {
		return r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
	})
	return u.GetResourceVersion(), err
}

// announce emits an Event if the status or the reason of the condition changed. told is the reason of that Event, or
// empty if there is none.
func (r Reporter) announce(hc *hyperv1.HostedCluster, before *metav1.Condition, v verdict, exists bool) (told problem.Reason) {
	if !exists {
		r.Events.Eventf(hc, nil, corev1.EventTypeNormal, optedOut, apply.ActionRemove, "%s", explain.OptedOut)
		return optedOut
	}
	wasReady := before != nil && before.Status == metav1.ConditionTrue
	if before != nil && wasReady == v.Ready && before.Reason == string(v.Reason) {
		return ""
	}
	kind := corev1.EventTypeNormal
	proven := !v.Ready && v.Severity() == problem.SeverityWarning
	if v.Severity() == problem.SeverityError || proven || wasReady && v.Reason == problem.EdgeNotReady {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(hc, nil, kind, string(v.Reason), apply.ActionServe, "%s", v.Event())
	return v.Reason
}

// logCondition logs a written condition, with all problems and the edges that wait.
func logCondition(log logr.Logger, d decide.Decision, v verdict, exists bool) {
	if !exists {
		log.Info("condition removed")
		return
	}
	log.Info("condition changed", "ready", v.Ready, "reason", v.Reason, "applied", d.Action == decide.Serve)
	for _, p := range v.AllProblems {
		log.Info("problem", "reason", p.Reason, "cause", p.Cause, "severity", p.Level(), "subject", p.Subject.String(),
			"detail", explain.Problem(p).String())
	}
	for _, s := range d.Steps() {
		if d.Action == decide.Serve && (s.Action == rollout.Keep || s.Action == rollout.Hold && s.Peer != "") {
			apply.LogStep(log, d, s)
		}
	}
}

// neighborsOf returns the other hosted clusters on w's networks, or those of the last Report if a read failed.
func neighborsOf(w gather.World) (out []string) {
	if w.Incomplete {
		return w.PreviousReport.Neighbors
	}
	for _, o := range w.Others {
		out = append(out, o.Name)
	}
	return out
}

// settingsOf returns the hash of the annotations. If a read failed, it returns the last Report's hash, because a new
// hash means that a change was seen.
func settingsOf(w gather.World) string {
	if w.Incomplete {
		return w.PreviousReport.Settings
	}
	return Settings(w.Objects)
}
