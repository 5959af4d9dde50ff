package hcp_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestServicesNone checks that a storage network of the same VMs is not served if annotation services of its NetworkAttachmentDefinition is
// none, even if the HostedCluster has another value.
func TestServicesNone(t *testing.T) {
	g, o := NewWithT(t), served(t)
	addNodePool(&o, "beta", "200")
	o.NodePools = o.NodePools[:1]
	k := o.NodePools[0].Spec.Platform.Kubevirt
	k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/vlan200"})
	about := func() problem.Problems {
		var out problem.Problems
		p, problems := plan(o)
		g.Expect(p.Networks).To(HaveExactElements(HaveField("Name", "clusters.vlan100")))
		for _, p := range problems {
			if slices.Contains(p.Args["network"], "clusters/vlan200") {
				out = append(out, p)
			}
		}
		return out
	}
	hint := HaveExactElements(And(HaveField("Severity", problem.SeverityInfo), WithTransform(message, ContainSubstring("A DHCP server there must send no default route and no DNS server"))))
	g.Expect(about()).To(hint)
	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"cidr"] = "10.9.0.0/24"
	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"services"] = "dns,proxy"
	g.Expect(about()).To(hint)
	delete(o.NetworkAttachmentDefinitions[1].Annotations, settings.Prefix+"cidr")

	o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+"services"] = "none"
	g.Expect(about()).To(BeEmpty())
	annotate(&o, "services", "dhcp,dns,proxy")
	g.Expect(about()).To(BeEmpty())

	o.NetworkAttachmentDefinitions[0].Annotations[settings.Prefix+"services"] = "none"
	_, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeTrue(), "VMs boot from it")
	o.NodePools[0].Annotations = map[string]string{settings.Prefix + "services": "dhcp,dns,proxy"}
	_, problems = plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "the NodePool overrides the NetworkAttachmentDefinition")
}

// TestUnusedValuesOfNADs: a problem reports values of a NetworkAttachmentDefinition that are ignored.
func TestUnusedValuesOfNADs(t *testing.T) {
	g, o := NewWithT(t), served(t)
	only := func(c problem.Cause) problem.Problems {
		_, problems := plan(o)
		return slices.DeleteFunc(problems, func(p problem.Problem) bool { return p.Cause != c })
	}
	annotations := o.NetworkAttachmentDefinitions[0].Annotations
	annotations[settings.Prefix+"cidr"] = "10.1.0.0/24"
	unused := only(problem.NADValueUnused)
	g.Expect(unused).To(HaveExactElements(HaveField("Severity", problem.SeverityWarning)))
	g.Expect(message(unused[0])).To(ContainSubstring("192.168.100.0/24 (spec.networking.machineNetwork)"))
	annotations[settings.Prefix+"cidr"] = "192.168.100.0/24"
	g.Expect(only(problem.NADValueUnused)).To(BeEmpty(), "it is the same")

	annotate(&o, "cidr", "192.168.101.0/24")
	g.Expect(message(only(problem.NADValueUnused)[0])).To(ContainSubstring("192.168.101.0/24 (annotation cidr on the HostedCluster)"))
	annotate(&o, "cidr."+o.NodePools[0].Name, "192.168.100.0/24")
	g.Expect(only(problem.NADValueUnused)).To(BeEmpty(), "it is the same")

	annotations[settings.Prefix+"gateway"] = "192.168.100.1"
	g.Expect(only(problem.GatewayOnSecondary)).To(BeEmpty(), "VMs boot from it")
	annotate(&o, "gateway", "192.168.100.9")
	g.Expect(message(only(problem.NADValueUnused)[0])).To(ContainSubstring("192.168.100.9 (annotation gateway on the HostedCluster)"))
	annotate(&o, "gateway", "192.168.100.1")

	annotations[settings.Prefix+"services"] = "dns,proxy"
	annotate(&o, "services", "dhcp")
	g.Expect(only(problem.NADValueUnused)).To(BeEmpty(), "it overrides the HostedCluster")
	o.NodePools[0].Annotations = map[string]string{settings.Prefix + "services": "dhcp,dns,proxy"}
	g.Expect(message(only(problem.NADValueUnused)[0])).To(And(ContainSubstring("services (dns,proxy)"), ContainSubstring("services on NodePool blue")))
	delete(o.NodePools[0].Annotations, settings.Prefix+"services")
	delete(annotations, settings.Prefix+"services")
	annotate(&o, "services", "dhcp,dns,proxy")
	yes := true
	o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	g.Expect(only(problem.GatewayOnSecondary)).To(HaveExactElements(HaveField("Severity", problem.SeverityInfo)))
}
