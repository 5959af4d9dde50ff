package hcp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network/problem"
)

// notMade are the problems of o because of which HyperShift makes no nodes.
func notMade(o hcp.Objects) (out problem.Problems) {
	_, problems := plan(o)
	for _, p := range problems {
		if p.Reason == problem.NodesNotCreated {
			out = append(out, p)
		}
	}
	return out
}

// TestNodePoolsWithOneError: NodePools with the same error are one problem, and what HyperShift writes stays on one line.
func TestNodePoolsWithOneError(t *testing.T) {
	g, o := NewWithT(t), served(t)
	o.VMs = nil
	first := o.NodePools[0]
	o.NodePools = nil
	for i := range 30 {
		np := *first.DeepCopy()
		np.Name = fmt.Sprintf("pool%02d", i)
		np.Status.Conditions = []hyperv1.NodePoolCondition{{Type: "ValidMachineConfig", Status: corev1.ConditionFalse, Reason: "ValidationFailed", Message: "ConfigMap \x1b[1m\n{nodePools} \u202e\xff is missing" + fmt.Sprintf(", read udp 10.128.0.5:%d->172.30.0.10:53: i/o timeout", 40000+i)}}
		o.NodePools = append(o.NodePools, np)
	}
	all := notMade(o)
	g.Expect(all).To(HaveExactElements(HaveField("Cause", problem.NoNodePoolCreatesNodes), HaveField("Cause", problem.NodePoolRefused)))
	g.Expect(all[1].Args["nodePools"]).To(HaveLen(10))
	g.Expect(all[1].Args["error"]).To(Equal(problem.Values{"ValidationFailed: ConfigMap [1m {nodePools} is missing, read udp 172.30.0.10:53: i/o timeout"}))
	g.Expect(message(all[1])).To(HavePrefix("HyperShift creates no new nodes of NodePools pool00, "))

	o.NodePools[7].Status.Conditions[0].Status = corev1.ConditionTrue
	g.Expect(notMade(o)).To(HaveExactElements(HaveField("Cause", problem.NodePoolRefused)))
	o.NodePools[7].DeletionTimestamp = &metav1.Time{}
	g.Expect(notMade(o)).To(HaveLen(2), "it is being deleted")
	o.NodePools[3].Status.Replicas = 1
	g.Expect(notMade(o)).To(HaveExactElements(HaveField("Cause", problem.NoNewNodes), HaveField("Cause", problem.NodePoolRefused)), "it has a node")
	o.HostedCluster.Status.IgnitionEndpoint = ""
	g.Expect(notMade(o)).To(BeEmpty(), "a new control plane does not have the configuration of nodes yet")
}

// TestPausedHostedCluster: HyperShift creates nothing of a HostedCluster that spec.pausedUntil pauses. A time counts while HyperShift reports it.
func TestPausedHostedCluster(t *testing.T) {
	active := []metav1.Condition{{Type: "ReconciliationActive", Status: metav1.ConditionTrue}}
	paused := []metav1.Condition{{Type: "ReconciliationActive", Status: metav1.ConditionFalse, Reason: "ReconciliationPaused"}}
	for name, c := range map[string]struct {
		until      string
		conditions []metav1.Condition
		want       bool
	}{
		"new":          {"true", nil, true},
		"false":        {"false", active, false},
		"a time":       {"2126-01-01T00:00:00Z", paused, true},
		"a past time":  {"2026-01-01T00:00:00Z", active, false},
		"a wrong time": {"tomorrow", active, false},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.VMs, o.NodePools[0].Status = nil, hyperv1.NodePoolStatus{}
			o.HostedCluster.Spec.PausedUntil, o.HostedCluster.Status.Conditions = &c.until, c.conditions
			if !c.want {
				g.Expect(notMade(o)).To(BeEmpty())
				return
			}
			g.Expect(notMade(o)).To(HaveExactElements(HaveField("Cause", problem.HyperShiftPaused), HaveField("Cause", problem.NoNodePoolCreatesNodes)))
			o.NodePools[0].Status.Replicas = 1
			g.Expect(notMade(o)).To(HaveExactElements(HaveField("Cause", problem.HyperShiftPaused)), "the VM may still become a node")
		})
	}
}

// TestFailsBeforeValidation: HyperShift before 0.1.80 looks up the pull secret and the release before it writes other conditions. Later errors may be of one
// attempt.
func TestFailsBeforeValidation(t *testing.T) {
	g, o := NewWithT(t), served(t)
	o.VMs, o.NodePools[0].Status = nil, hyperv1.NodePoolStatus{}
	failed := metav1.Condition{Type: "ReconciliationSucceeded", Status: metav1.ConditionFalse, Reason: "ReconciliationError", Message: `secrets "pull-secret" not found`}
	o.HostedCluster.Status = hyperv1.HostedClusterStatus{Conditions: []metav1.Condition{failed}}
	refused := notMade(o)
	g.Expect(refused).To(HaveExactElements(HaveField("Cause", problem.ControlPlaneRefused)))
	g.Expect(message(refused[0])).To(ContainSubstring(`ReconciliationSucceeded of the HostedCluster is False (ReconciliationError: secrets "pull-secret" not found)`))

	o.HostedCluster.Status.Conditions = append(o.HostedCluster.Status.Conditions, metav1.Condition{Type: "ValidConfiguration", Status: metav1.ConditionTrue})
	g.Expect(notMade(o)).To(BeEmpty())
	o.HostedCluster.Status = hyperv1.HostedClusterStatus{Conditions: []metav1.Condition{failed}, ControlPlaneEndpoint: hyperv1.APIEndpoint{Host: "10.0.0.1"}}
	g.Expect(notMade(o)).To(BeEmpty())
}

