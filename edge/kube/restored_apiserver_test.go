package kube_test

import (
	"fmt"
	"io/fs"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
)

// TestRestoredAPIServer: the etcd of the management cluster is restored to an older state while two edges run. They follow the
// restored objects, and write again what VMs were promised since the backup. Nothing that they promised is assigned twice.
func TestRestoredAPIServer(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	server, pod := apiserver.ServerForEdges(t, namespace)
	c := cluster{server.Admin, pod}
	const name = "clusters.vlan100"
	var edges [2]*kube.Leases
	for i := range edges {
		edges[i] = c.kube(t).Leases(ctx, name)
		go edges[i].KeepFresh(ctx)
		g.Eventually(edges[i].Ready, "1m").Should(Succeed())
	}
	vms := c.kube(t).VMs(ctx, netip.MustParsePrefix("192.168.100.0/24"))
	g.Eventually(vms.Ready, "1m").Should(Succeed())
	var plan atomic.Value
	c.kube(t).FollowPlan(ctx, func(text string) { plan.Store(text) })
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: "saved"}}
	}
	c.apply(t, object())
	g.Eventually(plan.Load, "1m").Should(Equal("saved"))
	at := func(i int, a netip.Addr) network.Lease { l, _ := edges[i].At(a); return l }
	renew := func(i int, l network.Lease) {
		t.Helper()
		g.Eventually(func() error { return edges[i].Replace(ctx, at(i, l.Address), l) }, "1m").Should(Succeed())
	}
	old := lease("192.168.100.20", "02:00:00:00:00:01", time.Hour)
	moved := lease("192.168.100.22", "02:00:00:00:00:05", time.Hour)
	renew(0, old)
	renew(0, moved)
	state := server.Save(t)

	renewed, given := old, lease("192.168.100.21", "02:00:00:00:00:02", 2*time.Hour)
	renewed.Expires = old.Expires.Add(time.Hour)
	moved.MAC, moved.Expires = "02:00:00:00:00:06", moved.Expires.Add(time.Hour)
	renew(0, renewed)
	renew(1, given)
	g.Eventually(func() network.Lease { return at(0, moved.Address) }, "1m").ShouldNot(BeZero())
	renew(0, moved)
	promised := []network.Lease{renewed, given, moved}
	for i := range edges {
		for _, l := range promised {
			g.Eventually(func() network.Lease { return at(i, l.Address).AsWritten() }, "1m").Should(Equal(l))
		}
	}
	for i := range 500 { // The restored API server does not reach this revision again while the test runs.
		o := object()
		o.Data[wire.PlanKey] = fmt.Sprint(i)
		g.Expect(c.admin.Update(ctx, o)).To(Succeed())
	}
	server.Restore(t, state)

	stored := func(a netip.Addr) (network.Lease, error) {
		var o coordinationv1.Lease
		if err := c.admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: wire.LeaseName(name, a)}, &o); err != nil {
			return network.Lease{}, err
		}
		l, err := leaseobject.Read(&o)
		return l.AsWritten(), err
	}
	others := func() (out []error) {
		for i, e := range edges {
			for _, l := range promised {
				if now := at(i, l.Address); now.MAC != l.MAC {
					out = append(out, fmt.Errorf("edge %d knows %v on %s", i, now, l.Address))
				}
				other := l
				other.MAC = "02:00:00:00:00:09"
				out = append(out, e.Replace(ctx, network.Lease{}, other))
			}
		}
		return out
	}
	g.Expect(others()).To(HaveEach(MatchError(fs.ErrExist)), "another VM gets none of the addresses")
	g.Eventually(plan.Load, "1m").Should(Equal("saved"), "the plan is that of the backup")
	for _, l := range promised {
		g.Eventually(func() (network.Lease, error) { return stored(l.Address) }, "1m").Should(Equal(l), "the lease is written again")
	}
	g.Expect(others()).To(HaveEach(MatchError(fs.ErrExist)))
	for i, l := range promised {
		l.Expires = l.Expires.Add(time.Hour)
		renew(i%2, l)
		g.Eventually(func() network.Lease { return at(1-i%2, l.Address).AsWritten() }, "1m").Should(Equal(l), "the peer follows")
		g.Expect(stored(l.Address)).To(Equal(l))
	}

	c.apply(t, &kubevirtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue-9"},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{Domain: kubevirtv1.DomainSpec{Devices: kubevirtv1.Devices{
			Interfaces: []kubevirtv1.Interface{{Name: "iface1", MacAddress: "02:00:00:00:00:09"}}}}},
	})
	g.Eventually(func() string { n, _, _ := vms.VM("02:00:00:00:00:09"); return n }, "1m").Should(Equal("blue-9"), "VMs are followed again")
	g.Expect(edges[0].Remove(ctx, at(0, given.Address))).To(Succeed())
	g.Eventually(func() bool { return at(1, given.Address).Address.IsValid() }, "1m").Should(BeFalse(), "a released lease is not written again")
}
