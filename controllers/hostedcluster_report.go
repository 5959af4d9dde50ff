// This file decides what the HostedCluster's condition says, and writes it and
// an Event, both only when it changes. It touches no other field, and never
// updates: what HyperShift writes beside it stays.

package controllers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// Reasons of the condition that are not a problem's.
const (
	// Served: everything the annotations ask for is served.
	Served = "Served"
	// ServedWithLimits: it is served; the message says what machines will miss.
	ServedWithLimits = "ServedWithLimits"
	// EdgeNotReady: an edge does not serve (yet); the message says which.
	EdgeNotReady = "EdgeNotReady"
	// optedOut is the Event's reason when everything was removed.
	optedOut = "OptedOut"
)

// maxMessage in bytes keeps room below the 32 KiB that a condition may have;
// maxNote is an Event's limit.
const (
	maxMessage = 16 << 10
	maxNote    = 1 << 10
)

// condition is what the HostedCluster should say. ok is false where it should
// say nothing.
func condition(w world, d decision, o outcome, now time.Time) (c metav1.Condition, ok bool) {
	if d.action == remove {
		return c, false
	}
	c = metav1.Condition{
		Type:               ConditionType,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: w.HostedCluster.Generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	}
	var text string
	c.Reason, text = verdict(d, o)
	if c.Reason == Served || c.Reason == ServedWithLimits {
		c.Status = metav1.ConditionTrue
	}
	c.Message = fmt.Sprintf("%s (settings %s)", shorten(text, maxMessage), Settings(w.HostedCluster, w.NodePools))
	if before := meta.FindStatusCondition(w.HostedCluster.Status.Conditions, ConditionType); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c, true
}

// verdict is the condition's reason, and its message without the settings. What
// the user must mend comes first, then what is waited for.
func verdict(d decision, o outcome) (reason, text string) {
	problems := d.problems.ByUrgency()
	notReady := notReady(o)
	switch {
	case d.problems.Blocking():
		// What is waited for besides is no news while nothing is applied.
		toMend := slices.DeleteFunc(problems, func(p network.Problem) bool { return p.Reason.Waits() })
		return string(toMend[0].Reason), details(toMend) + after(d, o)
	case d.problems.Waiting():
		return string(problems[0].Reason), details(problems) + after(d, o)
	case len(notReady) > 0:
		return EdgeNotReady, strings.Join(notReady, " ") + details(prefixed(" Also: ", problems))
	case len(problems) > 0:
		return ServedWithLimits, serves(d.plan) + details(prefixed(" But ", problems))
	}
	return Served, serves(d.plan)
}

func details(problems []network.Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Detail)
	}
	return strings.Join(all, " ")
}

// prefixed puts a word before the first detail.
func prefixed(word string, problems []network.Problem) []network.Problem {
	out := slices.Clone(problems)
	if len(out) > 0 {
		out[0].Detail = word + out[0].Detail
	}
	return out
}

// after says what goes on meanwhile.
func after(d decision, o outcome) string {
	switch {
	case d.action == leave && len(o.edges) > 0:
		return " What runs goes on with the last good plan."
	case d.action == leave:
		return " Nothing is applied."
	case len(o.edges) > 0:
		return " The rest is served."
	}
	return ""
}

func serves(p network.Plan) string {
	var all []string
	for _, n := range p.Networks {
		what := "addresses only"
		if n.Primary {
			what = "DHCP, DNS and the control plane at " + n.ServiceAddress.String()
		}
		all = append(all, fmt.Sprintf("Network %s (%s) is served: %s.", n.Attachment, n.CIDR, what))
	}
	return strings.Join(all, " ")
}

// notReady is a sentence for each edge that does not serve.
func notReady(o outcome) []string {
	var out []string
	for _, d := range o.edges {
		s := d.Status
		current := s.ObservedGeneration >= d.Generation && s.UpdatedReplicas > 0 && s.Replicas == s.UpdatedReplicas
		if current && s.AvailableReplicas > 0 {
			continue
		}
		why := "its pod is not ready"
		for _, c := range s.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				why = "its pod is refused: " + c.Message
			}
		}
		out = append(out, fmt.Sprintf("Edge %s does not serve: %s. Its pods: kubectl -n %s describe pod -l %s=%s.", d.Name, why, d.Namespace, labelNetwork, d.Labels[labelNetwork]))
	}
	return out
}

// Settings is a hash (8 hexadecimal digits) of all annotations of ours on the
// HostedCluster and its NodePools. The condition's message ends with it, since
// annotations don't raise a generation: who changed one can wait for its hash.
func Settings(hc *hyperv1.HostedCluster, pools []hyperv1.NodePool) string {
	sum := sha256.New()
	add := func(of string, annotations map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(annotations)) {
			if strings.HasPrefix(key, hcp.Prefix) {
				fmt.Fprintf(sum, "%q %q %q\n", of, key, annotations[key])
			}
		}
	}
	add("", hc.Annotations)
	for _, np := range slices.SortedFunc(slices.Values(pools), func(a, b hyperv1.NodePool) int { return cmp.Compare(a.Name, b.Name) }) {
		add(np.Name, np.Annotations)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// shorten cuts s to at most limit bytes, at the end of a rune.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "..."
}

// report writes the condition where it differs from what is there, once the
// decision is carried out.
func (r *Reconciler) report(ctx context.Context, w world, d decision, o outcome) error {
	hc := w.HostedCluster
	if d.action == ignore || o.unfinished {
		return nil
	}
	r.Metrics.observe(w, d, o)
	before := meta.FindStatusCondition(hc.Status.Conditions, ConditionType)
	want, ok := condition(w, d, o, r.Now())
	switch {
	case !ok && before == nil:
		return nil
	case ok && before != nil && *before == want:
		return nil
	}
	status := map[string]any{}
	if ok {
		c, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want)
		if err != nil {
			return err
		}
		status["conditions"] = []any{c}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	u.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedCluster"))
	u.SetNamespace(hc.Namespace)
	u.SetName(hc.Name)
	err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(FieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the condition of %s: %w", clusterName(hc), err)
	}
	r.announce(hc, before, want, ok)
	return nil
}

// announce emits an Event where the verdict changed, not where only words did.
func (r *Reconciler) announce(hc *hyperv1.HostedCluster, before *metav1.Condition, now metav1.Condition, there bool) {
	switch {
	case !there:
		r.Events.Eventf(hc, nil, corev1.EventTypeNormal, optedOut, "Remove", "%s", "Everything of ours was removed from the control plane namespace.")
	case before == nil || before.Status != now.Status || before.Reason != now.Reason:
		kind := corev1.EventTypeNormal
		if now.Status == metav1.ConditionFalse && now.Reason != EdgeNotReady && !network.Reason(now.Reason).Waits() {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(hc, nil, kind, now.Reason, "Serve", "%s", shorten(now.Message, maxNote))
	}
}
