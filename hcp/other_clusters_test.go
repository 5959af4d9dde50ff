package hcp_test

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// TestOtherCluster checks clusters that share a NetworkAttachmentDefinition, a bridge and
// VLAN, or a network in use. It also checks which one is older.
func TestOtherCluster(t *testing.T) {
	two := func() (blue, green hcp.Objects) {
		for _, s := range golden.Stories(t) {
			if s.Name == "two-clusters-conflict" {
				dump := &files.Dump{}
				if err := dump.Add(s.Read(t, "objects.yaml")); err != nil {
					t.Fatal(err)
				}
				blue, green = dump.Clusters()[0], dump.Clusters()[1]
			}
		}
		return blue, green
	}
	g := NewWithT(t)
	blue, green := two()
	n, ok := hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(ok).To(BeTrue())
	g.Expect(n.Name).To(Equal("clusters/green"))
	g.Expect(n.Older).To(BeTrue())
	g.Expect(n.Wants.Networks).To(HaveLen(1))
	back, _ := hcp.NewNeighbor(blue, network.Plan{}).For(green.HostedCluster, networks.All(green, network.Plan{}))
	g.Expect(back.Older).To(BeFalse())

	green.HostedCluster.CreationTimestamp = blue.HostedCluster.CreationTimestamp
	n, _ = hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(n.Older).To(BeFalse(), "the name decides between equal timestamps")
	g.Expect(n.SameAge).To(BeTrue())

	green.HostedCluster.Annotations[settings.Prefix+"cidr"] = "x"
	n, ok = hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(ok).To(BeTrue(), "its VMs still use the network")
	g.Expect(n.Wants.Networks).To(BeEmpty(), "an invalid request wants no addresses")

	_, green = two()
	g.Expect(n.Unserved).To(BeFalse())
	delete(green.HostedCluster.Annotations, settings.Prefix+"network")
	n, ok = hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(ok).To(BeTrue(), "its VMs use the network")
	g.Expect(n.Unserved).To(BeTrue())
	g.Expect(hcp.Unserved(green.HostedCluster, blue.HostedCluster, n.On)).To(Equal(n), "as the operator has it")

	_, green = two()
	green.NetworkAttachmentDefinitions = nil
	_, ok = hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(ok).To(BeFalse(), "the layer-2 network is unknown")
	now := metav1.Now()
	_, green = two()
	runs, _ := hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	green.HostedCluster.DeletionTimestamp, green.NodePools = &now, nil
	n, ok = hcp.NewNeighbor(green, runs.Wants).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	g.Expect(ok).To(BeTrue(), "a deleted cluster still uses its network")
	g.Expect(n.Wants.Networks).To(BeEmpty())
	g.Expect(n.Serves.Networks).To(HaveLen(1))
}

// TestRenderBesideADump checks that a cluster which is only rendered yields to one that
// exists and wants the same addresses.
func TestRenderBesideADump(t *testing.T) {
	g := NewWithT(t)
	dump := &files.Dump{}
	g.Expect(dump.Add(golden.Find(t, "two-clusters-conflict").Read(t, "objects.yaml"))).To(Succeed())
	blue, green := dump.Clusters()[0], dump.Clusters()[1]
	green.HostedCluster.CreationTimestamp = metav1.Time{}
	ofBlue, _ := hcp.NewNeighbor(blue, network.Plan{}).For(green.HostedCluster, networks.All(green, network.Plan{}))
	ofGreen, _ := hcp.NewNeighbor(green, network.Plan{}).For(blue.HostedCluster, networks.All(blue, network.Plan{}))
	request, facts := hcp.Translate(blue, network.Plan{})
	g.Expect(derive.Derive(request, facts, network.Plan{}, []derive.OtherCluster{ofGreen}).Problems.Of(problem.SeverityError)).To(BeEmpty())
	request, facts = hcp.Translate(green, network.Plan{})
	g.Expect(derive.Derive(request, facts, network.Plan{}, []derive.OtherCluster{ofBlue}).Problems).To(
		ContainElement(HaveField("Cause", problem.SharedAddresses)))
}

