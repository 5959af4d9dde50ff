// This file tries failover: it evicts the edge to which a pod that acts as a VM connects repeatedly.

package check

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// failoverFor is how long the pod connects.
	failoverFor = 30 * time.Second
	// failoverAfter is how long it connects before the edge is evicted.
	failoverAfter = 5 * time.Second
	// failoverUntil is when it is too late to evict the edge: the rest of the time would show nothing.
	failoverUntil = 15 * time.Second
)

// An evictionTimes is when an edge is evicted, since the start of the pod that connects to it.
type evictionTimes struct{ after, until time.Duration }

// An edgePod is the pod of an edge.
type edgePod struct {
	edge  int
	pod   corev1.Pod
	ready bool
	// mac of its interface on the network, in lower case. Empty: Multus has not attached it yet.
	mac string
}

// failsOver tries failover on n from a pod with address.
func (t trier) failsOver(ctx context.Context, s status.Facts, n network.Network, address netip.Addr) checked {
	c := checked{Name: "failover", Verdict: unsure, Page: trialPages[network.TrialFailover].page}
	if len(n.Edges) < 2 {
		c.Why = "The network has one edge."
		return c
	}
	var taken edgePod
	during := func(ctx context.Context, pod *corev1.Pod) (err error) {
		if err := t.until(ctx, pod, corev1.PodRunning); err != nil {
			return err
		}
		began := time.Now()
		start, err := t.startOf(ctx, pod)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return command.ErrInterrupted
		case <-time.After(t.evicts.after):
		}
		if taken, err = t.evict(ctx, s, n, start.Uses, began.Add(t.evicts.until)); err != nil {
			return err
		}
		return t.ended(ctx, pod)
	}
	all, err := t.run(ctx, s.ControlPlane, n, address, during, "--failover", failoverFor.String(), "--start")
	if err != nil {
		c.Why = err.Error() + "."
		return c
	}
	all[0].Why += fmt.Sprintf(" Edge %d, pod %s, was evicted.", taken.edge, taken.pod.Name)
	return all[0]
}

// startOf waits until the pod reports which host its connections go to.
func (t trier) startOf(ctx context.Context, pod *corev1.Pod) (start network.TrialStart, err error) {
	err = wait.PollUntilContextTimeout(ctx, looksEach, t.evicts.until, true, func(ctx context.Context) (bool, error) {
		text, err := t.logOf(ctx, pod)
		if err == nil {
			start = readTrialStart(text)
		}
		return start.Uses != "", nil // The log of a pod that has just started may not be there yet.
	})
	switch {
	case ctx.Err() != nil:
		return start, command.ErrInterrupted
	case err != nil:
		return start, errors.New("the pod did not report which edge its connections go to, so no edge is evicted")
	}
	return start, nil
}

// evict evicts the edge with a MAC by the Eviction API, which respects PodDisruptionBudgets. It reads immediately before
// whether the other edge can take over. It gives up at before.
func (t trier) evict(ctx context.Context, s status.Facts, n network.Network, mac string, before time.Time) (edgePod, error) {
	ctx, cancel := context.WithDeadline(ctx, before)
	defer cancel()
	now := status.Reader{API: t.api, Facts: status.Facts{Running: s.Running}}
	pods, err := t.edgePods(ctx, s.ControlPlane, n)
	err = errors.Join(err, now.ReadEdges(ctx), now.ReadLeases(ctx))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return edgePod{}, fmt.Errorf("reading the state of the edges took until %v after the pod started, so no edge is evicted", t.evicts.until)
	}
	if err != nil {
		return edgePod{}, err
	}
	now.Plan = s.Plan
	taken, why := edgeToEvict(now.WithoutOldReports(time.Now()), n, pods, mac)
	if why != "" {
		return edgePod{}, errors.New(why)
	}
	o := metav1.ObjectMeta{Namespace: taken.pod.Namespace, Name: taken.pod.Name}
	err = t.api.SubResource("eviction").Create(ctx, &taken.pod, &policyv1.Eviction{ObjectMeta: o,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &taken.pod.UID}}})
	if apierrors.IsTooManyRequests(err) {
		return edgePod{}, fmt.Errorf("the PodDisruptionBudget permits no eviction of edge %d now: %w", taken.edge, err)
	}
	return taken, err
}

// edgeToEvict returns the edge with a MAC, or why it is not evicted.
func edgeToEvict(now status.Facts, n network.Network, pods []edgePod, mac string) (taken edgePod, why string) {
	for _, e := range n.Edges {
		own := slices.IndexFunc(pods, func(p edgePod) bool { return p.edge == e.Number && p.ready })
		if own < 0 || now.ReadyEdge(n, e) != explain.Yes {
			return edgePod{}, fmt.Sprintf("edge %d is not ready now, so no edge is evicted", e.Number)
		}
		if level := now.Reports[wire.EdgeReport(n, e).Name].Level; pods[own].mac != mac && level != reported.LevelReaches {
			return edgePod{}, fmt.Sprintf("edge %d does not report that it reaches the API server, so the other one is not evicted", e.Number)
		}
	}
	i := slices.IndexFunc(pods, func(p edgePod) bool { return p.mac == mac })
	if i < 0 {
		return edgePod{}, "connections go to the host with MAC " + mac + ", which is not a known edge, so no edge is evicted"
	}
	return pods[i], ""
}

// edgeOfPod is the pod of an edge as it is now.
func edgeOfPod(p corev1.Pod) edgePod {
	number, _ := strconv.Atoi(p.Labels[wire.LabelEdge])
	ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return edgePod{number, p, ready && p.DeletionTimestamp == nil, macOf(p)}
}
