package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const resourceName = "k8s.v1.cni.cncf.io/resourceName"

// TestUserDefinedNetworkIsNamed checks that the message names the owner of the
// NetworkAttachmentDefinition, which is the object to change.
func TestUserDefinedNetworkIsNamed(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NetworkAttachmentDefinitions[0].Spec.Config = `{"type":"ovn-k8s-cni-overlay","topology":"localnet","subnets":"10.0.0.0/24"}`
	o.NetworkAttachmentDefinitions[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ClusterUserDefinedNetwork", Name: "vlan100"}}
	_, problems := translated(o)
	g.Expect(message(problems[0])).To(ContainSubstring("Replace ClusterUserDefinedNetwork vlan100"))
}

// TestSRIOV checks that some node must offer virtual functions.
func TestSRIOV(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	nad := &o.NetworkAttachmentDefinitions[0]
	nad.Spec.Config = `{"type":"sriov","vlan":100,"ipam":{}}`
	nad.Annotations = map[string]string{resourceName: "openshift.io/vfs"}
	for _, none := range []corev1.ResourceList{nil, {"openshift.io/vfs": resource.MustParse("0")}, {"openshift.io/other": resource.MustParse("4")}} {
		o.Nodes[0].Status.Allocatable = none
		_, problems := translated(o)
		g.Expect(problems.Has(problem.NetworkUnsupported)).To(BeTrue(), "%v", none)
	}
	o.Nodes[0].Status.Allocatable = corev1.ResourceList{"openshift.io/vfs": resource.MustParse("4")}
	request, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(request.Networks[0].Attachment.ResourceName).To(Equal("openshift.io/vfs"))
	g.Expect(request.Networks[0].Attachment.EdgeNADConfig).To(ContainSubstring(`"type":"static"`))
}

// TestNADOfAnotherNamespace checks that edges join the network of a
// NetworkAttachmentDefinition in another namespace only if VMs may use it: that one names
// the namespace of the VMs, or a VM is attached. An edge NAD is a copy, which Multus
// does not check. Where Multus isolates namespaces, an annotation changes nothing.
func TestNADOfAnotherNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		namespace, annotation string
		isolates, running     bool
		fix                   string
	}{
		"no annotation":             {namespace: "clusters", fix: "add clusters-blue to annotation hostedcluster.densityops.com/allowed-namespaces on clusters/vlan100"},
		"for others":                {namespace: "clusters", annotation: "clusters-green", fix: "add clusters-blue to annotation"},
		"for the VMs":               {namespace: "clusters", annotation: "clusters-green, clusters-blue"},
		"for the VMs, but isolated": {namespace: "clusters", annotation: "clusters-blue", isolates: true, fix: "Create a NetworkAttachmentDefinition in namespace clusters-blue or default"},
		"isolates":                  {namespace: "clusters", isolates: true, fix: "Create a NetworkAttachmentDefinition in namespace clusters-blue or default"},
		"a VM is attached":          {namespace: "clusters", running: true},
		"a VM is attached there":    {namespace: "clusters", isolates: true, running: true},
		"the VMs' namespace":        {namespace: "clusters-blue", isolates: true},
		"a global namespace":        {namespace: "default", isolates: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.Management.MultusIsolates = c.isolates
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = c.namespace + "/vlan100"
			o.NetworkAttachmentDefinitions[0].Namespace = c.namespace
			o.NetworkAttachmentDefinitions[0].Annotations = nil
			if c.annotation != "" {
				o.NetworkAttachmentDefinitions[0].Annotations = map[string]string{settings.Prefix + network.KeyNamespaces: c.annotation}
			}
			if !c.running {
				for i := range o.VMs {
					o.VMs[i].Status.Interfaces = nil
				}
			}
			request, problems := translated(o)
			refused := c.fix != ""
			g.Expect(problems.Has(problem.NADNamespaceNotAllowed)).To(Equal(refused), "%v", problems)
			g.Expect(hasError(problems)).To(Equal(refused))
			g.Expect(len(request.Networks) == 0).To(Equal(refused))
			if refused {
				g.Expect(message(problems[0])).To(ContainSubstring(c.fix))
			}
		})
	}
}

