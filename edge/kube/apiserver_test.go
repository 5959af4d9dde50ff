package kube_test

import (
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	_ "github.com/cldmnky/oooi/test/patience"
)

const namespace = "clusters-blue"

// A cluster is a real API server and its etcd.
type cluster struct {
	admin client.Client
	// pod is the service account of an edge, with the rights that the operator gives it.
	pod *rest.Config
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	admin, pod := apiserver.ForEdges(t, namespace)
	return cluster{admin, pod}
}

func (c cluster) apply(t *testing.T, o client.Object) {
	t.Helper()
	if err := c.admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func (c cluster) kube(t *testing.T) *kube.Kube {
	t.Helper()
	k, err := kube.New(c.pod, namespace, "lo", slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestAgainstAnAPIServer uses a real API server with no more rights than are shipped.
func TestAgainstAnAPIServer(t *testing.T) {
	c := newCluster(t)
	t.Run("leases", func(t *testing.T) { testLeases(t, c) })
	t.Run("names", func(t *testing.T) { testNames(t, c) })
	t.Run("vms", func(t *testing.T) { testVMs(t, c) })
	t.Run("named vms", func(t *testing.T) { testNamedVMs(t, c) })
	t.Run("endpoints", func(t *testing.T) { testEndpoints(t, c) })
	t.Run("reports", func(t *testing.T) { testReports(t, c) })
	t.Run("outage", func(t *testing.T) { testOutage(t, c) })
}

func lease(address, mac string, expires time.Duration) network.Lease {
	return network.Lease{
		Address: netip.MustParseAddr(address), MAC: mac, VM: "blue-1",
		Expires: time.Now().Add(expires).UTC().Truncate(time.Second),
	}
}

// testLeases: two edges share the leases of one network.
func testLeases(t *testing.T, c cluster) {
	g := NewWithT(t)
	one, two := c.kube(t).Leases(t.Context(), "clusters.vlan100"), c.kube(t).Leases(t.Context(), "clusters.vlan100")
	other := c.kube(t).Leases(t.Context(), "clusters.vlan200")
	g.Eventually(one.Ready, "1m").Should(Succeed())
	g.Eventually(two.Ready, "1m").Should(Succeed())
	a, b := lease("192.168.100.20", "02:00:00:00:00:01", time.Hour), lease("192.168.100.20", "02:00:00:00:00:02", time.Hour)
	none := network.Lease{}
	g.Expect(one.Replace(t.Context(), none, a)).To(Succeed())
	at := func(l *kube.Leases) func() network.Lease {
		return func() network.Lease { x, _ := l.At(a.Address); return x.AsWritten() }
	}
	stored := func(l *kube.Leases) network.Lease { x, _ := l.At(a.Address); return x }
	g.Expect(at(one)()).To(Equal(a), "the writer knows it at once")
	g.Expect(two.Replace(t.Context(), none, b)).To(MatchError(fs.ErrExist))
	g.Expect(at(two)()).To(Equal(a), "the refused edge knows it at once")
	of, _ := one.Of(a.MAC)
	g.Expect(of).To(Equal(stored(one)))
	g.Expect(of.VM).To(Equal("blue-1"))

	later := a
	later.Expires = a.Expires.Add(time.Hour)
	first := stored(one)
	g.Expect(two.Replace(t.Context(), stored(two), later)).To(Succeed())
	g.Eventually(at(one), "1m").Should(Equal(later))
	g.Expect(one.Replace(t.Context(), first, b)).To(MatchError(fs.ErrExist), "the expected lease is outdated")

	var list coordinationv1.LeaseList
	g.Expect(c.admin.List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"hostedcluster.densityops.com/network": "clusters.vlan100"})).To(Succeed())
	g.Expect(list.Items).To(HaveLen(1))
	g.Expect(list.Items[0].Name).To(Equal("oooi.clusters.vlan100.192.168.100.20"))
	g.Expect(*list.Items[0].Spec.HolderIdentity).To(Equal("blue-1"))
	g.Expect(list.Items[0].Labels).To(And(HaveKeyWithValue("hostedcluster.densityops.com/vm", "blue-1"), HaveKeyWithValue("hostedcluster.densityops.com/address", "192.168.100.20")))

	broken := list.Items[0].DeepCopy()
	broken.Spec.HolderIdentity = nil
	g.Expect(c.admin.Update(t.Context(), broken)).To(Succeed())
	g.Eventually(func() string { return at(one)().MAC }, "1m").Should(BeEmpty(), "edited by hand: blocked")
	g.Expect(at(one)().Held(time.Now().AddDate(100, 0, 0))).To(BeTrue())
	g.Expect(c.admin.Delete(t.Context(), broken)).To(Succeed())
	g.Eventually(at(two), "1m").Should(Equal(none))
	g.Eventually(at(one), "1m").Should(Equal(none))

	g.Expect(two.Replace(t.Context(), none, b)).To(Succeed())
	g.Eventually(at(one), "1m").Should(Equal(b))
	g.Expect(one.Remove(t.Context(), first)).To(Succeed(), "the lease has changed: it stays")
	g.Expect(at(one)()).To(Equal(b))
	declined := network.Lease{Address: b.Address, Expires: b.Expires}
	g.Expect(one.Replace(t.Context(), stored(one), declined)).To(Succeed())
	g.Eventually(at(two), "1m").Should(Equal(declined))
	g.Expect(one.Remove(t.Context(), stored(one))).To(Succeed())
	g.Eventually(at(two), "1m").Should(Equal(none))
	_, ok := other.Of(a.MAC)
	g.Expect(ok).To(BeFalse(), "a lease of another network")
}

func testVMs(t *testing.T, c cluster) {
	g := NewWithT(t)
	m := c.kube(t).VMs(t.Context(), netip.MustParsePrefix("192.168.100.0/24"))
	g.Expect(m.Gone("blue-1")).To(BeFalse(), "VMs were not read yet")
	g.Eventually(m.Ready, "1m").Should(Succeed(), "an empty list is complete")
	vmi := &kubevirtv1.VirtualMachineInstance{
		TypeMeta:   metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachineInstance"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blue-1"},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{Domain: kubevirtv1.DomainSpec{Devices: kubevirtv1.Devices{Interfaces: []kubevirtv1.Interface{
			{Name: "iface1"}, {Name: "iface2", MacAddress: "02-00-00-00-00-AA"},
		}}}},
		Status: kubevirtv1.VirtualMachineInstanceStatus{Interfaces: []kubevirtv1.VirtualMachineInstanceNetworkInterface{
			{Name: "iface1", MAC: "02:00:00:00:00:01", IP: "fe80::1", IPs: []string{"fe80::1", "10.1.1.1", "192.168.100.66"}, InfoSource: "domain, guest-agent"},
			{MAC: "02:00:00:00:00:bb", IP: "192.168.100.3", InterfaceName: "dummy0", InfoSource: "guest-agent"},
		}},
	}
	c.apply(t, vmi)
	g.Eventually(func() string { n, _, _ := m.VM("02:00:00:00:00:01"); return n }, "1m").Should(Equal("blue-1"))
	_, address, _ := m.VM("02:00:00:00:00:01")
	g.Expect(address.String()).To(Equal("192.168.100.66"))
	g.Expect(m.Reporter(address)).To(Equal("02:00:00:00:00:01"))
	name, _, _ := m.VM("02:00:00:00:00:aa")
	g.Expect(name).To(Equal("blue-1"), "the spec is enough before the VM runs")
	_, _, ok := m.VM("02:00:00:00:00:bb")
	g.Expect(ok).To(BeFalse(), "only the guest agent reports it")
	g.Expect(m.Gone("blue-1")).To(BeFalse())
	g.Expect(m.Gone("blue-0")).To(BeFalse(), "it may have existed a moment ago")
	// An object of a later KubeVirt, with fields of unknown shapes.
	c.apply(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
		"metadata": map[string]any{"namespace": namespace, "name": "odd"},
		"spec": map[string]any{"domain": map[string]any{"cpu": "many", "devices": map[string]any{"interfaces": []any{
			"a", map[string]any{"name": int64(5), "macAddress": "02:00:00:00:00:05"}, map[string]any{"macAddress": true},
		}}}},
		"status": map[string]any{"interfaces": []any{
			map[string]any{"name": "", "mac": "02:00:00:00:00:cc", "ipAddress": "192.168.100.4"}, map[string]any{"ipAddresses": "none"},
		}},
	}})
	g.Eventually(func() string { n, _, _ := m.VM("02:00:00:00:00:05"); return n }, "1m").Should(Equal("odd"), "readable fields are used")
	_, _, ok = m.VM("02:00:00:00:00:cc")
	g.Expect(ok).To(BeFalse(), "only the guest agent reports it")

	// Both are created in the same second, so the name decides.
	second := vmi.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "blue-2"}
	second.Status.Interfaces[0].MAC = "02:00:00:00:00:02"
	c.apply(t, second)
	g.Eventually(func() netip.Addr { _, a, _ := m.VM("02:00:00:00:00:02"); return a }, "1m").Should(Equal(address))
	g.Expect(m.Reporter(address)).To(Equal("02:00:00:00:00:01"), "the older VM has it")
	name, _, _ = m.VM("02:00:00:00:00:aa")
	g.Expect(name).To(Equal("blue-1"))
	g.Expect(c.admin.Delete(t.Context(), second)).To(Succeed())
	g.Expect(c.admin.Delete(t.Context(), vmi)).To(Succeed())
	g.Eventually(func() bool { _, _, ok := m.VM("02:00:00:00:00:01"); return ok }, "1m").Should(BeFalse())
	g.Expect(m.Gone("blue-1")).To(BeFalse(), "it existed a moment ago")
}

