package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

const resourceName = "k8s.v1.cni.cncf.io/resourceName"

// TestUserDefinedNetworkIsNamed: the object to change is the one that made the
// NetworkAttachmentDefinition.
func TestUserDefinedNetworkIsNamed(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.NetworkAttachmentDefinitions[0].Spec.Config = `{"type":"ovn-k8s-cni-overlay","topology":"localnet","subnets":"10.0.0.0/24"}`
	o.NetworkAttachmentDefinitions[0].OwnerReferences = []metav1.OwnerReference{{Kind: "ClusterUserDefinedNetwork", Name: "vlan100"}}
	_, problems := translated(o)
	g.Expect(message(problems[0])).To(ContainSubstring("Replace ClusterUserDefinedNetwork vlan100"))
}

// TestSRIOV is served where some node has virtual functions to give.
func TestSRIOV(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	nad := &o.NetworkAttachmentDefinitions[0]
	nad.Spec.Config = `{"type":"sriov","vlan":100,"ipam":{}}`
	nad.Annotations = map[string]string{resourceName: "openshift.io/vfs"}
	for _, none := range []corev1.ResourceList{nil, {"openshift.io/vfs": resource.MustParse("0")}, {"openshift.io/other": resource.MustParse("4")}} {
		o.Nodes[0].Status.Allocatable = none
		_, problems := translated(o)
		g.Expect(problems.Has(network.NetworkUnsupported)).To(BeTrue(), "%v", none)
	}
	o.Nodes[0].Status.Allocatable = corev1.ResourceList{"openshift.io/vfs": resource.MustParse("4")}
	intent, problems := translated(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(intent.Networks[0].Attachment.ResourceName).To(Equal("openshift.io/vfs"))
	g.Expect(intent.Networks[0].Attachment.EdgeNADConfig).To(ContainSubstring(`"type":"static"`))
}

// TestMultusIsolation: a definition that machines may not use is refused where
// that was seen, said where it was not, and neither where machines run on it.
func TestMultusIsolation(t *testing.T) {
	for name, c := range map[string]struct {
		namespace          string
		isolates, running  bool
		said, blocks, left bool
	}{
		"not known":                 {namespace: "clusters", said: true},
		"seen":                      {namespace: "clusters", isolates: true, said: true, blocks: true, left: true},
		"a machine shows otherwise": {namespace: "clusters", isolates: true, running: true},
		"the machines' own":         {namespace: "clusters-blue", isolates: true},
		"one for all":               {namespace: "default", isolates: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.MultusIsolates = c.isolates
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = c.namespace + "/vlan100"
			o.NetworkAttachmentDefinitions[0].Namespace = c.namespace
			if !c.running {
				for i := range o.VMs {
					o.VMs[i].Status.Interfaces = nil
				}
			}
			intent, problems := translated(o)
			g.Expect(problems.Has(network.NADNamespaceNotAllowed)).To(Equal(c.said), "%v", problems)
			g.Expect(problems.Blocking()).To(Equal(c.blocks))
			g.Expect(len(intent.Networks) == 0).To(Equal(c.left))
			if c.said {
				g.Expect(message(problems[0])).To(ContainSubstring("Create it in namespace clusters-blue or default"))
			}
		})
	}
}

// TestOneSegmentByTwoDefinitions: two DHCP servers would answer each machine.
func TestOneSegmentByTwoDefinitions(t *testing.T) {
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
	g.Expect(problems.Blocking()).To(BeFalse(), "machines boot by the first")
	g.Expect(problems[0].Reason).To(Equal(network.NetworkShared))
	g.Expect(message(problems[0])).To(ContainSubstring("bridge br1 vlan 100"))
}
