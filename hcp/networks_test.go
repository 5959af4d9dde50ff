package hcp_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestWantedWhileVMUsesIt checks that a network is wanted while a VM uses it. A NodePool
// that changes its network has VMs on the old one until they are replaced.
func TestWantedWhileVMUsesIt(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	wanted := func() []string { in, _ := translated(o); return in.Wanted }
	g.Expect(o.VMs).NotTo(BeEmpty())
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan200"}}
	g.Expect(wanted()).To(Equal([]string{"clusters.vlan100", "clusters.vlan200"}))

	o.VMs = nil
	g.Expect(wanted()).To(Equal([]string{"clusters.vlan200"}))

	o.VMs = []lenient.VirtualMachineInstance{{}}
	o.VMs[0].Namespace = "clusters-blue"
	o.VMs[0].Spec.Networks = []lenient.VMNetwork{{Multus: &lenient.VMMultus{NetworkName: "bare"}}, {Name: "default"}}
	g.Expect(wanted()).To(ContainElement("clusters-blue.bare"))

	o.HostedCluster.Annotations[settings.Prefix+"network"] = "clusters/vlan200"
	g.Expect(wanted()).To(Equal([]string{"clusters-blue.bare", "clusters.vlan200"}), "the VM keeps its network")
	in, _ := translated(o)
	g.Expect(in.Unselected).To(Equal([]string{"clusters-blue.bare"}))
	o.NodePools = append(o.NodePools, another(o, "beta", true))
	o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks = append(o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[:1:1], hyperv1.KubevirtNetwork{Name: "clusters/storage"})
	o.VMs = nil
	g.Expect(wanted()).To(Equal([]string{"clusters.vlan200"}), "only the network of the annotation")
}

// TestLiveUpdateOfANetwork: KubeVirt 1.8 changes the network in the spec of a running VM, says in a condition that it must migrate, and removes
// that when a pod on the new network runs the VM. Until then, the VM is on the network that it had, whether or not a NodePool names that.
func TestLiveUpdateOfANetwork(t *testing.T) {
	const required, pending = `[{"type":"Ready","status":"True"},{"type":"MigrationRequired","status":"True","reason":"AutoMigrationDueToLiveUpdate"}]`,
		`[{"type":"MigrationRequired","status":"False","reason":"AutoMigrationPending"}]`
	const none = `[{"type":"Ready","status":"True"},{"type":"LiveMigratable","status":"True"}]`
	for name, c := range map[string]struct {
		conditions, address string
		on                  []string
	}{
		"the condition is not there yet":  {none, "192.168.100.20", []string{"clusters.vlan100", "clusters.vlan200"}},
		"it must migrate":                 {required, "192.168.100.20", []string{"clusters.vlan100", "clusters.vlan200"}},
		"no address is known":             {required, "", []string{"clusters.vlan100", "clusters.vlan200"}},
		"it waits for a second change":    {pending, "", []string{"clusters.vlan100", "clusters.vlan200"}},
		"it migrated":                     {none, "192.168.200.20", []string{"clusters.vlan200"}},
		"it migrated and has no address":  {none, "", []string{"clusters.vlan200"}},
		"it has an address of no network": {none, "192.168.7.20", []string{"clusters.vlan200"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			k := o.NodePools[0].Spec.Platform.Kubevirt
			k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/vlan200"})
			nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
			nad.Name, nad.Spec.Config = "vlan200", strings.ReplaceAll(nad.Spec.Config, "100", "200")
			nad.Annotations[settings.Prefix+"cidr"] = "192.168.200.0/24"
			o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
			o.NodePools = append(o.NodePools, another(o, "beta", false))
			o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks = k.AdditionalNetworks[1:]
			last, problems := plan(o)
			g.Expect(last.Networks).To(HaveLen(2), "%v", problems)

			var vm lenient.VirtualMachineInstance
			g.Expect(json.Unmarshal([]byte(fmt.Sprintf(`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"namespace":"clusters-blue","name":"blue-1"},
				"spec":{"networks":[{"name":"iface1_clusters-vlan100","multus":{"networkName":"clusters/vlan200"}}]},
				"status":{"phase":"Running","interfaces":[{"name":"iface1_clusters-vlan100","mac":"02:00:00:00:00:01","ipAddress":%q,"podInterfaceName":"pod5ae7dd","infoSource":"domain, guest-agent, multus-status"}],
				"conditions":%s}}`, c.address, c.conditions)), &vm)).To(Succeed())
			o.VMs = []lenient.VirtualMachineInstance{vm}
			k.AdditionalNetworks = k.AdditionalNetworks[1:]
			request, observed := hcp.Translate(o, last)
			g.Expect(observed.InUse).To(Equal(c.on))
			g.Expect(observed.BootedFrom).To(Equal(c.on))
			g.Expect(request.Wanted).To(Equal(c.on))
			now, _ := derive.Derive(request, observed, last, nil).Plan()
			var names []string
			for _, n := range now.Networks {
				names = append(names, n.Name)
			}
			g.Expect(names).To(Equal(c.on))
		})
	}
}