// TestRefusedBeforeTheControlPlane: the condition says first that HyperShift refuses the HostedCluster, and not that the control plane is awaited.
func TestRefusedBeforeTheControlPlane(t *testing.T) {
	g, o := NewWithT(t), served(t)
	o.VMs, o.NodePools[0].Status = nil, hyperv1.NodePoolStatus{}
	o.HostedCluster.Status = hyperv1.HostedClusterStatus{Conditions: []metav1.Condition{{Type: "ValidConfiguration", Status: metav1.ConditionFalse, Reason: "InvalidConfiguration", Message: strings.Repeat("x", 200)}}}
	p, problems := plan(o)
	report := explain.Status{Plan: p, Problems: problems}.Report()
	g.Expect(report.Ready).To(BeFalse())
	g.Expect(report.Reason).To(Equal(problem.NodesNotCreated))
	g.Expect(report.Boots).To(Equal(explain.No))
	g.Expect(report.Problems[0].Text).To(HavePrefix("HyperShift creates no control plane, because condition ValidConfiguration of the HostedCluster is False (InvalidConfiguration: xxx"))
}

// TestInvalidNodeLabel: with InPlace, no Machine has such a label, so no VM is created. With Replace, the first nodes come.
func TestInvalidNodeLabel(t *testing.T) {
	g, o := NewWithT(t), served(t)
	o.VMs, o.NodePools[0].Status = nil, hyperv1.NodePoolStatus{}
	o.NodePools[0].Spec.NodeLabels = map[string]string{"topology-aware-scheduling-enabled": "true", "team": "a\nb"}
	o.NodePools[0].Spec.Management.UpgradeType = hyperv1.UpgradeTypeReplace
	boots := func() explain.Answer {
		p, problems := plan(o)
		return explain.Status{Plan: p, Problems: problems, Applied: true, Running: true, ReadyEdges: map[string]int{p.Networks[0].Name: 1}}.Report().Boots
	}
	all := notMade(o)
	g.Expect(all).To(HaveExactElements(HaveField("Cause", problem.NodePoolLabelStopsUpdates)))
	g.Expect(all[0].Args["label"]).To(Equal(problem.Values{`"team=a\nb"`}))
	g.Expect(boots()).To(Equal(explain.Yes))
	o.NodePools[0].Spec.Management.UpgradeType = hyperv1.UpgradeTypeInPlace
	g.Expect(notMade(o)).To(HaveExactElements(HaveField("Cause", problem.NoNodePoolCreatesNodes), HaveField("Cause", problem.NodePoolLabelInvalid)))
	g.Expect(boots()).To(Equal(explain.No))
}

