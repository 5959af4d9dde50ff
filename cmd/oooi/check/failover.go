// This file tries failover: it evicts the edge to which a pod that acts as a VM connects repeatedly.

package check

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

const (
	// failoverFor is the time during which the pod connects repeatedly.
	failoverFor = 30 * time.Second
	// failoverAfter is how long the pod connects before the edge is evicted.
	failoverAfter = 5 * time.Second
	// failoverUntil is the latest time of the eviction, counted from the start of the pod. Later, the rest of failoverFor
	// is too short to measure a failover.
	failoverUntil = 15 * time.Second
)

// evictionTimes say when an edge is evicted. First the pod reports to which edge it connects. Field after is the wait
// between this report and the eviction. Field until is the latest time of the eviction, counted from the start of the pod.
type evictionTimes struct{ after, until time.Duration }

type edgePod struct {
	edge  int
	pod   corev1.Pod
	ready bool
	joined
}

// A joined is what Multus reports in the pod's annotation network-status about its interface on the network.
type joined struct {
	// mac is the interface's address in lower case. Empty: Multus has not attached the interface yet.
	mac string
	// mtu is the interface's MTU in bytes. 0: Multus does not report it.
	mtu int
}

func (t trier) failsOver(ctx context.Context, s status.Facts, n network.Network, address netip.Addr) checked {
	const name = "failover"
	if len(n.Edges) < 2 {
		return lineOf(name, found(problem.FailoverOneEdge, nil))
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
	all, err := t.run(ctx, s.ControlPlane, n, address, during, "--failover", failoverFor.String())
	if err != nil {
		return lineOf(name, whyUntried(err))
	}
	evicted := found(problem.EdgeEvicted, problem.Args{"edge": {strconv.Itoa(taken.edge)}, "pod": {taken.pod.Name}})
	return lineOf(all[0].Name, append(all[0].Problems, evicted...))
}

// startOf waits until the pod reports the MAC of the edge that gets its connections, and returns the report.
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
		return start, untried(problem.EvictionEdgeUnknown, problem.Args{"mac": {"unknown"}})
	}
	return start, nil
}

// evict evicts the edge with this MAC through the Eviction API, which respects PodDisruptionBudgets. First it checks that
// the other edge can take over the traffic. Parameter before is the time at which it gives up with an error.
func (t trier) evict(ctx context.Context, s status.Facts, n network.Network, mac string, before time.Time) (edgePod, error) {
	ctx, cancel := context.WithDeadline(ctx, before)
	defer cancel()
	now := status.Reader{API: t.api, Facts: status.Facts{LiveCluster: s.LiveCluster}}
	pods, err := t.edgePods(ctx, s.ControlPlane, n)
	err = errors.Join(err, now.ReadEdges(ctx), now.ReadLeases(ctx))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return edgePod{}, untried(problem.EvictionTooLate, problem.Args{"time": {t.evicts.until.String()}})
	}
	if err != nil {
		return edgePod{}, err
	}
	now.Plan = s.Plan
	taken, err := edgeToEvict(now.WithoutOldReports(time.Now()), n, pods, mac)
	if err != nil {
		return edgePod{}, err
	}
	o := metav1.ObjectMeta{Namespace: taken.pod.Namespace, Name: taken.pod.Name}
	err = t.api.SubResource("eviction").Create(ctx, &taken.pod, &policyv1.Eviction{ObjectMeta: o,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &taken.pod.UID}}})
	if apierrors.IsTooManyRequests(err) {
		return edgePod{}, untried(problem.EvictionRefused, problem.Args{"edge": {strconv.Itoa(taken.edge)}, "error": failed(err)["error"]})
	}
	return taken, err
}

// edgeToEvict returns the edge with this MAC, one of parameter pods. The error says why it must not be evicted.
func edgeToEvict(now status.Facts, n network.Network, pods []edgePod, mac string) (edgePod, error) {
	for _, e := range n.Edges {
		own := slices.IndexFunc(pods, func(p edgePod) bool { return p.edge == e.Number && p.ready })
		level := now.Reports[wire.EdgeReportLease(n, e).Name].Level
		if own < 0 || now.ReadyEdge(n, e) != explain.Yes || pods[own].mac != mac && level != reported.LevelReaches {
			return edgePod{}, untried(problem.EvictionEdgeNotReady, problem.Args{"edge": {strconv.Itoa(e.Number)}})
		}
	}
	i := slices.IndexFunc(pods, func(p edgePod) bool { return p.mac == mac })
	if i < 0 {
		return edgePod{}, untried(problem.EvictionEdgeUnknown, problem.Args{"mac": {mac}})
	}
	return pods[i], nil
}

func edgeOfPod(p corev1.Pod) edgePod {
	number, _ := strconv.Atoi(p.Labels[wire.LabelEdge])
	ready := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return edgePod{number, p, ready && p.DeletionTimestamp == nil, joinedOf(p)}
}

func joinedOf(p corev1.Pod) joined {
	var all []struct {
		Interface, MAC string
		MTU            int
	}
	_ = json.Unmarshal([]byte(p.Annotations[wire.AnnotationNetworkStatus]), &all) // Multus writes it after a while.
	for _, x := range all {
		if x.Interface == wire.Device {
			return joined{strings.ToLower(x.MAC), x.MTU}
		}
	}
	return joined{}
}