// TestVMsBootFrom checks that VMs boot from their first network, unless that is the pod network.
func TestVMsBootFrom(t *testing.T) {
	g, o := NewWithT(t), served(t)
	booted := func() []string { in, _ := translated(o); return in.BootedFrom }
	g.Expect(booted()).To(Equal([]string{"clusters.vlan100"}))
	for i := range o.VMs {
		spec := &o.VMs[i].Spec
		spec.Networks = append([]lenient.VMNetwork{{Name: "default"}}, spec.Networks...)
	}
	g.Expect(booted()).To(BeEmpty())
}

// TestGatewayOfClusterAndCIDROfNodePool checks that both apply to one network.
func TestGatewayOfClusterAndCIDROfNodePool(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[settings.Prefix+"cidr."+o.NodePools[0].Name] = "10.1.0.0/24"
	o.HostedCluster.Annotations[settings.Prefix+"gateway"] = "10.1.0.1"
	request, problems := translated(o)
	g.Expect(request.Networks[0].Gateway.String()).To(Equal("10.1.0.1"))
	g.Expect(problems.Has(problem.ImagesUnreachable)).To(BeFalse())
}

// TestNodePoolsOfOneNetworkWithOtherSettings checks that different settings are an error.
func TestNodePoolsOfOneNetworkWithOtherSettings(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	second := *o.NodePools[0].DeepCopy()
	second.Name = "more"
	second.Annotations = map[string]string{settings.Prefix + "dhcp-exclude": "192.168.100.50"}
	o.NodePools = append(o.NodePools, second)
	_, problems := translated(o)
	g.Expect(hasError(problems)).To(BeTrue(), "an excluded address is never assigned")

	o.NodePools[0].Annotations = second.Annotations
	_, problems = translated(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
}

// TestEmptyNetworkAnnotation checks that an empty value is an error and removes nothing.
func TestEmptyNetworkAnnotation(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[settings.Prefix+"network"] = ""
	g.Expect(hcp.OptedIn(o.HostedCluster)).To(BeTrue())
	_, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(problems[0].Reason).To(Equal(problem.AnnotationInvalid))
	o.HostedCluster.Annotations[settings.Prefix+"network"] = " none "
	g.Expect(hcp.OptedIn(o.HostedCluster)).To(BeFalse())
}

// TestEdgeNADHasAddresses checks a bridge from OpenShift Virtualization's documentation,
// which disables the pod's interface. The edge NAD must enable it.
func TestEdgeNADHasAddresses(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NetworkAttachmentDefinitions[0].Spec.Config = `{"cniVersion":"0.3.1","name":"n","type":"bridge","bridge":"br1","vlan":7,"disableContainerInterface":true,"macspoofchk":true,"preserveDefaultVlan":false}`
	request, _ := translated(o)
	edgeNAD := request.Networks[0].Attachment.EdgeNADConfig
	g.Expect(edgeNAD).NotTo(ContainSubstring("disableContainerInterface"))
	g.Expect(edgeNAD).To(And(ContainSubstring(`"macspoofchk":true`), ContainSubstring(`"preserveDefaultVlan":false`)))
}

// TestWindowsNodesAreIgnored checks that the runtime of Windows nodes does not matter.
func TestWindowsNodesAreIgnored(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.Nodes = []corev1.Node{{}, {}}
	o.Nodes[0].Status.NodeInfo.ContainerRuntimeVersion = "cri-o://1.33.0"
	o.Nodes[1].Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "windows", ContainerRuntimeVersion: "containerd://1.7"}
	request, _ := translated(o)
	g.Expect(request.Networks[0].Attachment.EdgeNADConfig).NotTo(ContainSubstring("forwarding"))
}