func testEndpoints(t *testing.T, c cluster) {
	g := NewWithT(t)
	e := c.kube(t).EndpointSlices(t.Context())
	g.Eventually(e.Ready, "1m").Should(Succeed())
	g.Expect(e.Endpoints(network.Backend{Service: "kube-apiserver"})).To(BeNil(), "no slice was seen")
	changed := e.Changed()
	follows := func(want ...netip.AddrPort) {
		t.Helper()
		g.Eventually(func() []netip.AddrPort { return e.Endpoints(network.Backend{Service: "kube-apiserver"}) }, "1m").Should(Equal(want))
	}
	yes, no := true, false
	name, port := "", int32(6443)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "kube-apiserver-1", Labels: map[string]string{discoveryv1.LabelServiceName: "kube-apiserver"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.1.0.9"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes}},
			{Addresses: []string{"10.1.0.8"}},
			{Addresses: []string{"10.1.0.7"}, Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes}},
		},
	}
	c.apply(t, slice)
	g.Eventually(changed, "1m").Should(BeClosed())
	follows(netip.MustParseAddrPort("10.1.0.8:6443"), netip.MustParseAddrPort("10.1.0.9:6443"))
	g.Expect(e.Endpoints(network.Backend{Service: "kube-apiserver", PortName: "other"})).To(And(BeEmpty(), Not(BeNil())), "the slices have no such port")
	set := func(endpoints ...discoveryv1.Endpoint) {
		changed = e.Changed()
		slice.Endpoints = endpoints
		g.Expect(c.admin.Update(t.Context(), slice)).To(Succeed())
		g.Eventually(changed, "1m").Should(BeClosed())
	}
	starting := discoveryv1.Endpoint{Addresses: []string{"10.1.0.6"}, Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &no}}
	ended := discoveryv1.Endpoint{Addresses: []string{"10.1.0.5"}, Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}}
	set(slice.Endpoints[2], starting)
	follows(netip.MustParseAddrPort("10.1.0.7:6443")) // No endpoint is ready, one still serves.
	set(starting, ended)
	follows(netip.MustParseAddrPort("10.1.0.6:6443")) // No endpoint serves: those that do not terminate are used.
	set()
	follows([]netip.AddrPort{}...) // Not nil: the slices have no endpoint.
}

