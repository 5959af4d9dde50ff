package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestWhatTheCacheKeeps of nodes and machines: what is read of them, and not what
// others write there all day.
func TestWhatTheCacheKeeps(t *testing.T) {
	g := NewWithT(t)
	kept, err := stripped(&corev1.Node{
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

	vm := &kubevirtv1.VirtualMachineInstance{}
	vm.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{
		{Name: "iface1", MAC: "02:00:00:00:00:01", IP: "192.168.100.20", InfoSource: "domain, guest-agent"}, {InterfaceName: "br-ex", IP: "192.168.100.2"}}
	kept, err = stripped(vm)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.(*kubevirtv1.VirtualMachineInstance).Status.Interfaces).To(Equal([]kubevirtv1.VirtualMachineInstanceNetworkInterface{
		{Name: "iface1", MAC: "02:00:00:00:00:01", IP: "192.168.100.20"}}))
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
			hc.Status.Conditions = []metav1.Condition{{Type: ConditionType, Reason: "Ready"}}
		}, true},
		"only our condition's words": {func(hc *hyperv1.HostedCluster) {
			hc.Status.Conditions = []metav1.Condition{{Type: ConditionType, Message: "other words"}}
		}, false},
		"an annotation":           {func(hc *hyperv1.HostedCluster) { hc.Annotations = map[string]string{"x": "y"} }, true},
		"the spec":                {func(hc *hyperv1.HostedCluster) { hc.Generation++ }, true},
		"it is being deleted":     {func(hc *hyperv1.HostedCluster) { hc.DeletionTimestamp = &metav1.Time{Time: testNow} }, true},
		"where its API is":        {func(hc *hyperv1.HostedCluster) { hc.Status.ControlPlaneEndpoint.Host = "10.0.0.1" }, true},
		"nothing but its version": {func(hc *hyperv1.HostedCluster) { hc.ResourceVersion = "2" }, false},
	} {
		before := &hyperv1.HostedCluster{}
		after := before.DeepCopy()
		c.change(after)
		NewWithT(t).Expect(concernsNeighbors.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(c.news), what)
	}
}
