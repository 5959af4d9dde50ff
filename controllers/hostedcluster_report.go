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
	"slices"
	"strings"
	"time"

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

// Reasons of the condition that are not a problem's.
const (
	// Ready: everything the annotations ask for is served.
	Ready = "Ready"
	// ReadyWithWarnings: it is served; the message says what machines will miss.
	ReadyWithWarnings = "ReadyWithWarnings"
	// EdgeNotReady: no edge of a network serves (yet); the message says which.
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
	if c.Reason == Ready || c.Reason == ReadyWithWarnings {
		c.Status = metav1.ConditionTrue
	}
	c.Message = fmt.Sprintf("%s (settings %s)", shorten(text, maxMessage), Settings(w.Objects))
	if before := meta.FindStatusCondition(w.HostedCluster.Status.Conditions, ConditionType); before != nil && before.Status == c.Status {
		c.LastTransitionTime = before.LastTransitionTime
	}
	return c, true
}

// verdict is the condition's reason, and its message without the settings: how it
// is, in a sentence, then what the user must mend or misses.
func verdict(d decision, o outcome) (reason, text string) {
	problems := told(d.problems)
	lacking := limits(d, o)
	notReady := append(unanswered(d.plan, o), notServed(o)...)
	switch {
	case d.problems.Blocking():
		// What is waited for or missed besides is no news while nothing is applied.
		toMend := slices.DeleteFunc(problems, func(p network.Problem) bool { return !p.Blocking })
		return string(toMend[0].Reason), details(toMend) + after(d, o)
	case d.problems.Waiting() && d.action == serve && len(notReady) > 0:
		return string(problems[0].Reason), details(append(problems, lacking...)) + " " + strings.Join(notReady, " ") + through(d.plan)
	case d.problems.Waiting() && d.action == serve:
		return string(problems[0].Reason), details(append(problems, lacking...)) + after(d, o) + through(d.plan)
	case d.problems.Waiting():
		return string(problems[0].Reason), details(problems) + after(d, o)
	case len(notReady) > 0:
		return EdgeNotReady, strings.Join(notReady, " ") + introduced(" Also: ", append(lacking, problems...)) + through(d.plan)
	case len(lacking)+len(problems) > 0:
		return ReadyWithWarnings, serves(d.plan) + through(d.plan) + shared(d) + introduced(" But ", append(lacking, problems...))
	}
	return Ready, serves(d.plan) + through(d.plan) + shared(d)
}

// told are problems in the order in which a reader wants them: what is to be
// mended, what is waited for, what keeps machines from working, what is only
// said. Each once.
func told(problems network.Problems) network.Problems {
	grave := []network.Reason{network.ImagesUnreachable, network.AppsUnreachable, network.OAuthUnreachable, network.RangeTooSmall}
	slight := []network.Reason{network.NTPMissing, network.IPv6NotServed}
	rank := func(p network.Problem) int {
		switch {
		case slices.Contains(grave, p.Reason):
			return 0
		case slices.Contains(slight, p.Reason):
			return 2
		}
		return 1
	}
	var out network.Problems
	for _, p := range problems.ByUrgency() {
		if !slices.ContainsFunc(out, func(x network.Problem) bool { return explain.Problem(x) == explain.Problem(p) }) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b network.Problem) int {
		if a.Urgency() != network.Noted || b.Urgency() != network.Noted {
			return cmp.Compare(a.Urgency(), b.Urgency())
		}
		return cmp.Compare(rank(a), rank(b))
	})
	return out
}

// details are numbered where there are several, so that a reader sees where each
// begins.
func details(problems []network.Problem) string {
	var all []string
	for i, p := range problems {
		if len(problems) > 1 {
			all = append(all, fmt.Sprintf("(%d) %s", i+1, explain.Problem(p)))
			continue
		}
		all = append(all, explain.Problem(p).String())
	}
	return strings.Join(all, " ")
}

// introduced puts a word before the details, if there are any.
func introduced(word string, problems []network.Problem) string {
	if len(problems) == 0 {
		return ""
	}
	return word + details(problems)
}

// shared says who else is on the networks that are served.
func shared(d decision) string {
	var out strings.Builder
	for _, n := range d.plan.Networks {
		if by := n.OfferedBy(d.neighbours); len(by) > 0 {
			fmt.Fprintf(&out, " %s is on network %s too and still answers every machine there: mend its condition, or end its pause.", strings.Join(by, ", "), n.Attachment)
		} else if with := n.SharedWith(d.neighbours); len(with) > 0 {
			fmt.Fprintf(&out, " %s is on network %s too, so each answers its own machines only.", strings.Join(with, ", "), n.Attachment)
		}
	}
	return out.String()
}

// after says what goes on meanwhile.
func after(d decision, o outcome) string {
	runs := slices.ContainsFunc(o.edges, isEdge)
	switch {
	case d.action == leave && runs:
		return " What runs goes on with the last good plan."
	case d.action == leave:
		return " Nothing is applied."
	case runs:
		return " The rest is served."
	}
	return ""
}

// serves is a sentence for each network.
func serves(p network.Plan) string {
	var all []string
	for _, n := range p.Networks {
		what := "addresses only"
		if n.Primary {
			what = enumerated(n.Services) + " at " + n.ServiceAddress.String()
		}
		all = append(all, fmt.Sprintf("Network %s (%s) is served: %s.", n.Attachment, n.CIDR, what))
	}
	return strings.Join(all, " ")
}

// through says which hosts outside the edges let machines reach.
func through(p network.Plan) string {
	var hosts []string
	booted := false
	for _, n := range p.Networks {
		booted = booted || n.Primary
		for _, b := range n.Backends {
			if b.Kind == network.BackendOutside {
				hosts = append(hosts, b.Name)
			}
		}
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	switch {
	case len(hosts) > 0:
		return fmt.Sprintf(" Let through to the outside: %s, and nothing else.", strings.Join(hosts, ", "))
	case booted:
		return " No host outside is let through by an edge."
	}
	return ""
}

// enumerated are servers as a sentence lists them.
func enumerated(services []network.Service) string {
	words := map[network.Service]string{network.ServiceDHCP: "DHCP", network.ServiceDNS: "DNS", network.ServiceProxy: "the control plane"}
	var all []string
	for _, s := range services {
		all = append(all, words[s])
	}
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// Settings is a hash (8 hexadecimal digits) of all annotations of ours on o's
// HostedCluster, NodePools, Services and network attachment definitions. The
// condition's message ends with it, since annotations don't raise a generation:
// who changed one can wait for its hash.
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
	err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(wire.Owner), client.ForceOwnership)
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