// addNodePool adds a younger NodePool on another VLAN, and its
// NetworkAttachmentDefinition.
func addNodePool(o *hcp.Objects, name, vlan string) *hyperv1.NodePool {
	np := *o.NodePools[0].DeepCopy()
	np.Name = name
	np.CreationTimestamp = metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(time.Hour))
	np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan" + vlan}}
	nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Name = "vlan" + vlan
	nad.Spec.Config = strings.ReplaceAll(nad.Spec.Config, "100", vlan)
	o.NodePools = append(o.NodePools, np)
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
	return &o.NodePools[len(o.NodePools)-1]
}

// TestCIDRPrecedence checks the precedence, lowest first, and that CIDRField says where
// the CIDR is set.
func TestCIDRPrecedence(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	np := addNodePool(&o, "beta", "200")
	second := func() network.NetworkRequest {
		request, problems := translated(o)
		g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		g.Expect(request.Networks[0].CIDR.String()).To(Equal("192.168.100.0/24"), "the CIDR of the first network changed")
		return request.Networks[1]
	}
	g.Expect(second().CIDR.IsValid()).To(BeFalse())
	g.Expect(second().CIDRField).To(And(ContainSubstring("annotation cidr.beta on the HostedCluster"), ContainSubstring("on NetworkAttachmentDefinition clusters/vlan200")))

	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = "10.1.0.0/24"
	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"gateway"] = "10.1.0.1"
	g.Expect(second().CIDR.String()).To(Equal("10.1.0.0/24"))
	g.Expect(second().CIDRField).To(Equal("annotation cidr on NetworkAttachmentDefinition clusters/vlan200"))
	g.Expect(second().Gateway.String()).To(Equal("10.1.0.1"))

	o.HostedCluster.Annotations[settings.Prefix+"cidr.beta"] = "10.2.0.0/24"
	g.Expect(second().CIDR.String()).To(Equal("10.2.0.0/24"))
	g.Expect(second().CIDRField).To(Equal("annotation cidr.beta on the HostedCluster"))

	np.Annotations = map[string]string{settings.Prefix + "cidr": "10.3.0.0/24"}
	g.Expect(second().CIDR.String()).To(Equal("10.3.0.0/24"))
	g.Expect(second().CIDRField).To(Equal("annotation cidr on NodePool beta"))

	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"mtu"] = "9000"
	_, problems := translated(o)
	g.Expect(problems.Has(problem.AnnotationUnknown)).To(BeTrue(), "the key has no effect on a NetworkAttachmentDefinition")
}

// TestSecondNetworkOfANodePool checks that its CIDR comes from the
// NetworkAttachmentDefinition, and that only DHCP is served.
func TestSecondNetworkOfANodePool(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	addNodePool(&o, "beta", "200")
	o.NodePools = o.NodePools[:1]
	k := o.NodePools[0].Spec.Platform.Kubevirt
	k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/vlan200"})
	p, problems := plan(o)
	g.Expect(p.Networks).To(HaveLen(1))
	g.Expect(problems).To(ContainElement(HaveField("Cause", problem.SecondaryWithoutCIDR)))
	g.Expect(problems.Waiting()).To(BeFalse())

	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = "10.1.0.0/24"
	before := p.Networks[0]
	p, _ = plan(o)
	before.DNS = p.Networks[0].DNS // VMs have no unknown network any more, and so no other DNS server.
	g.Expect(p.Networks[0]).To(Equal(before), "the first network changed")
	g.Expect(p.Networks[1].DHCP.Range.String()).To(Equal("10.1.0.10-10.1.0.253"))
	g.Expect(p.Networks[1].DHCP.Routes).To(BeEmpty())
	g.Expect(p.Networks[1].Services).To(Equal([]network.Service{network.ServiceDHCP}))
}

// TestClusterWideAddresses checks that they apply to the network whose CIDR contains
// them. A further NodePool does not change them.
func TestClusterWideAddresses(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	for key, v := range map[string]string{
		"gateway": "192.168.100.1", "edge-addresses": "192.168.100.200-192.168.100.203", "dhcp-range": "192.168.100.20-192.168.100.99",
		"dhcp-exclude": "192.168.100.30,192.168.200.30", "reservations": "02:00:00:00:00:01=192.168.200.50",
	} {
		o.HostedCluster.Annotations[settings.Prefix+key] = v
	}
	delete(o.HostedCluster.Annotations, settings.Prefix+"reservations")
	alone, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)

	addNodePool(&o, "beta", "200")
	o.HostedCluster.Annotations[settings.Prefix+"cidr.beta"] = "192.168.200.0/24"
	both, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(pinned(both.Networks[0])).To(Equal(pinned(alone.Networks[0])))
	g.Expect(both.Networks[0].DHCP.Router.String()).To(Equal("192.168.100.1"))
	second := both.Networks[1]
	g.Expect(second.NextHopVIP.String()).To(Equal("192.168.200.2"))
	g.Expect(second.DHCP.Router).To(Equal(second.NextHopVIP), "the gateway is on the other network")
	g.Expect(second.DHCP.Exclude).To(HaveLen(1))

	o.HostedCluster.Annotations[settings.Prefix+"gateway"] = "172.16.0.1"
	_, problems = plan(o)
	g.Expect(hasError(problems)).To(BeTrue(), "no CIDR contains the gateway")
}

