package controllers

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// TestWhatTheCacheKeeps of nodes: what is read of them, and not what
// others write there all day.
func TestWhatTheCacheKeeps(t *testing.T) {
	g := NewWithT(t)
	kept, err := watch.Stripped(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"k8s.ovn.org/node-subnets": `{"default":["10.128.0.0/23"]}`, "other": "x"}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.244.0.0/24"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"openshift.io/vlan100": resource.MustParse("4")},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}, Images: []corev1.ContainerImage{{SizeBytes: 1}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	node := kept.(*corev1.Node)
	g.Expect(node.Annotations).To(Equal(map[string]string{"k8s.ovn.org/node-subnets": `{"default":["10.128.0.0/23"]}`}))
	g.Expect(node.Spec.PodCIDRs).To(Equal([]string{"10.244.0.0/24"}))
	g.Expect(node.Status.Allocatable).To(HaveKey(corev1.ResourceName("openshift.io/vlan100")))
	g.Expect(node.Status.Addresses).To(HaveLen(1))
	g.Expect(node.Status.Images).To(BeEmpty())
}

// TestWhatIsNewsToNeighbours: what may change addresses, and not each status that
// HyperShift writes.
func TestWhatIsNewsToNeighbours(t *testing.T) {
	for what, c := range map[string]struct {
		change func(*hyperv1.HostedCluster)
		news   bool
	}{
		"HyperShift's condition": {func(hc *hyperv1.HostedCluster) { hc.Status.Conditions = []metav1.Condition{{Type: "Available"}} }, false},
		"our condition": {func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = []metav1.Condition{{Type: own.ConditionType, Reason: "Ready"}}
		}, true},
		"only our condition's words": {func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = []metav1.Condition{{Type: own.ConditionType, Message: "other words"}}
		}, false},
		"an annotation":           {func(hc *hyperv1.HostedCluster) { hc.Annotations = map[string]string{"x": "y"} }, true},
		"the spec":                {func(hc *hyperv1.HostedCluster) { hc.Generation++ }, true},
		"it is being deleted":     {func(hc *hyperv1.HostedCluster) { hc.DeletionTimestamp = &metav1.Time{Time: testNow} }, true},
		"where its API is":        {func(hc *hyperv1.HostedCluster) { hc.Status.ControlPlaneEndpoint.Host = "10.0.0.1" }, true},
		"nothing but its version": {func(hc *hyperv1.HostedCluster) { hc.ResourceVersion = "2" }, false},
	} {
		before, after := asRead(hyperv1.HostedCluster{}), hyperv1.HostedCluster{}
		c.change(&after)
		changed := asRead(after)
		NewWithT(t).Expect(concernsNeighbors.Update(event.UpdateEvent{ObjectOld: &before, ObjectNew: &changed})).To(Equal(c.news), what)
	}
}

// TestReportsInMemoryAreShort: of a Lease, memory holds what is read, and the report if an edge could have written it.
func TestReportsInMemoryAreShort(t *testing.T) {
	g := NewWithT(t)
	var transform toolscache.TransformFunc
	for o, by := range watch.CacheOptions(nil).ByObject {
		if o.GetObjectKind().GroupVersionKind() == own.LeaseKind {
			transform = by.Transform
		}
	}
	want := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		l := own.ReportLease()
		l.Namespace, l.Name, l.UID, l.ResourceVersion, l.DeletionTimestamp = "clusters-blue", "oooi-report.x", "u", "1", &metav1.Time{Time: testNow}
		l.Labels, l.Annotations = maps.Clone(wire.EdgeReportLease(network.Network{Name: "vlan100"}, network.Edge{Number: 1}).Labels), annotations
		delete(l.Labels, wire.LabelNoBackup)
		return l
	}
	kept := func(report string) any {
		long := strings.Repeat("x", 200<<10)
		l := want(map[string]string{wire.AnnotationReport: report, "example.com/large": long})
		l.Labels, l.Finalizers, l.GenerateName = maps.Clone(l.Labels), []string{long}, long
		l.Labels["example.com/large"] = long
		for range 7000 {
			l.OwnerReferences = append(l.OwnerReferences, metav1.OwnerReference{Kind: "ConfigMap", Name: "x"})
		}
		l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: long}}
		o, err := transform(l)
		g.Expect(err).NotTo(HaveOccurred())
		return o
	}
	longest := strings.Repeat("x", reported.MaxBytes)
	g.Expect(kept(longest)).To(Equal(want(map[string]string{wire.AnnotationReport: longest})))
	g.Expect(kept(longest + "x")).To(Equal(want(nil)))
}