// TestInvalidNamespaces checks that a typo in allowed-namespaces is reported, once.
func TestInvalidNamespaces(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.VMs = nil
	o.NetworkAttachmentDefinitions[0].Annotations = map[string]string{settings.Prefix + network.KeyNamespaces: "clusters_blue"}
	_, problems := translated(o)
	g.Expect(problems).To(ConsistOf(HaveField("Reason", problem.NADNamespaceNotAllowed),
		And(HaveField("Reason", problem.AnnotationInvalid), WithTransform(message, ContainSubstring("clusters_blue")))))
}

// TestUnknownNADOfAnotherNamespace: if the input of `oooi plan` lacks a NetworkAttachmentDefinition in another namespace, a problem says
// what that needs, and the plan is not refused.
func TestUnknownNADOfAnotherNamespace(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.Partial, o.NetworkAttachmentDefinitions, o.VMs = true, nil, nil
	_, problems := translated(o)
	g.Expect(problems.Has(problem.NADNamespaceNotAllowed)).To(BeTrue())
	g.Expect(problems.Blocking()).To(BeFalse())
}

// TestNetworkThatOVNRefuses: OVN-Kubernetes identifies a network by the name in spec.config, and refuses a NAD that defines the network of an
// older NAD in another way. No VM and no edge starts there. The network of the older NAD is served.
func TestNetworkThatOVNRefuses(t *testing.T) {
	config := func(name, further string) string {
		return `{"cniVersion":"0.3.1","name":"physnet","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/` + name + `"` + further + `}`
	}
	for name, c := range map[string]struct {
		ours, theirs, setting string
		younger, runs         bool
		together              bool
	}{
		"another VLAN":                  {ours: `,"vlanID":200`, theirs: `,"vlanID":100`, setting: "vlanID"},
		"a VLAN, and none":              {ours: `,"vlanID":200`, setting: "vlanID"},
		"another MTU":                   {ours: `,"mtu":9000`, theirs: `,"mtu":1500`, setting: "mtu"},
		"an MTU, and the default":       {ours: `,"mtu":1400`},
		"another physical network":      {ours: `,"vlanID":200,"physicalNetworkName":"b"`, theirs: `,"vlanID":200`},
		"created together":              {ours: `,"vlanID":200`, theirs: `,"vlanID":100`, setting: "vlanID", together: true},
		"another topology":              {ours: `,"topology":"layer2"`, setting: "topology"},
		"one with addresses":            {theirs: `,"subnets":"10.0.0.0/24"`, setting: "subnets"},
		"the other is younger":          {ours: `,"vlanID":200`, theirs: `,"vlanID":100`, younger: true},
		"VMs are on it":                 {ours: `,"vlanID":200`, theirs: `,"vlanID":100`, setting: "vlanID", runs: true},
		"equal":                         {ours: `,"vlanID":200,"mtu":0`, theirs: `,"vlanID":200,"subnets":""`},
		"a name of its own":             {ours: `,"vlanID":200,"name":"tenant","physicalNetworkName":"physnet"`, theirs: `,"vlanID":100`},
		"one that OVN-Kubernetes skips": {ours: `,"vlanID":200`, theirs: `,"vlanID":100,"netAttachDefName":"clusters/third"`},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			ours, theirs := &o.NetworkAttachmentDefinitions[0], *o.NetworkAttachmentDefinitions[0].DeepCopy()
			theirs.Name = "vlan300"
			ours.Spec.Config, theirs.Spec.Config = config("vlan100", c.ours), config("vlan300", c.theirs)
			ours.CreationTimestamp, theirs.CreationTimestamp = metav1.Unix(2000, 0), metav1.Unix(1000, 0)
			if c.younger {
				theirs.CreationTimestamp = metav1.Unix(3000, 0)
			}
			if c.together { // The other is first by its name.
				theirs.Name, theirs.CreationTimestamp = "vlan099", ours.CreationTimestamp
				theirs.Spec.Config = config(theirs.Name, c.theirs)
			}
			if !c.runs {
				o.VMs = nil
			}
			o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, theirs)
			request, problems := translated(o)
			refused := c.setting != "" && !c.runs && !c.together
			g.Expect(hasError(problems)).To(Equal(refused), "%v", problems)
			g.Expect(len(request.Networks) == 0).To(Equal(refused))
			found := causesOf(problems, problem.OVNNetworkContradicted)
			g.Expect(len(found) > 0).To(Equal(c.setting != ""))
			if c.setting != "" {
				g.Expect(found).To(HaveLen(1))
				g.Expect(message(found[0])).To(ContainSubstring("clusters/vlan100 and clusters/" + theirs.Name + " define network physnet of OVN-Kubernetes with different values of " + c.setting))
			}
		})
	}
}