// pinned returns the addresses of n that must not change.
func pinned(n network.Network) []any {
	return []any{n.NextHopVIP, n.ServiceVIP, n.Edges, n.ReservedAddresses, n.DHCP.Range, n.DHCP.Router}
}

// TestNodePoolsMoveNoAddress checks that adding, removing or reordering NodePools does not
// change the addresses of a network.
func TestNodePoolsMoveNoAddress(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	alone, _ := plan(o)
	// The oldest NodePool also has the pod network, and lists the network that beta boots from.
	yes := true
	old := addNodePool(&o, "aged", "200")
	old.CreationTimestamp = metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(-time.Hour))
	old.Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	beta := *o.NodePools[0].DeepCopy()
	beta.Name, beta.CreationTimestamp = "beta", metav1.NewTime(o.NodePools[0].CreationTimestamp.Add(time.Hour))
	beta.Spec.Platform.Kubevirt.AdditionalNetworks = old.Spec.Platform.Kubevirt.AdditionalNetworks
	o.NodePools = append(o.NodePools, beta)
	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(pinned(p.Networks[0])).To(Equal(pinned(alone.Networks[0])))

	o.HostedCluster.Annotations[settings.Prefix+"cidr.beta"] = "10.1.0.0/24"
	p, problems = plan(o)
	g.Expect(p.Networks).To(HaveLen(2))
	g.Expect(pinned(p.Networks[0])).To(Equal(pinned(alone.Networks[0])))
	i := slices.IndexFunc(problems, func(x problem.Problem) bool { return x.Reason == problem.NetworkUnsupported })
	g.Expect(message(problems[i])).To(ContainSubstring("VMs of NodePool aged have a default route already"))

	slices.Reverse(o.NodePools)
	reordered, _ := plan(o)
	g.Expect(reordered).To(Equal(p))
}

// TestLargestSize checks the largest number of VMs of a NodePool.
func TestLargestSize(t *testing.T) {
	surge := func(v intstr.IntOrString) hyperv1.NodePoolManagement {
		return hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace, Replace: &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyRollingUpdate, RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: &v}}}
	}
	for name, c := range map[string]struct {
		replicas   int32
		autoscale  int32
		management hyperv1.NodePoolManagement
		want       int
	}{
		"none":                {want: 0},
		"default surge":       {replicas: 3, management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace}, want: 4},
		"surge of two":        {replicas: 3, management: surge(intstr.FromInt32(2)), want: 5},
		"no surge":            {replicas: 3, management: surge(intstr.FromInt32(0)), want: 3},
		"percent, rounded up": {replicas: 5, management: surge(intstr.FromString("25%")), want: 7},
		"invalid":             {replicas: 5, management: surge(intstr.FromString("many")), want: 6},
		"autoscaled":          {autoscale: 10, management: surge(intstr.FromString("50%")), want: 15},
		"in place":            {replicas: 3, management: hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeInPlace}, want: 3},
		"on delete":           {replicas: 3, management: hyperv1.NodePoolManagement{Replace: &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}}, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			np := &o.NodePools[0]
			np.Spec.Replicas, np.Spec.Management = &c.replicas, c.management
			if c.autoscale > 0 {
				np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: 1, Max: c.autoscale}
			}
			o.NodePools = append(o.NodePools, *np.DeepCopy())
			o.NodePools[1].Name = "second"
			request, _ := translated(o)
			g.Expect(request.Networks[0].VMs).To(Equal(2*c.want), "both NodePools are on it")
		})
	}
}

// TestSettingsOfMissingNodePool checks that a misspelled NodePool name is reported.
func TestSettingsOfMissingNodePool(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[settings.Prefix+"cidr.bleu"] = "10.1.0.0/24"
	_, problems := translated(o)
	g.Expect(problems[0].Reason).To(Equal(problem.AnnotationUnknown))
	g.Expect(message(problems[0])).To(ContainSubstring("no NodePool bleu"))
}
