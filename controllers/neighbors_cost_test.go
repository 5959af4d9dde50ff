package controllers

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
)

// A reads counts what is read.
type reads struct {
	client.Client
	n int
}

func (c *reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.n++
	return c.Client.Get(ctx, key, o, opts...)
}

func (c *reads) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.n++
	return c.Client.List(ctx, list, opts...)
}

// optedIn is a HostedCluster that opted in.
func optedIn(t *testing.T, name string) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	for _, u := range apiserver.Sample(t, name) {
		if u.GetKind() == "HostedCluster" {
			NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hc)).To(Succeed())
		}
	}
	return hc
}

// poolOn is a NodePool of a cluster whose VMs are on a NAD.
func poolOn(cluster, nad string) *hyperv1.NodePool {
	np := &hyperv1.NodePool{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: cluster}}
	np.Spec.ClusterName = cluster
	np.Spec.Platform.Kubevirt = &hyperv1.KubevirtNodePoolPlatform{AdditionalNetworks: []hyperv1.KubevirtNetwork{{Name: nad}}}
	return np
}

// neighborsOf are the neighbors of cluster a among objects, and how many reads it takes to know all of a.
func neighborsOf(t *testing.T, a *hyperv1.HostedCluster, objects ...client.Object) (r *Reconciler, names []string, cost int) {
	t.Helper()
	c := &reads{Client: cached(t, append(objects, a)...)}
	r = reconcilerOf(c, prometheus.NewRegistry())
	w, err := r.reader().World(t.Context(), client.ObjectKeyFromObject(a), gather.Before{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, o := range w.Others {
		names = append(names, o.Name)
	}
	return r, names, c.n
}

// TestHiddenPlanInForce: a cluster whose NodePools left a network is a neighbor there while its edges
// serve it, and what changes the plan reconciles the others on the networks before and after.
func TestHiddenPlanInForce(t *testing.T) {
	g := NewWithT(t)
	b := optedIn(t, "b")
	b.Spec.PausedUntil = new(string)
	*b.Spec.PausedUntil = "true"
	objects := append(inForce("clusters-b", "default/x", bridge(1)), b, nadOn("default", "x", 1), nadOn("default", "y", 2), poolOn("a", "default/x"), poolOn("b", "default/y"))
	r, names, _ := neighborsOf(t, optedIn(t, "a"), objects...)
	g.Expect(names).To(ConsistOf("clusters/b"), "its edges answer there")
	g.Expect(awake(r.neighborsOfHostedCluster(t.Context(), b))).To(ContainElement("clusters/a"))

	stored := &corev1.ConfigMap{}
	g.Expect(r.Client.Get(t.Context(), types.NamespacedName{Namespace: "clusters-b", Name: wire.PlanConfigMap}, stored)).To(Succeed())
	g.Expect(awake(r.neighborsOfPlan(t.Context(), stored))).To(ConsistOf("clusters/a"), "not b itself")
	touched := stored.DeepCopy()
	touched.Labels["x"] = "y"
	g.Expect(planChanges.Update(event.UpdateEvent{ObjectOld: stored, ObjectNew: touched})).To(BeFalse())
	touched.Data[wire.PlanKey] = "{}"
	g.Expect(planChanges.Update(event.UpdateEvent{ObjectOld: stored, ObjectNew: touched})).To(BeTrue())
}

// TestNeighborsCost: what leaves elsewhere, and who else has VMs on the NAD, costs a cluster nothing.
func TestNeighborsCost(t *testing.T) {
	g := NewWithT(t)
	base := []client.Object{nadOn("default", "x", 1), poolOn("a", "default/x")}
	_, none, alone := neighborsOf(t, optedIn(t, "a"), base...)
	g.Expect(none).To(BeEmpty())

	leaving := base
	for i := range 20 {
		hc := optedIn(t, fmt.Sprintf("gone%d", i))
		hc.Finalizers, hc.DeletionTimestamp = []string{"hypershift.openshift.io/finalizer"}, &metav1.Time{Time: testNow}
		ns := hcp.ControlPlaneNamespace(hc)
		leaving = append(append(leaving, hc), inForce(ns, ns+"/own", bridge(2))...)
	}
	r, none, cost := neighborsOf(t, optedIn(t, "a"), leaving...)
	g.Expect(none).To(BeEmpty())
	g.Expect(awake(r.neighborsOfHostedCluster(t.Context(), optedIn(t, "a")))).To(ConsistOf("clusters/a"))
	g.Expect(cost).To(Equal(alone), "20 clusters leave, on other networks")

	foreign := base
	for i := range 20 {
		vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("vm%d", i)}}
		vm.Spec.Networks = []kubevirtv1.Network{{Name: "a", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "default/x"}}}}
		foreign = append(foreign, vm)
	}
	_, none, cost = neighborsOf(t, optedIn(t, "a"), foreign...)
	g.Expect(none).To(BeEmpty())
	g.Expect(cost).To(BeNumerically("<=", alone+1), "20 VMs of others on the NAD: one look at their namespace")
}

