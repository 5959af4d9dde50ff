package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestFaultsOfOneNodePool checks that a fault of a second NodePool's network does not change the network of the first, whether the second
// one is new or already runs.
func TestFaultsOfOneNodePool(t *testing.T) {
	for name, c := range map[string]struct {
		reason problem.Reason
		fault  func(*hcp.Objects)
	}{
		"no NetworkAttachmentDefinition": {problem.NetworkMissing, func(o *hcp.Objects) { o.NetworkAttachmentDefinitions = o.NetworkAttachmentDefinitions[:1] }},
		"an unsupported type":            {problem.NetworkUnsupported, func(o *hcp.Objects) { o.NetworkAttachmentDefinitions[1].Spec.Config = `{"name":"n","type":"ipvlan"}` }},
		"a CIDR that is none":            {problem.AnnotationInvalid, func(o *hcp.Objects) { annotate(o, "cidr.beta", "10.2.0.0/99") }},
		"a lease time that is none": {problem.AnnotationInvalid, func(o *hcp.Objects) {
			o.NodePools[1].Annotations = map[string]string{settings.Prefix + "lease-time": "soon"}
		}},
		"a gateway that is none": {problem.AnnotationInvalid, func(o *hcp.Objects) {
			o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"gateway"] = "router"
		}},
		"a gateway outside of the CIDR": {problem.AddressConflict, func(o *hcp.Objects) { annotate(o, "gateway.beta", "10.9.0.1") }},
		"a CIDR that is too small":      {problem.CIDRTooSmall, func(o *hcp.Objects) { annotate(o, "cidr.beta", "10.2.0.0/30") }},
		"a CIDR of the other network":   {problem.AddressConflict, func(o *hcp.Objects) { annotate(o, "cidr.beta", "192.168.100.128/25") }},
		"the layer-2 network of the other": {problem.NetworkShared, func(o *hcp.Objects) {
			o.NetworkAttachmentDefinitions[1].Spec.Config = o.NetworkAttachmentDefinitions[0].Spec.Config
		}},
		"another NodePool with other settings": {problem.AnnotationInvalid, func(o *hcp.Objects) {
			third := *o.NodePools[1].DeepCopy()
			third.Name, third.Annotations = "gamma", map[string]string{settings.Prefix + "mtu": "9000"}
			o.NodePools = append(o.NodePools, third)
		}},
		"not selected": {problem.NetworkMissing, func(o *hcp.Objects) { annotate(o, "network", "clusters/vlan100") }},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			alone, _ := plan(o)
			addNodePool(&o, "beta", "200")
			annotate(&o, "cidr.beta", "10.2.0.0/24")
			both, problems := plan(o)
			g.Expect(both.Networks).To(HaveLen(2), "%v", problems)
			c.fault(&o)
			confined := ContainElement(And(HaveField("Reason", c.reason), HaveField("Severity", problem.SeverityError), HaveField("Confined", true)))

			in, _ := translated(o)
			p, problems := after(in, alone)
			g.Expect(problems).To(confined, "%v", problems)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			g.Expect(p.Networks).To(Equal(alone.Networks), "the new network is left out")

			p, problems = after(in, both)
			g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
			g.Expect(p.Networks).To(Equal(both.Networks), "the network that runs stays")
		})
	}
}

// TestNotSelectedNetworks checks that annotation network does not leave out without a word the
// network that VMs boot from.
func TestNotSelectedNetworks(t *testing.T) {
	g, o := NewWithT(t), served(t)
	addNodePool(&o, "beta", "200")
	annotate(&o, "cidr.beta", "10.2.0.0/24")
	both, _ := plan(o)
	notSelected := func(ps problem.Problems) problem.Problems {
		return slices.DeleteFunc(slices.Clone(ps), func(p problem.Problem) bool { return p.Cause != problem.NetworkNotSelected })
	}

	annotate(&o, "network", "clusters/vlan200")
	p, problems := plan(o)
	g.Expect(notSelected(problems)).To(HaveExactElements(And(HaveField("Subject.Name", o.NodePools[0].Name), HaveField("Confined", true))))
	g.Expect(message(notSelected(problems)[0])).To(ContainSubstring("annotation network selects only clusters/vlan200"))
	g.Expect(p.Networks).To(HaveExactElements(HaveField("Name", "clusters.vlan200")))

	in, _ := translated(o)
	p, _ = after(in, both)
	g.Expect(p.Networks).To(HaveLen(2), "edges of a network that NodePools boot from are not removed")

	o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/vlan100"}, {Name: "clusters/vlan200"}}
	_, problems = plan(o)
	g.Expect(notSelected(problems)).To(HaveLen(2), "one for each NodePool")
	g.Expect(problems.Blocking()).To(BeTrue(), "VMs boot from no network that is left")

	yes := true
	for i := range o.NodePools {
		o.NodePools[i].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	}
	_, problems = plan(o)
	g.Expect(notSelected(problems)).To(BeEmpty(), "VMs boot from the pod network")
}