// TestTwoNADsOfOneNetwork checks that only one of them is served. Otherwise two DHCP
// servers would answer each VM.
func TestTwoNADsOfOneNetwork(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	nad := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	nad.Namespace = "default"
	nad.Annotations = map[string]string{settings.Prefix + "cidr": "192.168.101.0/24"}
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
	k := o.NodePools[0].Spec.Platform.Kubevirt
	k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "default/vlan100"})
	p, problems := plan(o)
	g.Expect(p.Networks).To(HaveLen(1))
	g.Expect(problems.Blocking()).To(BeFalse(), "VMs boot from the first")
	i := slices.IndexFunc(problems, func(p problem.Problem) bool { return p.Cause == problem.NADsOnOneNetwork })
	g.Expect(i).To(BeNumerically(">=", 0), "%v", problems)
	g.Expect(message(problems[i])).To(ContainSubstring("bridge br1 vlan 100"))
}

// TestTwinOfARunningNetwork checks that an older NodePool that names another NAD of the running
// network does not change it.
func TestTwinOfARunningNetwork(t *testing.T) {
	g := NewWithT(t)
	o, last := withTwin(t)
	p, problems, ok := planned(o, last)
	g.Expect(ok).To(BeTrue(), "%v", problems)
	g.Expect(p.Networks).To(Equal(last.Networks))
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.NADsOnOneNetwork),
		HaveField("Severity", problem.SeverityWarning), HaveField("Subject.Name", "vlan100b"))))
}

// TestVMsOnTheTwin checks that VMs on another NAD of the running network pin its addresses.
func TestVMsOnTheTwin(t *testing.T) {
	g := NewWithT(t)
	o, last := withTwin(t)
	o.VMs = nil
	addVM(&o, o.NodePools[1])
	o.HostedCluster.Annotations[settings.Prefix+"cidr"] = "192.168.150.0/24"
	p, problems, ok := planned(o, last)
	g.Expect(ok).To(BeTrue(), "%v", problems)
	g.Expect(inUse(p)).To(Equal(inUse(last)))
	g.Expect(problems).To(ContainElement(HaveField("Cause", problem.PinnedCIDRChanged)))

	o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = nil
	boots := o.NodePools[1].Spec.Platform.Kubevirt
	boots.AttachDefaultNetwork, boots.AdditionalNetworks = new(bool), boots.AdditionalNetworks[1:]
	o.VMs = nil
	addVM(&o, o.NodePools[1])
	p, problems, ok = planned(o, last)
	g.Expect(ok).To(BeTrue(), "%v", problems)
	g.Expect(p.Networks[0].Primary).To(BeTrue(), "VMs boot from it")
}

// withTwin returns a cluster whose older NodePool names another NAD of the network in last, the plan in force.
func withTwin(t *testing.T) (o hcp.Objects, last network.Plan) {
	o = served(t)
	last, _ = plan(o)
	twin := *o.NetworkAttachmentDefinitions[0].DeepCopy()
	twin.Name = "vlan100b"
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, twin)
	older, attached := *o.NodePools[0].DeepCopy(), true
	older.Name, older.CreationTimestamp = "alpha", metav1.NewTime(o.NodePools[0].CreationTimestamp.AddDate(-1, 0, 0))
	older.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/other"}, {Name: "clusters/vlan100b"}}
	older.Spec.Platform.Kubevirt.AttachDefaultNetwork = &attached
	o.NodePools = append(o.NodePools, older)
	return o, last
}
