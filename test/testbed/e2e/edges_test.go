// This file reads the edges as they run: their pods, what they report to the operator, and
// which of them a machine sends to. It changes only that.

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	apps "k8s.io/api/apps/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// vlanDevice is the edge's card on the VLAN.
const vlanDevice = "net1"

// An edgePod is one edge as it runs.
type edgePod struct {
	core.Pod
	number int    // of the edge
	mac    string // of its card on the VLAN
}

// edgePods are the running pods of the edges of the network called name, in the
// order of their numbers.
func edgePods(ctx context.Context, h Hosted, name string) ([]edgePod, error) {
	var list core.PodList
	if err := h.Client.List(ctx, &list, client.InNamespace(h.Namespace()), ourOwn("oooi-edge")); err != nil {
		return nil, err
	}
	var pods []edgePod
	for _, p := range list.Items {
		if p.DeletionTimestamp != nil || p.Status.Phase != core.PodRunning || p.Labels[Prefix+"network"] != network.Shortened(name, 63) {
			continue
		}
		number, err := strconv.Atoi(p.Labels[Prefix+"edge"])
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.Name, err)
		}
		mac, err := vlanMAC(p)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", p.Name, err)
		}
		pods = append(pods, edgePod{p, number, mac})
	}
	slices.SortFunc(pods, func(a, b edgePod) int { return cmp.Compare(a.number, b.number) })
	return pods, nil
}

// vlanMAC is what Multus says about the pod's card on the VLAN.
func vlanMAC(p core.Pod) (string, error) {
	var cards []struct{ Interface, MAC string }
	if err := json.Unmarshal([]byte(p.Annotations["k8s.v1.cni.cncf.io/network-status"]), &cards); err != nil {
		return "", err
	}
	for _, c := range cards {
		if c.Interface == vlanDevice {
			return c.MAC, nil
		}
	}
	return "", errors.New("has no card on the VLAN")
}

// container is the status of one of the pod's containers.
func (p edgePod) container(name string) (core.ContainerStatus, error) {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == name {
			return s, nil
		}
	}
	return core.ContainerStatus{}, fmt.Errorf("pod %s has no container %s", p.Name, name)
}

// netNS is the path of the pod's network namespace, while it runs.
func (p edgePod) netNS() (string, error) {
	pids := process.ContainerProcesses(string(p.UID))
	if len(pids) == 0 {
		return "", fmt.Errorf("pod %s has no process", p.Name)
	}
	return fmt.Sprintf("/proc/%d/ns/net", pids[0]), nil
}

// ready says whether all containers are.
func (p edgePod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodReady {
			return c.Status == core.ConditionTrue
		}
	}
	return false
}

// availableSince is when the pod's Deployment, one of edges, became available: the operator orders edges by it. After the
// API server was away, it is another time than that of the pod.
func (p edgePod) availableSince(edges []apps.Deployment) time.Time {
	for _, d := range edges {
		for _, c := range d.Status.Conditions {
			if c.Type == apps.DeploymentAvailable && strings.HasPrefix(p.Name, d.Name+"-") {
				return c.LastTransitionTime.Time
			}
		}
	}
	return time.Time{}
}

// nodeNumber is that of the node the pod runs on.
func (p edgePod) nodeNumber() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(p.Spec.NodeName, "node")) // 0 is no node
	return n
}

// reports are what the edges of the network called name report to the operator, by their
// numbers.
func reports(ctx context.Context, h Hosted, name string) (map[int]reported.EdgeReport, error) {
	var list coordination.LeaseList
	if err := h.Client.List(ctx, &list, client.InNamespace(h.Namespace()), ourOwn("oooi-report")); err != nil {
		return nil, err
	}
	all := map[int]reported.EdgeReport{}
	for _, l := range list.Items {
		if l.Labels[Prefix+"network"] != network.Shortened(name, 63) {
			continue
		}
		r, err := reported.Read([]byte(l.Annotations[Prefix+"report"]))
		if err != nil {
			return nil, fmt.Errorf("lease %s: %w", l.Name, err)
		}
		all[r.Edge] = r
	}
	return all, nil
}

// A station is a machine's card: the network namespace that it is in.
type station struct{ netNS, card string }

// heading is the MAC that the station sends to for the next hop; "" while it knows
// none.
func (s station) heading(ctx context.Context, nextHop netip.Addr) (string, error) {
	out, err := exec.CommandContext(ctx, "nsenter", "--net="+s.netNS, "--", "ip", "-4", "neigh", "show", "to", nextHop.String(), "dev", s.card).Output()
	fields := strings.Fields(string(out))
	if i := slices.Index(fields, "lladdr"); err == nil && i >= 0 && i+1 < len(fields) {
		return fields[i+1], nil
	}
	return "", err
}

// head has the station send to that MAC for the next hop, as if it had answered first.
func (s station) head(ctx context.Context, nextHop netip.Addr, mac string) error {
	out, err := exec.CommandContext(ctx, "nsenter", "--net="+s.netNS, "--", "ip", "neigh", "replace", nextHop.String(), "lladdr", mac, "dev", s.card, "nud", "reachable").CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip neigh replace: %w: %s", err, out)
	}
	return nil
}