// testOutage cuts the connection to the API server. Known state is kept, and a failed
// write returns an error other than fs.ErrExist.
func testOutage(t *testing.T, c cluster) {
	g := NewWithT(t)
	direct := c
	var cut func()
	c.pod, cut = apiserver.Cuttable(t, c.pod)
	k := c.kube(t)
	l, m, e := k.Leases(t.Context(), "clusters.vlan100"), k.VMs(t.Context(), netip.MustParsePrefix("192.168.100.0/24")), k.EndpointSlices(t.Context())
	g.Eventually(l.Ready, "1m").Should(Succeed())
	g.Eventually(e.Ready, "1m").Should(Succeed())
	file := filepath.Join(t.TempDir(), "leases.json")
	keep(t, l, file)
	known := lease("192.168.100.30", "02:00:00:00:00:03", time.Hour)
	g.Expect(l.Replace(t.Context(), network.Lease{}, known)).To(Succeed())
	g.Eventually(func() string { b, _ := os.ReadFile(file); return string(b) }, "1m").Should(ContainSubstring(known.MAC))
	cut()
	err := l.Replace(t.Context(), network.Lease{}, lease("192.168.100.31", "02:00:00:00:00:04", time.Hour))
	g.Expect(err).To(HaveOccurred())
	g.Expect(err).NotTo(MatchError(fs.ErrExist))
	of, _ := l.Of(known.MAC)
	g.Expect(of.AsWritten()).To(Equal(known))
	g.Expect(l.Ready()).To(Succeed())
	g.Expect(e.Endpoints(network.Backend{Service: "kube-apiserver"})).NotTo(BeNil())
	// A copy, as a restart finds it. The first server still writes its own file.
	copied, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	file = filepath.Join(t.TempDir(), "leases.json")
	g.Expect(os.WriteFile(file, copied, 0o600)).To(Succeed())
	cached := k.Leases(t.Context(), "clusters.vlan100")
	keep(t, cached, file)
	g.Consistently(cached.Ready, "300ms").ShouldNot(Succeed(), "started without the API server")
	of, _ = cached.Of(known.MAC)
	g.Expect(of.AsWritten()).To(Equal(known), "loaded from the cache")
	g.Expect(cached.Replace(t.Context(), known, lease("192.168.100.30", known.MAC, 2*time.Hour))).NotTo(Succeed())

	g.Expect(c.admin.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(namespace))).To(Succeed())
	file = filepath.Join(t.TempDir(), "leases.json")
	g.Expect(os.WriteFile(file, copied, 0o600)).To(Succeed())
	back := direct.kube(t).Leases(t.Context(), "clusters.vlan100")
	keep(t, back, file)
	g.Eventually(func() bool { _, ok := back.Of(known.MAC); return ok }, "1m").Should(BeFalse(), "the API server has no such lease")
	g.Expect(m.Gone("blue-9")).To(BeFalse(), "unknown while VMs cannot be watched")
}

// keep caches leases in file until the test ends.
func keep(t *testing.T, l *kube.Leases, file string) {
	t.Helper()
	if err := l.LoadCache(file); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { l.KeepCache(t.Context(), file, slog.New(slog.NewTextHandler(t.Output(), nil))); close(ended) }()
	t.Cleanup(func() { <-ended })
}
