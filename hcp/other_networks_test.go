package hcp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

// TestHostsOnOneOfTheNetworks: nodes reach a host on an isolated network only if their VMs are on that network. Two NodePools boot from
// networks without a gateway, and the host is on the second network.
func TestHostsOnOneOfTheNetworks(t *testing.T) {
	proxy := func(o *hcp.Objects) {
		o.HostedCluster.Spec.Configuration.Proxy = &configv1.ProxySpec{HTTPProxy: "http://192.168.200.8:3128", HTTPSProxy: "http://192.168.200.8:3128", NoProxy: controlPlane}
	}
	for name, c := range map[string]struct {
		given       change
		one, onBoth problem.Cause
	}{
		"a mirror":     {given: release("192.168.200.7:5000/ocp/release:4.20"), one: problem.RegistryOnOneNetwork},
		"a proxy":      {given: proxy, one: problem.HostedProxyUnreachable},
		"a DNS server": {given: annotated(network.KeyUpstreams, "192.168.200.53"), one: problem.UpstreamOnOtherNetwork, onBoth: problem.UpstreamOnOtherNetwork},
	} {
		for on, want := range map[string]problem.Cause{"the other NodePool only": c.one, "both NodePools": c.onBoth} {
			t.Run(name+", "+on, func(t *testing.T) {
				g, o := NewWithT(t), reaching(t, func(o *hcp.Objects) { secondPool(o, false) }, c.given)
				if k := o.NodePools[0].Spec.Platform.Kubevirt; on == "both NodePools" {
					k.AdditionalNetworks = append(k.AdditionalNetworks, hyperv1.KubevirtNetwork{Name: "clusters/vlan200"})
				}
				_, ps := plan(o)
				found := causesOf(ps, problem.RegistryOnOneNetwork, problem.RegistryWithoutName, problem.HostedProxyUnreachable, problem.UpstreamOnOtherNetwork)
				if want == "" {
					g.Expect(found).To(BeEmpty())
					return
				}
				g.Expect(found).To(HaveExactElements(And(HaveField("Cause", want), HaveField("Severity", problem.SeverityWarning))))
			})
		}
	}
}

// TestNetworkListedTwice: VMs of a NodePool that names a network twice have two interfaces there. OVN-Kubernetes refuses their pods.
func TestNetworkListedTwice(t *testing.T) {
	const ovn = `{"cniVersion":"0.3.1","name":"vlan100","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100"}`
	for name, c := range map[string]struct {
		config string
		runs   bool
		want   problem.Cause
		is     problem.Severity
	}{
		"a bridge":               {want: problem.NADListedTwice, is: problem.SeverityWarning},
		"OVN-Kubernetes":         {config: ovn, want: problem.NADListedTwiceOVN, is: problem.SeverityError},
		"OVN-Kubernetes, in use": {config: ovn, runs: true, want: problem.NADListedTwiceOVN, is: problem.SeverityWarning},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			k := o.NodePools[0].Spec.Platform.Kubevirt
			k.AdditionalNetworks = append(k.AdditionalNetworks, k.AdditionalNetworks[0], k.AdditionalNetworks[0])
			if c.config != "" {
				o.NetworkAttachmentDefinitions[0].Spec.Config = c.config
			}
			if !c.runs {
				o.VMs = nil
			}
			p, ps := plan(o)
			found := causesOf(ps, problem.NADListedTwice, problem.NADListedTwiceOVN)
			g.Expect(found).To(HaveExactElements(And(HaveField("Cause", c.want), HaveField("Severity", c.is), WithTransform(message, ContainSubstring("NodePool blue names network clusters/vlan100 more than once")))))
			g.Expect(ps.Blocking()).To(Equal(c.is == problem.SeverityError))
			g.Expect(p.Networks).To(HaveLen(map[bool]int{true: 0, false: 1}[ps.Blocking()]))
		})
	}
}

// withCreator returns a cluster without VMs on network clusters/vlan101, for which object may create a
// NetworkAttachmentDefinition.
func withCreator(t *testing.T, object string) hcp.Objects {
	t.Helper()
	g, dump := NewWithT(t), &files.Dump{}
	g.Expect(dump.Add(golden.Find(t, "lb-ip").Read(t, "objects.yaml"))).To(Succeed())
	g.Expect(dump.Add([]byte(object))).To(Succeed())
	o := dump.Clusters()[0]
	o.VMs = nil
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/vlan101"
	return o
}

