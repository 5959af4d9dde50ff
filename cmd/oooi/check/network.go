// This file tests the networks of a hosted cluster from a pod that acts as a VM. It is the only part of `oooi check`
// that writes: it creates the pod and its NetworkAttachmentDefinition, and deletes them.

package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// triedWithin limits how long the pod may exist, including the pull of its image and its attachment to the network.
	triedWithin = 3 * time.Minute
	// looksEach is the interval at which the state of the pod is read.
	looksEach = 500 * time.Millisecond
	// deletedWithin limits how long the deletion of the pod may take. The pod is also deleted after an interrupt.
	deletedWithin = 10 * time.Second
)

// A trier tries the networks of one hosted cluster.
type trier struct {
	api  client.Client
	logs source.LogReader
	// address is the pod's address on the network. Zero: a free one.
	address netip.Addr
	// node is the node on which the pod runs. Empty: any node on which edges can run.
	node string
	// failover is true to evict an edge as well, and to measure how long VMs have no edge.
	failover bool
	// evicts says when the edge is evicted.
	evicts evictionTimes
}

func newTrier(config *rest.Config, api client.Client, name client.ObjectKey, address, node string, failover bool) (*trier, error) {
	if name.Name == "" {
		return nil, errors.New("--from-network and --failover: name the HostedCluster")
	}
	t := &trier{api: api, node: node, failover: failover, evicts: evictionTimes{after: failoverAfter, until: failoverUntil}}
	if address != "" {
		var err error
		if t.address, err = netip.ParseAddr(address); err != nil {
			return nil, fmt.Errorf("--address: %w", err)
		}
	}
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	t.logs = source.LogsOf(set)
	return t, nil
}

func (t trier) networks(ctx context.Context, s status.Facts) (out []checks) {
	if !s.PlanRead {
		return []checks{{Title: "From the network", Checks: []checked{lineOf("plan", found(problem.TrialWithoutPlan, nil))}}}
	}
	for _, n := range s.Plan.Networks {
		c := checks{Title: "From network " + n.Attachment.String()}
		address, err := t.addressOn(n, s)
		if err == nil {
			c.Title += ", as a VM with address " + address.String()
			c.Checks, err = t.network(ctx, s.ControlPlane, n, address)
		}
		if err == nil && t.failover {
			c.Checks = append(c.Checks, t.failsOver(ctx, s, n, address))
		}
		if e := (untriedError{}); errors.As(err, &e) && e.problem.Cause == problem.ImageNotPulled {
			c.Checks = append(c.Checks, lineOf(imageOn(e.problem.Args["node"].String()), whyUntried(err)))
			err = untried(problem.TrialWithoutImage, e.problem.Args)
		}
		if err != nil {
			c.Checks = append(c.Checks, lineOf("pod that acts as a VM", whyUntried(err)))
		}
		out = append(out, c)
	}
	return out
}

func (t trier) addressOn(n network.Network, s status.Facts) (netip.Addr, error) {
	switch {
	case !slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return s.ReadyEdge(n, e) != explain.No }):
		return netip.Addr{}, untried(problem.TrialWithoutEdge, nil)
	case !s.LeasesRead:
		return netip.Addr{}, untried(problem.TrialLeasesUnread, nil)
	}
	return addressToTry(n, t.address, leasesOf(s, n))
}

func leasesOf(f status.Facts, n network.Network) (out []netip.Addr) {
	for _, l := range f.Leases {
		if l.Network == wire.NetworkLabel(n.Name) {
			out = append(out, l.Address)
		}
	}
	return out
}

func (t trier) network(ctx context.Context, ns string, n network.Network, address netip.Addr) ([]checked, error) {
	pods, err := t.edgePods(ctx, ns, n)
	if err != nil {
		return nil, err
	}
	var macs []string
	for _, p := range pods {
		if p.mac != "" {
			macs = append(macs, p.mac)
		}
	}
	var pod corev1.Pod
	ended := func(ctx context.Context, p *corev1.Pod) error {
		defer func() { pod = *p }()
		return t.ended(ctx, p)
	}
	results, err := t.run(ctx, ns, n, address, ended, "--edge-macs", strings.Join(macs, ","))
	if err != nil {
		return nil, err
	}
	return append([]checked{lineOf(imageOn(pod.Spec.NodeName), nil)}, results...), nil
}

func (t trier) edgePods(ctx context.Context, ns string, n network.Network) (out []edgePod, err error) {
	var list corev1.PodList
	if err := t.api.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels(wire.EdgesOf(n))); err != nil {
		return nil, err
	}
	for _, p := range list.Items {
		out = append(out, edgeOfPod(p))
	}
	return out, nil
}

