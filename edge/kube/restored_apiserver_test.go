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

// restoredEdges are two edges of an API server that is restored.
type restoredEdges struct {
	cluster
	t      *testing.T
	server *apiserver.Server
	edges  [2]*kube.Leases
	vms    *kube.VMs
	plan   atomic.Value
}

const (
	restoredNetwork = "clusters.vlan100"
	// afterRestart is how long edges have to notice changes after the API server was away: client-go waits for up to a minute
	// between two requests.
	afterRestart = 5 * time.Minute
)

func newRestoredEdges(t *testing.T) *restoredEdges {
	server, pod := apiserver.ServerForEdges(t, namespace)
	return &restoredEdges{cluster: cluster{server.Admin, pod}, t: t, server: server}
}

// start runs the edges.
func (r *restoredEdges) start() {
	t, g, ctx := r.t, NewWithT(r.t), r.t.Context()
	for i := range r.edges {
		r.edges[i] = r.kube(t).Leases(ctx, restoredNetwork)
		go r.edges[i].KeepFresh(ctx)
		g.Eventually(r.edges[i].Ready, "1m").Should(Succeed())
	}
	r.vms = r.kube(t).VMs(ctx, netip.MustParsePrefix("192.168.100.0/24"))
	g.Eventually(r.vms.Ready, "1m").Should(Succeed())
	r.kube(t).FollowPlan(ctx, func(text string) { r.plan.Store(text) })
}

// at is the lease on a as an edge knows it.
func (r *restoredEdges) at(i int, a netip.Addr) network.Lease {
	l, _ := r.edges[i].At(a)
	return l
}

// writes has edge i write l in place of the lease that it knows.
func (r *restoredEdges) writes(i int, l network.Lease) {
	r.t.Helper()
	NewWithT(r.t).Eventually(func() error { return r.edges[i].Replace(r.t.Context(), r.at(i, l.Address), l) }, "1m").Should(Succeed())
}

// stored is the lease on a as the API server has it.
func (r *restoredEdges) stored(a netip.Addr) (network.Lease, error) {
	var o coordinationv1.Lease
	if err := r.admin.Get(r.t.Context(), client.ObjectKey{Namespace: namespace, Name: wire.LeaseName(restoredNetwork, a)}, &o); err != nil {
		return network.Lease{}, err
	}
	l, err := leaseobject.Read(&o)
	return l.AsWritten(), err
}

// keep fails if another client could get the address of a lease.
func (r *restoredEdges) keep(all []network.Lease) {
	r.t.Helper()
	g := NewWithT(r.t)
	for i, e := range r.edges {
		for _, l := range all {
			g.Expect(r.at(i, l.Address).MAC).To(Equal(l.MAC))
			other := l
			other.MAC = "02:00:00:00:00:09"
			g.Expect(e.Replace(r.t.Context(), network.Lease{}, other)).To(MatchError(fs.ErrExist))
		}
	}
}

// TestRestoredAPIServer: the etcd of the management cluster is restored to an older state while two edges run. They follow the
// restored objects, and write again what VMs were promised since the backup. Nothing that they promised is assigned twice.
func TestRestoredAPIServer(t *testing.T) {
	g, ctx, r := NewWithT(t), t.Context(), newRestoredEdges(t)
	plan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: wire.PlanConfigMap}, Data: map[string]string{wire.PlanKey: "saved"}}
	r.apply(t, plan)
	renewed, moved := lease("192.168.100.20", "02:00:00:00:00:01", time.Hour), lease("192.168.100.22", "02:00:00:00:00:05", time.Hour)
	for _, l := range []network.Lease{renewed, moved} {
		o := leaseobject.Of(restoredNetwork, l, time.Hour, time.Now())
		o.Namespace = namespace
		r.apply(t, o)
	}
	state := r.server.Save(t)
	r.start()
	g.Eventually(r.plan.Load, "1m").Should(Equal("saved"))

	given := lease("192.168.100.21", "02:00:00:00:00:02", 2*time.Hour)
	renewed.Expires = renewed.Expires.Add(time.Hour)
	moved.MAC, moved.Expires = "02:00:00:00:00:06", moved.Expires.Add(time.Hour)
	promised := []network.Lease{renewed, given, moved}
	for _, l := range promised {
		r.writes(0, l)
		g.Eventually(func() network.Lease { return r.at(1, l.Address).AsWritten() }, "1m").Should(Equal(l))
	}
	for i := range 500 { // The restored API server does not reach this revision again while the test runs.
		plan.Data[wire.PlanKey] = fmt.Sprint(i)
		g.Expect(r.admin.Update(ctx, plan)).To(Succeed())
	}
	r.server.Restore(t, state)

	r.keep(promised)
	g.Eventually(r.plan.Load, afterRestart).Should(Equal("saved"), "the plan is that of the backup")
	for _, l := range promised {
		g.Eventually(func() (network.Lease, error) { return r.stored(l.Address) }, afterRestart).Should(Equal(l), "the lease is written again")
	}
	r.keep(promised)
	for i, l := range promised {
		l.Expires = l.Expires.Add(time.Hour)
		r.writes(i%2, l)
		g.Eventually(func() network.Lease { return r.at(1-i%2, l.Address).AsWritten() }, afterRestart).Should(Equal(l), "the peer follows")
		g.Expect(r.stored(l.Address)).To(Equal(l))
	}
	r.apply(t, &kubevirtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue-9"},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{Domain: kubevirtv1.DomainSpec{Devices: kubevirtv1.Devices{
			Interfaces: []kubevirtv1.Interface{{Name: "iface1", MacAddress: "02:00:00:00:00:09"}}}}},
	})
	g.Eventually(func() string { n, _, _ := r.vms.VM("02:00:00:00:00:09"); return n }, afterRestart).Should(Equal("blue-9"), "VMs are followed again")
	g.Expect(r.edges[0].Remove(ctx, r.at(0, given.Address))).To(Succeed())
	g.Eventually(func() bool { return r.at(1, given.Address).Address.IsValid() }, "1m").Should(BeFalse(), "a removed lease is not written again")
}