// TestVMsNotStarted: a problem names the VMs that KubeVirt does not start, and why. VMs that start meanwhile are none, and nothing of a problem
// changes with time.
func TestVMsNotStarted(t *testing.T) {
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	before := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	vm := func(name, phase string, age time.Duration, conditions ...lenient.VMCondition) lenient.VirtualMachineInstance {
		return lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: name, CreationTimestamp: before(age)},
			Spec:   lenient.VMSpec{Networks: []lenient.VMNetwork{{Name: "n", Multus: &lenient.VMMultus{NetworkName: "vlan100"}}}},
			Status: lenient.VMStatus{Phase: phase, Conditions: conditions}}
	}
	because := func(reason string) lenient.VMCondition {
		return lenient.VMCondition{Type: "Synchronized", Status: "False", Reason: reason, Message: "no \nroom."}
	}
	const minute, unschedulable = time.Minute, "Unschedulable"
	onPodNetwork, deleted := vm("a", "Scheduling", time.Hour), vm("a", "Scheduling", time.Hour)
	onPodNetwork.Spec.Networks = append([]lenient.VMNetwork{{Name: "default"}}, onPodNetwork.Spec.Networks...)
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	for name, c := range map[string]struct {
		vms  []lenient.VirtualMachineInstance
		want string
	}{
		"it runs":                     {[]lenient.VirtualMachineInstance{vm("a", "", time.Hour)}, ""},
		"it starts":                   {[]lenient.VirtualMachineInstance{vm("a", "Scheduling", 9*minute)}, ""},
		"no room for minutes":         {[]lenient.VirtualMachineInstance{vm("a", "Scheduling", 9*minute, because(unschedulable))}, ""},
		"no room":                     {[]lenient.VirtualMachineInstance{vm("a", "Scheduling", 11*minute, because(unschedulable))}, "a (Unschedulable: no room)"},
		"no disk, no message":         {[]lenient.VirtualMachineInstance{vm("a", "Pending", time.Hour, lenient.VMCondition{Reason: unschedulable})}, "a (Unschedulable)"},
		"an image, at each attempt":   {[]lenient.VirtualMachineInstance{vm("a", "Scheduling", time.Hour, because("ImagePullBackOff"))}, "a (ImagePullBackOff: no room)"},
		"its pod has no network":      {[]lenient.VirtualMachineInstance{vm("a", "Scheduling", 11*minute)}, "a (phase Scheduling)"},
		"its disk is imported":        {[]lenient.VirtualMachineInstance{vm("a", "Pending", time.Hour)}, ""},
		"it migrates to another spec": {[]lenient.VirtualMachineInstance{vm("a", "", time.Hour, lenient.VMCondition{Type: "MigrationRequired"})}, ""},
		"it boots from another":       {[]lenient.VirtualMachineInstance{onPodNetwork}, ""},
		"it is deleted":               {[]lenient.VirtualMachineInstance{deleted}, ""},
		"several": {[]lenient.VirtualMachineInstance{vm("c", "Scheduling", time.Hour), vm("b", "Scheduling", time.Hour, because(unschedulable)), vm("a", "Scheduling", time.Hour)},
			"a, c (phase Scheduling); b (Unschedulable: no room)"},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.VMs = c.vms
			var got []string
			for _, p := range hcp.NotStarted(o, now) {
				got = append(got, p.Args["newVMs"].String()+" ("+p.Args["error"].String()+")")
				g.Expect(message(p)).To(HavePrefix("KubeVirt has not started " + p.Args["newVMs"].String() + " on network clusters-blue/vlan100 ("))
			}
			g.Expect(strings.Join(got, "; ")).To(Equal(c.want))
		})
	}
	g, o := NewWithT(t), served(t)
	o.VMs = nil
	for i := range 9 {
		o.VMs = append(o.VMs, vm(fmt.Sprint("vm", i), "Scheduled", time.Hour))
	}
	g.Expect(hcp.NotStarted(o, now)).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("newVMs", HaveLen(5)))))
	o.Partial = true
	g.Expect(hcp.NotStarted(o, now)).To(BeEmpty(), "files may be old")
}

// TestVMsNotCreated: a problem names NodePools whose Machines have had no VM for ten minutes, and why. A Machine that waits
// for another reason, or a NodePool without a network, is not the topic.
func TestVMsNotCreated(t *testing.T) {
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	condition := func(kind, status, reason string, age time.Duration) hyperv1.NodePoolCondition {
		return hyperv1.NodePoolCondition{Type: kind, Status: corev1.ConditionStatus(status), Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-age))}
	}
	machines := func(reason string) hyperv1.NodePoolCondition {
		return condition("AllMachinesReady", "False", reason, 11*time.Minute)
	}
	for name, c := range map[string]struct {
		of     hyperv1.NodePoolCondition
		change change
		want   string
	}{
		"KubeVirt refuses the VM":       {machines("VMCreateFailed"), nil, "VMCreateFailed"},
		"no storage class":              {machines("DVPending"), nil, "DVPending"},
		"among other reasons":           {machines("Bootstrapping,DVImagePullFailed,DVNotReady,Unschedulable"), nil, "DVImagePullFailed, DVNotReady"},
		"for minutes":                   {condition("AllMachinesReady", "False", "DVNotReady", 9*time.Minute), nil, ""},
		"another reason":                {machines("WaitingForBootstrapData"), nil, ""},
		"all Machines are ready":        {condition("AllMachinesReady", "True", "DVNotReady", time.Hour), nil, ""},
		"another condition":             {condition("AllNodesHealthy", "False", "DVNotReady", time.Hour), nil, ""},
		"of a NodePool that is deleted": {machines("DVFailed"), func(o *hcp.Objects) { o.NodePools[0].DeletionTimestamp = &metav1.Time{Time: now} }, ""},
		"of a NodePool without network": {machines("DVFailed"), func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = nil }, ""},
		"of a former NodePool": {machines("DVFailed"), func(o *hcp.Objects) {
			o.NodePools[0].Generation, o.NodePools[0].Status.Conditions[0].ObservedGeneration = 4, 3
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			o.VMs, o.NodePools[0].Status.Conditions = nil, []hyperv1.NodePoolCondition{c.of}
			if c.change != nil {
				c.change(&o)
			}
			var got []string
			for _, p := range hcp.NotStarted(o, now) {
				got = append(got, p.Args["error"].String())
				g.Expect(message(p)).To(HavePrefix("KubeVirt has not created all VMs of NodePool " + o.NodePools[0].Name + " ("))
			}
			g.Expect(strings.Join(got, "; ")).To(Equal(c.want))
		})
	}
}
