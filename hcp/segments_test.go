package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

// TestWantedWhileAMachineUsesIt: a NodePool that moves to another network leaves
// machines on the old one until they are replaced.
func TestWantedWhileAMachineUsesIt(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	g.Expect(o.Machines).NotTo(BeEmpty())
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
	g.Expect(hcp.Wanted(o)).To(Equal(map[string]bool{"clusters.vlan100": true, "clusters.vlan200": true}))

	o.Machines = nil
	g.Expect(hcp.Wanted(o)).To(Equal(map[string]bool{"clusters.vlan200": true}))

	o.Machines = []kubevirtv1.VirtualMachineInstance{{}}
	o.Machines[0].Namespace = "clusters-blue"
	o.Machines[0].Spec.Networks = []kubevirtv1.Network{{NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: "bare"}}}, *kubevirtv1.DefaultPodNetwork()}
	g.Expect(hcp.Wanted(o)).To(HaveKey("clusters-blue.bare"))

	o.HostedCluster.Annotations[hcp.Prefix+"network"] = "clusters/vlan200"
	g.Expect(hcp.Wanted(o)).To(Equal(map[string]bool{"clusters.vlan200": true}), "the user asks for this one only")
}

// TestGatewayOfTheClusterWithACIDROfTheNodePool: the one does not hang on the
// other.
func TestGatewayOfTheClusterWithACIDROfTheNodePool(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[hcp.Prefix+"cidr."+o.NodePools[0].Name] = "10.1.0.0/24"
	o.HostedCluster.Annotations[hcp.Prefix+"gateway"] = "10.1.0.1"
	intent, problems := hcp.Intent(o)
	g.Expect(intent.Segments[0].Gateway.String()).To(Equal("10.1.0.1"))
	g.Expect(problems.Has(network.ImagesUnreachable)).To(BeFalse())
}

func TestNodePoolsOfOneNetworkWithOtherSettings(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	second := *o.NodePools[0].DeepCopy()
	second.Name = "more"
	second.Annotations = map[string]string{hcp.Prefix + "dhcp-exclude": "192.168.100.50"}
	o.NodePools = append(o.NodePools, second)
	_, problems := hcp.Intent(o)
	g.Expect(problems.Blocking()).To(BeTrue(), "what one excludes is not given out because of the other")

	o.NodePools[0].Annotations = second.Annotations
	_, problems = hcp.Intent(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
}

// TestEmptyNetworkAnnotation: what a template forgot to fill in removes nothing.
func TestEmptyNetworkAnnotation(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[hcp.Prefix+"network"] = ""
	g.Expect(hcp.OptedIn(o.HostedCluster)).To(BeTrue())
	_, problems := hcp.Intent(o)
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(problems[0].Reason).To(Equal(network.AnnotationInvalid))
	o.HostedCluster.Annotations[hcp.Prefix+"network"] = " none "
	g.Expect(hcp.OptedIn(o.HostedCluster)).To(BeFalse())
}

// TestSiblingOfAnInterfaceWithoutAddresses: OpenShift Virtualization's own
// example of a bridge switches addresses off for pods.
func TestSiblingOfAnInterfaceWithoutAddresses(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NetworkAttachmentDefinitions[0].Spec.Config = `{"cniVersion":"0.3.1","name":"n","type":"bridge","bridge":"br1","vlan":7,"disableContainerInterface":true,"macspoofchk":true,"preserveDefaultVlan":false}`
	intent, _ := hcp.Intent(o)
	sibling := intent.Segments[0].Attachment.SiblingConfig
	g.Expect(sibling).NotTo(ContainSubstring("disableContainerInterface"))
	g.Expect(sibling).To(And(ContainSubstring(`"macspoofchk":true`), ContainSubstring(`"preserveDefaultVlan":false`)))
}

// TestWindowsNodesDecideNothing: no edge runs there.
func TestWindowsNodesDecideNothing(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.Nodes = []corev1.Node{{}, {}}
	o.Nodes[0].Status.NodeInfo.ContainerRuntimeVersion = "cri-o://1.33.0"
	o.Nodes[1].Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "windows", ContainerRuntimeVersion: "containerd://1.7"}
	intent, _ := hcp.Intent(o)
	g.Expect(intent.Segments[0].Attachment.SiblingConfig).NotTo(ContainSubstring("tuning"))
}