// TestMacvlan: no VM of HyperShift receives frames on a macvlan. Nothing else is known of VMs whose interfaces the user patches. VMs that run keep their
// network.
func TestMacvlan(t *testing.T) {
	const patch = `[{"op":"replace","path":"/spec/template/spec/domain/devices/interfaces/0","value":{}}]`
	for name, c := range map[string]struct {
		given func(*hcp.Objects)
		want  problem.Severity
	}{
		"no VM runs": {func(o *hcp.Objects) { o.VMs = nil }, problem.SeverityError},
		"VMs run":    {func(*hcp.Objects) {}, problem.SeverityWarning},
		"all VMs are patched": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, patch
		}, ""},
		"VMs of the NodePool are patched": {func(o *hcp.Objects) {
			o.VMs, o.NodePools[0].Annotations = nil, map[string]string{hyperv1.JSONPatchAnnotation: patch}
		}, ""},
		"their devices are patched": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"add","path":"/spec/template/spec/domain/devices","value":{}}]`
		}, ""},
		"a patch moves their interfaces": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"move","path":"/x","from":"/spec/template/spec/networks/0"}]`
		}, ""},
		"a patch changes their binding": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"remove","path":"/spec/template/spec/domain/devices/interfaces/0/bridge"}]`
		}, ""},
		"a patch gives them another network": {func(o *hcp.Objects) {
			o.VMs, o.NodePools[0].Annotations = nil, map[string]string{hyperv1.JSONPatchAnnotation: `[{"op":"replace","path":"/spec/template/spec/networks/0/multus/networkName","value":"x"}]`}
		}, ""},
		"a patch inserts an interface": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/0","value":{}}]`
		}, ""},
		"a patch appends an interface": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/-","value":{}}]`
		}, problem.SeverityError},
		"another interface is patched": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"replace","path":"/spec/template/spec/domain/devices/interfaces/1","value":{}}]`
		}, problem.SeverityError},
		"a patch sets the model": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"add","path":"/spec/template/spec/domain/devices/interfaces/0/model","value":"e1000e"}]`
		}, problem.SeverityError},
		"one of two NodePools is patched": {func(o *hcp.Objects) {
			o.VMs, o.NodePools[0].Annotations = nil, map[string]string{hyperv1.JSONPatchAnnotation: patch}
			other := o.NodePools[0].DeepCopy()
			other.Name, other.Annotations = "other", nil
			o.NodePools = append(o.NodePools, *other)
		}, problem.SeverityWarning},
		"their CPUs are patched": {func(o *hcp.Objects) {
			o.VMs, o.HostedCluster.Annotations[hyperv1.JSONPatchAnnotation] = nil, `[{"op":"test","path":"/spec/template/spec"},{"op":"add","path":"/spec/template/spec/domain/cpu/dedicatedCpuPlacement","value":true}]`
		}, problem.SeverityError},
		"their disks are patched": {func(o *hcp.Objects) {
			o.VMs, o.NodePools[0].Annotations = nil, map[string]string{hyperv1.JSONPatchAnnotation: `[{"op":"add","path":"/spec/template/spec/domain/devices/interfacesX","value":1}]`}
		}, problem.SeverityError},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NetworkAttachmentDefinitions[0].Spec.Config = `{"cniVersion":"1.0.0","name":"vlan100","type":"macvlan","master":"eth1.100","ipam":{}}`
			c.given(&o)
			p, ps := plan(o)
			g.Expect(len(p.Networks) == 1).To(Equal(c.want != problem.SeverityError))
			if c.want == "" {
				g.Expect(ps.Has(problem.FramesDropped)).To(BeFalse())
				return
			}
			g.Expect(causesOf(ps, problem.NADIsMacvlan)).To(HaveExactElements(HaveField("Severity", c.want)))
		})
	}
}

// TestFramesOnOtherNetworks: nodes boot without a network that drops frames, if it is not the one from which their VMs boot.
func TestFramesOnOtherNetworks(t *testing.T) {
	for name, config := range map[string]string{
		"macvlan": `{"cniVersion":"1.0.0","name":"storage","type":"macvlan","master":"eth2","ipam":{}}`,
		"sriov":   `{"cniVersion":"1.0.0","name":"storage","type":"sriov","ipam":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			second := *o.NetworkAttachmentDefinitions[0].DeepCopy()
			second.Name, second.Spec.Config = "storage", config
			second.Annotations[wire.AnnotationResourceName] = "example.com/vfs"
			o.Nodes[0].Status.Allocatable = corev1.ResourceList{"example.com/vfs": resource.MustParse("8")}
			o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, second)
			k := o.NodePools[0].Spec.Platform.Kubevirt
			k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/storage"})
			p, ps := plan(o)
			g.Expect(p.Networks).NotTo(BeEmpty())
			g.Expect(causesOf(ps, problem.NADIsMacvlan, problem.NADChecksMACs)).To(HaveExactElements(HaveField("Severity", problem.SeverityInfo)))
		})
	}
}
