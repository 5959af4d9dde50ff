package backends_test

import (
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
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/edge/kube"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
	_ "github.com/cldmnky/oooi/test/patience"
)

// router is a VM with three interfaces, of which one reports an address of its own and one that of an edge.
func router(namespace string, n network.Network) *kubevirtv1.VirtualMachineInstance {
	return &kubevirtv1.VirtualMachineInstance{
		TypeMeta:   metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachineInstance"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "router-1"},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{Domain: kubevirtv1.DomainSpec{Devices: kubevirtv1.Devices{Interfaces: []kubevirtv1.Interface{
			{Name: "a", MacAddress: "02:00:00:00:01:01"}, {Name: "b", MacAddress: "02:00:00:00:01:02"}, {Name: "c", MacAddress: "02:00:00:00:01:03"},
		}}}},
		Status: kubevirtv1.VirtualMachineInstanceStatus{Interfaces: []kubevirtv1.VirtualMachineInstanceNetworkInterface{
			{Name: "b", MAC: "02:00:00:00:01:02", IP: "192.168.100.150"},
			{Name: "c", MAC: "02:00:00:00:01:03", IP: n.ServiceVIP.String()},
		}},
	}
}

// TestBackendsOfAnAPIServer resolves backends of VMs from a real API server.
func TestBackendsOfAnAPIServer(t *testing.T) {
	g := NewWithT(t)
	const namespace = "clusters-blue"
	admin, direct := apiserver.ForEdges(t, namespace)
	config, cut := apiserver.Cuttable(t, direct)
	connect := func() *kube.Kube {
		k, err := kube.New(config, namespace, "lo", slog.New(slog.NewTextHandler(t.Output(), nil)))
		g.Expect(err).NotTo(HaveOccurred())
		return k
	}
	lease := func(address, mac string, expires time.Duration) network.Lease {
		return network.Lease{Address: netip.MustParseAddr(address), MAC: mac, VM: "blue-1", Expires: time.Now().Add(expires).UTC().Truncate(time.Second)}
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	file := filepath.Join(t.TempDir(), "backends.json")
	b, err := backends.New(t.Context(), connect(), (&resolver{}).lookup, file, log)
	g.Expect(err).NotTo(HaveOccurred())
	passthrough := network.Backend{Kind: network.BackendVMs, Name: "default-ingress-passthrough:443", Service: "default-ingress-passthrough", Port: 443, PortName: "https"}
	api := network.Backend{Name: "absent:6443", Service: "absent", Port: 6443}
	n := networkWith(allVMs, passthrough, led, api)
	b.Follow(t.Context(), n)
	g.Expect(b.Seen(t.Context())).To(BeTrue())
	g.Expect(b.Endpoints(allVMs)).To(And(BeEmpty(), Not(BeNil())), "the VMs were read, there are none")
	g.Expect(b.Endpoints(passthrough)).To(And(BeEmpty(), Not(BeNil())), "VMs have no cluster IP to fall back to")
	g.Expect(b.Endpoints(api)).To(BeNil(), "pods have a cluster IP")

	g.Expect(admin.Create(t.Context(), router(namespace, n))).To(Succeed())
	l := connect().Leases(t.Context(), n.Name)
	g.Eventually(l.Ready, "1m").Should(Succeed())
	for _, x := range []network.Lease{
		lease("192.168.100.101", "02:00:00:00:01:01", time.Hour),
		lease("192.168.100.102", "02:00:00:00:0f:0f", time.Hour), // a MAC that no VM has
		lease("192.168.100.103", "02:00:00:00:01:01", -time.Hour),
	} {
		g.Expect(l.Replace(t.Context(), network.Lease{}, x)).To(Succeed())
	}
	at := func(x network.Backend) func() []netip.AddrPort {
		return func() []netip.AddrPort { return b.Endpoints(x) }
	}
	g.Eventually(at(allVMs), "1m").Should(Equal(addrPorts("192.168.100.101:443", "192.168.100.150:443")), "one by its lease, one by KubeVirt's report")
	g.Expect(l.Replace(t.Context(), network.Lease{}, lease("192.168.100.150", "02:00:00:00:0f:0f", time.Hour))).To(Succeed())
	g.Eventually(at(allVMs), "1m").Should(Equal(addrPorts("192.168.100.101:443")), "another MAC holds the lease on the reported address")

	name, port := "https", int32(31443)
	g.Expect(admin.Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "passthrough-1", Labels: map[string]string{discoveryv1.LabelServiceName: passthrough.Service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.168.100.101"}}, {Addresses: []string{"10.128.0.9"}},
			{Addresses: []string{n.ServiceVIP.String()}}, {Addresses: []string{"192.168.100.255"}}},
	})).To(Succeed())
	want := addrPorts("192.168.100.101:31443")
	g.Eventually(func() []netip.AddrPort { return append(b.Endpoints(passthrough), b.Endpoints(led)...) }, "1m").Should(Equal(addrPorts("192.168.100.101:31443", "192.168.100.101:31999")), "only VMs on the network")
	g.Eventually(func() string { text, _ := os.ReadFile(file); return string(text) }, "1m").Should(And(ContainSubstring("192.168.100.101:31443"), Not(ContainSubstring("192.168.100.150"))))

	cut()
	g.Expect(b.Endpoints(passthrough)).To(Equal(want))
	copied := filepath.Join(t.TempDir(), "backends.json")
	text, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(copied, text, 0o600)).To(Succeed())
	again, err := backends.New(t.Context(), connect(), (&resolver{}).lookup, copied, log)
	g.Expect(err).NotTo(HaveOccurred())
	again.Follow(t.Context(), n)
	g.Expect(again.Endpoints(passthrough)).To(Equal(want), "started without the API server")
	g.Expect(again.Endpoints(allVMs)).To(Equal(addrPorts("192.168.100.101:443")))

	g.Expect(admin.DeleteAllOf(t.Context(), &coordinationv1.Lease{}, client.InNamespace(namespace))).To(Succeed())
	g.Expect(admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: passthrough.Service})).To(Succeed())
	config = direct
	back, err := backends.New(t.Context(), connect(), (&resolver{}).lookup, copied, log)
	g.Expect(err).NotTo(HaveOccurred())
	back.Follow(t.Context(), n)
	g.Eventually(func() []netip.AddrPort { return append(back.Endpoints(passthrough), back.Endpoints(allVMs)...) }, "1m").Should(
		Equal(addrPorts("192.168.100.150:443")), "the slices and leases were deleted")
}
