package hcp_test

import (
	"fmt"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestClientNetworksPrecedence: the precedence of client networks, lowest first. Those of the HostedCluster apply to networks with a
// gateway.
func TestClientNetworksPrecedence(t *testing.T) {
	g, o := NewWithT(t), served(t)
	np := addNodePool(&o, "beta", "200")
	nad := o.NetworkAttachmentDefinitions[1].Annotations
	nad[settings.Prefix+"cidr"], nad[settings.Prefix+"gateway"] = "10.1.0.0/24", "10.1.0.1"
	now := func() []string {
		request, problems := translated(o)
		g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
		return []string{fmt.Sprint(request.Networks[0].Settings.ClientNetworks), fmt.Sprint(request.Networks[1].Settings.ClientNetworks)}
	}
	g.Expect(now()).To(HaveExactElements("[]", "[]"))
	nad[settings.Prefix+"client-networks"] = "10.6.0.0/16"
	g.Expect(now()).To(HaveExactElements("[]", "[10.6.0.0/16]"))
	annotate(&o, "client-networks", "10.7.0.0/16,10.8.0.0/16")
	g.Expect(now()).To(HaveExactElements("[]", "[10.7.0.0/16 10.8.0.0/16]"), "the first network has no gateway")
	_, problems := translated(o)
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.NADValueUnused),
		WithTransform(message, ContainSubstring("10.7.0.0/16,10.8.0.0/16 (annotation client-networks on the HostedCluster)")))))
	annotate(&o, "gateway", "192.168.100.1")
	g.Expect(now()[0]).To(Equal("[10.7.0.0/16 10.8.0.0/16]"))
	annotate(&o, "client-networks.beta", "10.9.0.0/16")
	g.Expect(now()).To(HaveExactElements("[10.7.0.0/16 10.8.0.0/16]", "[10.9.0.0/16]"))
	np.Annotations = map[string]string{settings.Prefix + "client-networks": "10.10.0.0/16"}
	g.Expect(now()[1]).To(Equal("[10.10.0.0/16]"))
}

// TestClientNetworksWithoutAnyGateway: if the annotation of the HostedCluster has no effect, a problem reports it.
func TestClientNetworksWithoutAnyGateway(t *testing.T) {
	g, o := NewWithT(t), served(t)
	addNodePool(&o, "beta", "200").Annotations = map[string]string{settings.Prefix + "cidr": "10.1.0.0/24"}
	annotate(&o, "client-networks", "10.9.0.0/16")
	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse())
	g.Expect(p.Networks[0].ClientNetworks).To(BeEmpty())
	var about []string
	for _, x := range problems {
		if x.Cause == problem.ClientNetworksWithoutGateway {
			about = append(about, x.Args["network"]...)
		}
	}
	g.Expect(about).To(HaveExactElements("clusters/vlan100"))
}

// TestClientNetworksStayWithObservedAddresses: load balancers and pods of any other tenant take no
// client network away, however many they are and wherever.
func TestClientNetworksStayWithObservedAddresses(t *testing.T) {
	addresses := func(from string, count int) []netip.Addr {
		out := []netip.Addr{netip.MustParseAddr(from)}
		for len(out) < count {
			out = append(out, out[len(out)-1].Next())
		}
		return out
	}
	for what, observed := range map[string][]netip.Addr{
		"a load balancer":                     addresses("10.9.200.10", 1),
		"two load balancers, one after other": addresses("10.9.200.10", 2),
		"a whole pool":                        addresses("10.9.200.0", 256),
		"so many that blocks are reserved":    append(addresses("172.20.0.1", 256), addresses("10.9.200.10", 1)...),
	} {
		t.Run(what, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			annotate(&o, "gateway", "192.168.100.1")
			annotate(&o, "client-networks", "10.9.0.0/16")
			before, _ := plan(o)
			g.Expect(before.Networks[0].ClientNetworks).To(HaveLen(1))
			o.Management.Observed = observed
			now, problems := plan(o)
			g.Expect(now.Networks[0].ClientNetworks).To(Equal(before.Networks[0].ClientNetworks))
			g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.ClientNetworkOverlaps)))
		})
	}
}

// TestClientNetworksOfHostedClusterOnFurtherNetwork: a gateway on a network that VMs do not boot from causes no problem about an annotation
// that is not set there.
func TestClientNetworksOfHostedClusterOnFurtherNetwork(t *testing.T) {
	g, o := NewWithT(t), served(t)
	annotate(&o, "gateway", "192.168.100.1")
	annotate(&o, "client-networks", "10.9.0.0/16")
	addNodePool(&o, "beta", "200")
	o.NodePools = o.NodePools[:1] // only its NetworkAttachmentDefinition stays
	listed := &o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks
	*listed = append(*listed, hyperv1.KubevirtNetwork{Name: "clusters/vlan200"})
	nad := o.NetworkAttachmentDefinitions[1].Annotations
	nad[settings.Prefix+"cidr"], nad[settings.Prefix+"gateway"] = "10.3.0.0/24", "10.3.0.1"
	p, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
	g.Expect(p.Networks).To(HaveLen(2), "%v", problems)
	g.Expect(p.Networks[0].ClientNetworks).To(HaveLen(1))
	g.Expect(problems).NotTo(ContainElement(HaveField("Cause", problem.ClientNetworksOnSecondary)))
}

// TestClientNetworksOfNodePoolsOnOneNetwork: see TestValuesOfNodePoolsOnOneNetwork.
func TestClientNetworksOfNodePoolsOnOneNetwork(t *testing.T) {
	for _, c := range []struct{ name, cluster, first, second, want string }{
		{"only one has them", "", "10.9.0.0/16", "", "[10.9.0.0/16]"},
		{"only the younger one has them", "", "", "10.9.0.0/16", "[10.9.0.0/16]"},
		{"the same in another order", "", "10.9.0.0/16,10.8.0.0/16", "10.8.0.0/16,10.9.0.0/16", "[10.8.0.0/16 10.9.0.0/16]"},
		{"those of the HostedCluster are for the other", "10.8.0.0/16", "10.9.0.0/16", "", ""},
		{"different ones", "", "10.9.0.0/16", "10.8.0.0/16", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			annotate(&o, "gateway", "192.168.100.1")
			second := *o.NodePools[0].DeepCopy()
			second.Name = "second"
			o.NodePools = append(o.NodePools, second)
			for i, value := range []string{c.first, c.second} {
				if value != "" {
					o.NodePools[i].Annotations = map[string]string{settings.Prefix + "client-networks": value}
				}
			}
			if c.cluster != "" {
				annotate(&o, "client-networks", c.cluster)
			}
			p, problems := plan(o)
			g.Expect(problems.Blocking()).To(Equal(c.want == ""), "%v", problems)
			if c.want == "" {
				g.Expect(message(problems.BySeverity()[0])).To(ContainSubstring("nnotation client-networks"))
				return
			}
			g.Expect(fmt.Sprint(p.Networks[0].ClientNetworks)).To(Equal(c.want))
		})
	}
}
