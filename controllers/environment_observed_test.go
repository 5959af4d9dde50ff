package controllers

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/environment"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/controllers/watch"
)

// reachedAt is a Service with an external address and one of a load balancer.
func reachedAt(namespace, external, balancer string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"},
		Spec:       corev1.ServiceSpec{ClusterIP: "172.31.0.7", ExternalIPs: []string{external}},
		Status:     corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: balancer}}}},
	}
}

// TestAddressesComeAndGo: an address is closed when it is seen, and opened late. One that comes and goes
// rewrites the plans once.
func TestAddressesComeAndGo(t *testing.T) {
	g := NewWithT(t)
	foreign := reachedAt("team", "198.51.100.1", "198.51.100.2")
	c := cached(t)
	now := testNow
	r := &Reconciler{Client: c, Live: c, Options: testOptions, Metrics: report.NewMetrics(prometheus.NewRegistry()), Now: func() time.Time { return now }}
	k, changes := r.environmentReader(), 0
	look := func() {
		changed, err := k.Look(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		if changed {
			changes++
		}
		now = now.Add(productIntervals.environment)
	}
	look()
	for range 5 {
		foreign.ResourceVersion = ""
		g.Expect(c.Create(t.Context(), foreign)).To(Succeed())
		look()
		g.Expect(c.Delete(t.Context(), foreign)).To(Succeed())
		look()
	}
	g.Expect(changes).To(Equal(1), "it came")
	e, _ := r.environmentReader().Current(t.Context())
	g.Expect(e.Observed).To(ContainElement(netip.MustParseAddr("198.51.100.2")))
	now = now.Add(time.Hour)
	look()
	g.Expect(changes).To(Equal(2), "it went")
}

// TestNodesThatChange: a drain, a reboot, a label or an update of the kubelet reconciles no cluster.
func TestNodesThatChange(t *testing.T) {
	g := NewWithT(t)
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{BootID: "1", ContainerRuntimeVersion: "cri-o://1.33"}}}
	kept := func(change func(*corev1.Node)) environment.Environment {
		n := node.DeepCopy()
		change(n)
		o, err := watch.Stripped(n)
		g.Expect(err).NotTo(HaveOccurred())
		return environment.Environment{Nodes: []corev1.Node{*o.(*corev1.Node)}}
	}
	before := kept(func(*corev1.Node) {})
	g.Expect(before.Equals(kept(func(n *corev1.Node) {
		n.Status.NodeInfo.BootID, n.Status.NodeInfo.KubeletVersion = "2", "v1.35.0"
		n.Labels = map[string]string{"feature.node.kubernetes.io/x": "1"}
		n.Spec.Unschedulable = true
	}))).To(BeTrue())
	g.Expect(before.Equals(kept(func(n *corev1.Node) { n.Status.NodeInfo.ContainerRuntimeVersion = "containerd://2" }))).To(BeFalse())
	g.Expect(before.Equals(kept(func(n *corev1.Node) { n.Status.Allocatable = corev1.ResourceList{"x/dev": resource.MustParse("1")} }))).To(BeFalse())
}