// TestNodePortsOfOther: only one cluster can have a node port, on any network. A cluster whose Service has it keeps it.
func TestNodePortsOfOther(t *testing.T) {
	g := NewWithT(t)
	at := func(name string, service hyperv1.ServiceType, port int32) hcp.Objects {
		o := served(t)
		o.HostedCluster.Name = name
		o.HostedCluster.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: service, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{
			Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: "10.240.0.7", Port: port}}}}
		return o
	}
	blue, green := at("blue", hyperv1.APIServer, 30643), at("green", hyperv1.Ignition, 30643)
	g.Expect(hcp.NodePortsOfOther(blue, green.HostedCluster)).To(HaveExactElements(And(HaveField("Cause", problem.NodePortRepeated),
		HaveField("Args", Equal(problem.Args{"port": {"30643"}, "services": {"APIServer", "Ignition of HostedCluster clusters/green"}})))))
	g.Expect(hcp.NodePortsOfOther(blue, at("green", hyperv1.Ignition, 30644).HostedCluster)).To(BeEmpty())
	g.Expect(hcp.NodePortsOfOther(blue, at("green", hyperv1.Ignition, 0).HostedCluster)).To(BeEmpty())
	blue.Services[0].Spec.Ports[0].NodePort = 30643
	g.Expect(hcp.NodePortsOfOther(blue, green.HostedCluster)).To(BeEmpty())
	g.Expect(hcp.NodePortsOfOther(green, blue.HostedCluster)).To(HaveLen(1))
}

// TestVMAddresses checks that interfaces which only the guest agent reports are ignored.
func TestVMAddresses(t *testing.T) {
	vm := lenient.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-blue", Name: "worker"}}
	vm.Spec.Networks = []lenient.VMNetwork{
		{Name: "default"},
		{Name: "iface1", Multus: &lenient.VMMultus{NetworkName: "vlan100"}},
	}
	vm.Status.Interfaces = []lenient.VMInterface{
		{Name: "default", IP: "10.128.0.7"},
		{Name: "iface1", IP: "192.168.100.20", IPs: []string{"192.168.100.20", "fe80::1", "192.168.100.21"}},
		{IP: "192.168.100.2"},
	}
	o := served(t)
	o.VMs = []lenient.VirtualMachineInstance{vm}
	in, _ := translated(o)
	all := []network.VMAddress{
		{VM: "worker", Network: "clusters-blue.vlan100", Address: netip.MustParseAddr("192.168.100.20")},
		{VM: "worker", Network: "clusters-blue.vlan100", Address: netip.MustParseAddr("192.168.100.21")},
	}
	g := NewWithT(t)
	g.Expect(in.VMAddresses).To(Equal(all))
	n, ok := hcp.NewNeighbor(o, network.Plan{}).For(served(t).HostedCluster, []network.Attachment{{Namespace: "clusters-blue", Name: "vlan100"}})
	g.Expect(ok).To(BeTrue())
	g.Expect(n.VMAddresses).To(Equal(all), "other clusters see them")
}

// TestMayUseNetworks: credentials may place VMs on another cluster. VMs that are here show that they do not.
func TestMayUseNetworks(t *testing.T) {
	g, o := NewWithT(t), served(t)
	g.Expect(hcp.MayUseNetworks(o.HostedCluster, false)).To(BeTrue())
	o.HostedCluster.Spec.Platform.Kubevirt = &hyperv1.KubevirtPlatformSpec{Credentials: &hyperv1.KubevirtPlatformCredentials{InfraNamespace: "clusters-blue"}}
	g.Expect(hcp.MayUseNetworks(o.HostedCluster, false)).To(BeFalse())
	g.Expect(hcp.MayUseNetworks(o.HostedCluster, true)).To(BeTrue())
	o.HostedCluster.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	g.Expect(hcp.MayUseNetworks(o.HostedCluster, true)).To(BeFalse())
}