// TestNADThatAnotherObjectCreates: if files have the object that creates a missing NetworkAttachmentDefinition, the plan waits for the latter.
// Other NetworkAttachmentDefinitions with a similar name, or in its namespace, do not matter.
func TestNADThatAnotherObjectCreates(t *testing.T) {
	const cudn = "apiVersion: k8s.ovn.org/v1\nkind: ClusterUserDefinedNetwork\nmetadata: {name: vlan101}\nspec: {namespaceSelector: "
	for object, owner := range map[string]string{
		cudn + "{matchLabels: {kubernetes.io/metadata.name: clusters}}}":                                                                            "ClusterUserDefinedNetwork vlan101",
		cudn + "{matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [clusters, x]}]}}":                                     "ClusterUserDefinedNetwork vlan101",
		cudn + "{matchLabels: {team: x}}}":                                                                                                          "ClusterUserDefinedNetwork vlan101",
		cudn + "{matchLabels: {kubernetes.io/metadata.name: other}}}":                                                                               "",
		"apiVersion: k8s.ovn.org/v1\nkind: UserDefinedNetwork\nmetadata: {namespace: clusters, name: vlan101}":                                      "UserDefinedNetwork vlan101",
		"apiVersion: k8s.ovn.org/v1\nkind: UserDefinedNetwork\nmetadata: {namespace: other, name: vlan101}":                                         "",
		"apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {namespace: x, name: vlan101}\nspec: {networkNamespace: clusters}": "SriovNetwork vlan101",
		"apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetwork\nmetadata: {namespace: clusters, name: vlan102}":                              "",
	} {
		t.Run(object, func(t *testing.T) {
			g, o := NewWithT(t), withCreator(t, object)
			_, ps := translated(o)
			found := causesOf(ps, problem.NADNotCreated, problem.NADMisnamed)
			if owner == "" {
				g.Expect(found).To(HaveExactElements(HaveField("Cause", problem.NADMisnamed)))
				return
			}
			g.Expect(found).To(HaveExactElements(And(HaveField("Cause", problem.NADNotCreated), WithTransform(message, ContainSubstring("The input has "+owner)))))
			g.Expect(ps.Blocking()).To(BeFalse())
		})
	}
}

// TestUserDefinedNetworkOfFiles: the spec of a user-defined network shows what edges cannot join, and which layer-2 network
// it is, before OVN-Kubernetes has created its NetworkAttachmentDefinition.
func TestUserDefinedNetworkOfFiles(t *testing.T) {
	const cudn = "apiVersion: k8s.ovn.org/v1\nkind: ClusterUserDefinedNetwork\nmetadata: {name: vlan101}\nspec: {namespaceSelector: {matchLabels: {team: x}}, network: "
	const udn = "apiVersion: k8s.ovn.org/v1\nkind: UserDefinedNetwork\nmetadata: {namespace: clusters, name: vlan101}\nspec: "
	for object, c := range map[string]struct {
		want   problem.Cause
		layer2 string
	}{
		cudn + "{topology: Localnet, localnet: {role: Secondary, physicalNetworkName: p, subnets: [192.168.100.0/24]}}}": {want: problem.OVNOwnerHasSubnets},
		cudn + "{topology: Layer2, layer2: {role: Primary, subnets: [10.100.0.0/16]}}}":                                  {want: problem.OVNPrimaryNetwork},
		cudn + "{topology: Layer3, layer3: {role: Primary, subnets: [{cidr: 10.100.0.0/16}]}}}":                          {want: problem.OVNTopologyUnsupported},
		udn + "{topology: Layer2, layer2: {role: Secondary, subnets: [10.100.0.0/16]}}":                                  {want: problem.OVNOwnerHasSubnets},
		cudn + "{topology: Localnet, localnet: {role: Secondary, physicalNetworkName: p, vlan: {mode: Access, access: {id: 7}}, ipam: {mode: Disabled}}}}": {
			want: problem.NADNotCreated, layer2: "localnet p vlan 7"},
		udn + "{topology: Layer2, layer2: {role: Secondary, mtu: 1400, ipam: {mode: Disabled}}}": {want: problem.NADNotCreated, layer2: "layer2 clusters_vlan101 vlan 0"},
	} {
		t.Run(object, func(t *testing.T) {
			g, o := NewWithT(t), withCreator(t, object)
			request, ps := translated(o)
			severity := problem.SeverityError
			if c.want == problem.NADNotCreated {
				severity = problem.SeverityWaiting
			}
			g.Expect(causesOf(ps, c.want)).To(HaveExactElements(HaveField("Severity", severity)), "%v", ps)
			if c.layer2 != "" {
				g.Expect(request.Networks[0].Attachment.Layer2).To(Equal(c.layer2))
			}
		})
	}
}

// TestDHCPOptionsByOthers: if edges run DHCP on no network, one problem names all annotations that only their DHCP uses. If they run it on
// another network, it names only those for this one.
func TestDHCPOptionsByOthers(t *testing.T) {
	about := func(change func(*hcp.Objects)) []problem.Values {
		o := served(t)
		for key, value := range map[string]string{network.KeyServices: "dns,ntp,proxy", network.KeyMTU: "9000", network.KeySearchDomains: "x.example.com", network.KeyLeaseTime: "30m",
			network.KeyDHCPRelays: "192.168.100.1", network.KeyUnknownClients: "ignore", network.KeyNTPServers: "192.168.100.1", network.KeyDHCPRange: "192.168.100.10-192.168.100.99"} {
			annotate(&o, key, value)
		}
		change(&o)
		var out []problem.Values
		_, ps := plan(o)
		for _, p := range causesOf(ps, problem.DHCPSettingsUnused) {
			NewWithT(t).Expect(p.Severity).To(Equal(problem.SeverityInfo))
			out = append(out, p.Args["annotations"])
		}
		return out
	}
	g := NewWithT(t)
	g.Expect(about(func(*hcp.Objects) {})).To(Equal([]problem.Values{{"dhcp-range", "lease-time", "mtu", "dhcp-relays", "search-domains", "unknown-clients"}}))
	g.Expect(about(func(o *hcp.Objects) {
		secondPool(o, false)
		o.NetworkAttachmentDefinitions[1].Annotations[settings.Prefix+network.KeyServices] = "dhcp,dns,ntp,proxy"
	})).To(Equal([]problem.Values{{"dhcp-range"}}))
	g.Expect(about(func(o *hcp.Objects) { annotate(o, network.KeyServices, "dhcp,dns,ntp,proxy") })).To(BeEmpty())
}