// run creates the pod that acts as a VM on n, calls function wait, returns the results that the pod wrote, and deletes
// the pod. Parameter more has further arguments of the pod.
func (t trier) run(ctx context.Context, ns string, n network.Network, address netip.Addr, wait func(context.Context, *corev1.Pod) error, more ...string) ([]checked, error) {
	edge, err := t.edgeOf(ctx, ns, n)
	if err != nil {
		return nil, err
	}
	var plan corev1.ConfigMap
	if err := t.api.Get(ctx, client.ObjectKey{Namespace: ns, Name: wire.PlanConfigMap}, &plan); err != nil {
		return nil, err
	}
	objects := tryObjects(n, address, &plan, edge, more...)
	pod := objects[len(objects)-1].(*corev1.Pod)
	pod.Spec.Affinity = onNode(t.node)
	defer t.remove(context.WithoutCancel(ctx), objects)
	for _, o := range objects {
		if err := t.replace(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := wait(ctx, pod); err != nil {
		return nil, err
	}
	text, err := t.logOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	return readTrials(text)
}

func (t trier) logOf(ctx context.Context, pod *corev1.Pod) ([]byte, error) {
	log, err := t.logs(ctx, client.ObjectKeyFromObject(pod), wire.Try, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	return io.ReadAll(log)
}

// edgeOf returns the pod spec from the Deployment of an edge of n.
func (t trier) edgeOf(ctx context.Context, ns string, n network.Network) (corev1.PodSpec, error) {
	for _, e := range n.Edges {
		var d appsv1.Deployment
		err := t.api.Get(ctx, client.ObjectKey{Namespace: ns, Name: wire.EdgeDeploymentName(n, e)}, &d)
		spec := d.Spec.Template.Spec
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return corev1.PodSpec{}, err
		case slices.ContainsFunc(spec.Containers, isFailover):
			return spec, nil
		}
	}
	return corev1.PodSpec{}, untried(problem.TrialImageUnknown, nil)
}

func (t trier) ended(ctx context.Context, pod *corev1.Pod) error {
	return t.until(ctx, pod, corev1.PodSucceeded)
}

func (t trier) until(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) error {
	var image pull
	err := wait.PollUntilContextTimeout(ctx, looksEach, triedWithin, true, func(ctx context.Context) (bool, error) {
		if err := t.api.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
			return false, err
		}
		image = image.seen(pod, time.Now())
		return pod.Status.Phase == phase || pod.Status.Phase == corev1.PodFailed || image.gaveUp, nil
	})
	switch {
	case ctx.Err() != nil:
		return command.ErrInterrupted
	case (err == nil || wait.Interrupted(err)) && image.failure != "":
		return untried(problem.ImageNotPulled, problem.Args{"node": {pod.Spec.NodeName}, "image": {pod.Spec.Containers[0].Image}, "error": {strings.TrimSuffix(image.failure, ".")}})
	case wait.Interrupted(err), err == nil && pod.Status.Phase == corev1.PodFailed:
		return untried(problem.TrialPodFailed, problem.Args{"pod": {pod.Namespace + "/" + pod.Name}, "phase": {string(phase)}, "time": {triedWithin.String()}, "state": {podState(pod)}})
	}
	return err
}

func podState(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		switch s := c.State; {
		case s.Terminated != nil:
			return fmt.Sprintf("exit code %d, %s", s.Terminated.ExitCode, s.Terminated.Message)
		case s.Waiting != nil:
			return s.Waiting.Reason + " " + s.Waiting.Message
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return "it is " + string(pod.Status.Phase)
}

// replace creates o. It first deletes an object of the same name that an earlier check left.
func (t trier) replace(ctx context.Context, o client.Object) error {
	err := wait.PollUntilContextTimeout(ctx, looksEach, deletedWithin, true, func(ctx context.Context) (bool, error) {
		err := t.api.Create(ctx, o)
		if apierrors.IsAlreadyExists(err) {
			return false, client.IgnoreNotFound(t.delete(ctx, o))
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return untried(problem.TrialPodLeft, problem.Args{"object": {o.GetName()}})
	}
	return err
}

// remove deletes objects, the last first. If that fails, the pod ends after triedWithin, and the objects are deleted
// together with the plan's ConfigMap, which owns them.
func (t trier) remove(ctx context.Context, objects []client.Object) {
	ctx, cancel := context.WithTimeout(ctx, deletedWithin)
	defer cancel()
	for _, o := range slices.Backward(objects) {
		_ = t.delete(ctx, o)
	}
}

func (t trier) delete(ctx context.Context, o client.Object) error {
	return t.api.Delete(ctx, o, client.GracePeriodSeconds(0))
}