// TestUnservedCluster: a cluster names one that oooi does not serve and that is on its network, and reads only its HostedCluster. A change of
// its NodePools is a pass.
func TestUnservedCluster(t *testing.T) {
	g := NewWithT(t)
	b, gone, outside := optedIn(t, "b"), optedIn(t, "gone"), optedIn(t, "outside")
	gone.Finalizers, gone.DeletionTimestamp = []string{"hypershift.openshift.io/finalizer"}, &metav1.Time{Time: testNow}
	outside.Spec.Platform.Kubevirt = &hyperv1.KubevirtPlatformSpec{Credentials: &hyperv1.KubevirtPlatformCredentials{InfraNamespace: "vms"}}
	objects := []client.Object{nadOn("default", "x", 1), poolOn("a", "default/x"), poolOn("b", "default/x"), poolOn("gone", "default/x"), poolOn("outside", "default/x")}
	for _, hc := range []*hyperv1.HostedCluster{b, gone, outside} {
		hc.Annotations = nil
		objects = append(objects, hc)
	}
	_, found, few := neighborsOf(t, optedIn(t, "a"), objects...)
	g.Expect(found).To(ConsistOf("clusters/b"))
	for i := range 20 {
		np := poolOn("b", "default/x")
		np.Name = fmt.Sprintf("b%d", i)
		np.Spec.Platform.Kubevirt.AdditionalNetworks = append(np.Spec.Platform.Kubevirt.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: fmt.Sprintf("clusters-b/x%d", i)})
		objects = append(objects, np, nadOn("clusters-b", fmt.Sprintf("x%d", i), 10+i))
	}
	r, found, many := neighborsOf(t, optedIn(t, "a"), objects...)
	g.Expect(found).To(ConsistOf("clusters/b"))
	g.Expect(many).To(Equal(few), "20 NodePools of b, with networks of their own")
	pools := &lenient.NodePoolList{}
	g.Expect(r.Client.List(t.Context(), pools, client.MatchingFields{watch.ByCluster: "b"})).To(Succeed())
	g.Expect(awake(r.neighborsOfNodePool(t.Context(), &pools.Items[0]))).To(ConsistOf("clusters/a"))
}

// TestNetworkOfAnother: NodePools that name a network of cluster a, which does not allow them, cost a no read and no pass.
// A change of its NAD, which may allow them, is a pass for both.
func TestNetworkOfAnother(t *testing.T) {
	g := NewWithT(t)
	const nad = "clusters-a/net"
	base := []client.Object{nadOn("clusters-a", "net", 1), poolOn("a", nad)}
	_, none, alone := neighborsOf(t, optedIn(t, "a"), base...)
	g.Expect(none).To(BeEmpty())

	objects := append(base, optedIn(t, "b"))
	for i := range 20 {
		np := poolOn("b", nad)
		np.Name = fmt.Sprintf("b%d", i)
		np.Spec.Platform.Kubevirt.AdditionalNetworks = append(np.Spec.Platform.Kubevirt.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: fmt.Sprintf("x%d", i)})
		vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-b", Name: np.Name}}
		vm.Spec.Networks = []kubevirtv1.Network{{Name: "a", NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: nad}}}}
		objects = append(objects, np, vm)
	}
	r, none, cost := neighborsOf(t, optedIn(t, "a"), objects...)
	g.Expect(none).To(BeEmpty())
	g.Expect(cost).To(Equal(alone), "20 NodePools and VMs of b name the network")

	pools := &lenient.NodePoolList{}
	g.Expect(r.Client.List(t.Context(), pools, client.MatchingFields{watch.ByCluster: "b"})).To(Succeed())
	g.Expect(pools.Items).To(HaveLen(20))
	g.Expect(awake(r.neighborsOfNodePool(t.Context(), &pools.Items[0]))).NotTo(ContainElement("clusters/a"))
	b := &lenient.HostedCluster{}
	g.Expect(r.Client.Get(t.Context(), types.NamespacedName{Namespace: "clusters", Name: "b"}, b)).To(Succeed())
	g.Expect(awake(r.neighborsOfHostedCluster(t.Context(), b))).NotTo(ContainElement("clusters/a"))
	changed := &lenient.NetworkAttachmentDefinition{}
	g.Expect(r.Client.Get(t.Context(), types.NamespacedName{Namespace: "clusters-a", Name: "net"}, changed)).To(Succeed())
	g.Expect(awake(r.ofDefinition(t.Context(), changed))).To(ConsistOf("clusters/a", "clusters/b"))

	allows := nadOn("clusters-a", "net", 1)
	allows.SetAnnotations(map[string]string{settings.Prefix + network.KeyNamespaces: "clusters-b"})
	r, found, _ := neighborsOf(t, optedIn(t, "a"), append(objects[1:], allows)...)
	g.Expect(found).To(ConsistOf("clusters/b"))
	g.Expect(awake(r.neighborsOfNodePool(t.Context(), &pools.Items[0]))).To(ContainElement("clusters/a"))
}