// TestReportsAreCollected: however often an edge writes its report, the operator reconciles
// its cluster at most once a second. Nothing else that is written to the Lease counts.
func TestReportsAreCollected(t *testing.T) {
	g := NewWithT(t)
	lease := func(annotations map[string]string) *metav1.PartialObjectMetadata {
		o := own.ReportLease()
		o.Namespace, o.Annotations = "clusters-blue", annotations
		return o
	}
	tells := func(text string) map[string]string { return map[string]string{wire.AnnotationReport: text} }
	g.Expect(reportsOther.Update(event.UpdateEvent{ObjectOld: lease(tells("a")), ObjectNew: lease(tells("b"))})).To(BeTrue())
	g.Expect(reportsOther.Update(event.UpdateEvent{ObjectOld: lease(nil), ObjectNew: lease(map[string]string{"other": "x"})})).To(BeFalse())

	blue := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "clusters", Name: "blue"}}
	w := watch.Watched{Within: reportsWithin, Clusters: func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{blue} }}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	began := time.Now()
	for range 1000 {
		w.Handler().Update(t.Context(), event.UpdateEvent{ObjectOld: lease(tells("a")), ObjectNew: lease(tells("b"))}, q)
	}
	next, _ := q.Get()
	g.Expect(next).To(Equal(blue))
	g.Expect(time.Since(began)).To(BeNumerically(">=", reportsWithin))
	q.Done(next)
	g.Expect(q.Len()).To(BeZero())
}

// TestDeploymentsInTheCache: a Deployment that shares parts with others has the same content, and a copy
// of it shares nothing.
func TestDeploymentsInTheCache(t *testing.T) {
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(watch.AddToScheme(scheme)).To(Succeed())
	transform := transformOf(t, scheme, own.DeploymentKind)
	w, plan := served(t, "two-vlans")
	cached := func(d appsv1.Deployment) *appsv1.Deployment {
		o, err := transform(d.DeepCopy())
		g.Expect(err).NotTo(HaveOccurred())
		return o.(*appsv1.Deployment)
	}
	all := edges(t, w, plan)
	g.Expect(all).NotTo(BeEmpty())
	for _, d := range all {
		first, second := cached(d), cached(d)
		g.Expect(equality.Semantic.DeepEqual(first, &d)).To(BeTrue())
		g.Expect(equality.Semantic.DeepEqual(second, &d)).To(BeTrue())
		containers := first.Spec.Template.Spec.Containers
		g.Expect(second.Spec.Template.Spec.Containers[0].SecurityContext).To(BeIdenticalTo(containers[0].SecurityContext))
		copied := second.DeepCopy()
		copied.Spec.Template.Spec.Containers[0].Image = "other"
		copied.Spec.Template.Spec.Containers[0].Args = []string{"other"}
		copied.Spec.Template.Spec.Volumes[0].Name = "other"
		g.Expect(equality.Semantic.DeepEqual(first, &d)).To(BeTrue())
	}
}

// TestVMsThatStartWakeNoCluster: a VM that starts wakes its cluster when KubeVirt says what is wrong, and when it has an address.
func TestVMsThatStartWakeNoCluster(t *testing.T) {
	g := NewWithT(t)
	vm := func(phase string, conditions ...lenient.VMCondition) *lenient.VirtualMachineInstance {
		return &lenient.VirtualMachineInstance{Status: lenient.VMStatus{Phase: phase, Conditions: conditions}}
	}
	wakes := func(before, after client.Object) bool {
		return comesMovesOrGoes.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	g.Expect(wakes(vm("Pending"), vm("Scheduling"))).To(BeFalse())
	g.Expect(wakes(vm("Scheduled"), vm(""))).To(BeFalse())
	g.Expect(wakes(vm("Scheduling"), vm("Scheduling", lenient.VMCondition{Reason: "Unschedulable"}))).To(BeTrue())
	g.Expect(wakes(vm("Scheduled"), vm("Failed"))).To(BeTrue())
}

// TestVMsNotStartedAreReported: the operator says which VMs KubeVirt has not started, and serves them nevertheless.
func TestVMsNotStartedAreReported(t *testing.T) {
	g := NewWithT(t)
	w, _ := twoEdges(t)
	vm := lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "late", CreationTimestamp: metav1.NewTime(testNow.Add(-time.Hour))}}
	vm.Spec.Networks = []lenient.VMNetwork{{Name: "iface1", Multus: &lenient.VMMultus{NetworkName: "clusters/vlan100"}}}
	vm.Status.Phase = "Scheduling"
	w.VMs = append(w.VMs, vm)
	d := decide.About(w, testOptions.Release, testNow)
	g.Expect(d.Action).To(Equal(decide.Serve))
	g.Expect(d.Problems).To(ContainElement(And(HaveField("Cause", problem.VMsNotStarted), HaveField("Args", HaveKeyWithValue("newVMs", problem.Values{"late"})))))
}
