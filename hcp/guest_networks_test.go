package hcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network/problem"
)

// TestHostedNetworks checks that a CIDR cannot overlap the networks inside the hosted
// cluster.
func TestHostedNetworks(t *testing.T) {
	for cidr, words := range map[string]string{
		"10.133.0.0/24":    "the pod network (spec.networking.clusterNetwork) (10.132.0.0/14)",
		"172.31.0.0/20":    "the Service network",
		"100.66.7.0/24":    "join switch (100.66.0.0/16)",
		"100.88.0.0/24":    "transit switch",
		"169.254.100.0/24": "masquerade",
		"100.64.0.0/24":    "",
		"10.77.0.0/24":     "",
	} {
		t.Run(cidr, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.HostedCluster.Annotations[settings.Prefix+"cidr"] = cidr
			_, problems := plan(o)
			if words == "" {
				g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
				return
			}
			g.Expect(problems).To(ContainElement(And(HaveField("Reason", problem.AddressConflict), HaveField("Blocks()", true),
				WithTransform(message, ContainSubstring(words)))))
		})
	}
}

// TestGuestNetworkConfiguration checks that the HostedCluster's network type and its
// configuration of OVN-Kubernetes replace the defaults.
func TestGuestNetworkConfiguration(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Annotations[settings.Prefix+"cidr"] = "100.66.0.0/24"
	o.HostedCluster.Spec.Networking.NetworkType = hyperv1.Calico
	_, problems := plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)

	o.HostedCluster.Spec.Networking.NetworkType = hyperv1.OVNKubernetes
	o.HostedCluster.Spec.OperatorConfiguration = &hyperv1.OperatorConfiguration{ClusterNetworkOperator: &hyperv1.ClusterNetworkOperatorSpec{
		OVNKubernetesConfig: &hyperv1.OVNKubernetesConfig{IPv4: &hyperv1.OVNIPv4Config{InternalJoinSubnet: "100.70.0.0/16"}}}}
	_, problems = plan(o)
	g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
}

// TestPodSubnets: OVN-Kubernetes gives each node a subnet of the pod network. A node without one never becomes Ready.
func TestPodSubnets(t *testing.T) {
	for name, c := range map[string]struct {
		cidrs []string
		per   int32
		nodes int32
		want  string
	}{
		"the default":                                {[]string{"10.132.0.0/14"}, 0, 300, ""},
		"a subnet for each node and one more":        {[]string{"10.132.0.0/21"}, 0, 3, ""},
		"no subnet for the node that an update adds": {[]string{"10.132.0.0/22"}, 0, 2, "2"},
		"smaller subnets":                            {[]string{"10.132.0.0/22"}, 24, 3, ""},
		"two networks":                               {[]string{"10.132.0.0/22", "10.136.0.0/22"}, 0, 3, ""},
		"IPv6 has enough":                            {[]string{"10.132.0.0/14", "fd01::/48"}, 0, 300, ""},
		"IPv6 has one subnet":                        {[]string{"10.132.0.0/14", "fd01::/64"}, 0, 2, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NodePools[0].Spec.Replicas = &c.nodes
			o.HostedCluster.Spec.Networking.ClusterNetwork = nil
			for _, cidr := range c.cidrs {
				o.HostedCluster.Spec.Networking.ClusterNetwork = append(o.HostedCluster.Spec.Networking.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR(cidr), HostPrefix: c.per})
			}
			about := func() problem.Problems {
				_, ps := plan(o)
				return causesOf(ps, problem.PodSubnetsTooFew)
			}
			if c.want == "" {
				g.Expect(about()).To(BeEmpty())
				return
			}
			g.Expect(about()).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("count", problem.Values{c.want}))))
			o.HostedCluster.Spec.Networking.NetworkType = hyperv1.Calico
			g.Expect(about()).To(BeEmpty(), "another plugin divides the network in its own way")
		})
	}
}

// TestAllocatedPodSubnets: with allocateNodeCIDRs, kube-controller-manager gives each node a /24 of the first network, whatever hostPrefix is.
func TestAllocatedPodSubnets(t *testing.T) {
	for name, c := range map[string]struct {
		cidrs []string
		nodes int32
		mode  string
		want  string
	}{
		"subnets for all":           {[]string{"10.132.0.0/22"}, 3, "Enabled", ""}, // An update adds one.
		"a subnet too few":          {[]string{"10.132.0.0/22"}, 4, "Enabled", "4"},
		"the first network counts":  {[]string{"10.132.0.0/22", "10.136.0.0/14"}, 4, "Enabled", "4"},
		"a network below a subnet":  {[]string{"10.132.0.0/25"}, 1, "Enabled", "0"},
		"IPv6":                      {[]string{"fd01::/63"}, 2, "Enabled", "2"},
		"many, and no join subnet":  {[]string{"10.0.0.0/8"}, 2, "Enabled", ""},
		"the plugin divides it":     {[]string{"10.132.0.0/22"}, 4, "Disabled", ""},
		"the plugin's own division": {[]string{"10.132.0.0/22"}, 4, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			n := &o.HostedCluster.Spec.Networking
			n.NetworkType, n.ClusterNetwork, o.NodePools[0].Spec.Replicas, o.AllocateNodeCIDRs = hyperv1.Other, nil, &c.nodes, c.mode
			for _, cidr := range c.cidrs {
				n.ClusterNetwork = append(n.ClusterNetwork, hyperv1.ClusterNetworkEntry{CIDR: *ipnet.MustParseCIDR(cidr), HostPrefix: 28})
			}
			_, ps := plan(o)
			got := causesOf(ps, problem.PodSubnetsTooFew, problem.JoinSubnetTooSmall)
			if c.want == "" {
				g.Expect(got).To(BeEmpty())
				return
			}
			g.Expect(got).To(HaveExactElements(HaveField("Args", HaveKeyWithValue("count", problem.Values{c.want}))))
		})
	}
}

// TestPodSubnetsOfAutoscaledNodePools: the autoscaler adds no node beyond maxNodesTotal of all NodePools together.
func TestPodSubnetsOfAutoscaledNodePools(t *testing.T) {
	for _, c := range []struct {
		total, least int32
		pods         string
		want         bool
	}{
		{0, 2, "10.132.0.0/21", true}, {5, 2, "10.132.0.0/21", true}, {4, 2, "10.132.0.0/21", false}, {1, 2, "10.132.0.0/21", false},
		{1, 1, "10.132.0.0/23", true}, {1, 0, "10.132.0.0/23", true}, // HyperShift begins with one node for 0, too.
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			o := served(t)
			o.NodePools = append(o.NodePools, *o.NodePools[0].DeepCopy())
			o.NodePools[1].Name = "b"
			for i := range o.NodePools {
				o.NodePools[i].Spec.Replicas, o.NodePools[i].Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: c.least, Max: 4}
				o.NodePools[i].Spec.Management.UpgradeType = hyperv1.UpgradeTypeInPlace
			}
			o.HostedCluster.Spec.Autoscaling.MaxNodesTotal = &c.total
			o.HostedCluster.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: *ipnet.MustParseCIDR(c.pods)}}
			_, ps := plan(o)
			NewWithT(t).Expect(ps.Has(problem.PodNetworkUnsupported)).To(Equal(c.want))
		})
	}
}

// TestJoinSubnetTooSmall: the network operator of the hosted cluster wants an address of the join subnet for each subnet of the pod network, and three more.
func TestJoinSubnetTooSmall(t *testing.T) {
	for join, c := range map[string]struct {
		cidr string
		per  int32
		want bool
	}{
		"":              {"10.132.0.0/14", 0, false},
		"100.70.0.0/22": {"10.132.0.0/14", 23, false},
		"100.70.0.0/23": {"10.132.0.0/14", 0, true},
		"100.70.0.0/28": {"10.132.0.0/20", 24, true},
		"100.70.0.0/27": {"10.132.0.0/20", 24, false},
		"100.66.0.0/16": {"10.132.0.0/14", 30, true},
	} {
		t.Run(join, func(t *testing.T) {
			o := served(t)
			o.JoinSubnet = join
			o.HostedCluster.Spec.Networking.ClusterNetwork = []hyperv1.ClusterNetworkEntry{{CIDR: *ipnet.MustParseCIDR(c.cidr), HostPrefix: c.per}}
			_, ps := plan(o)
			NewWithT(t).Expect(len(causesOf(ps, problem.JoinSubnetTooSmall)) > 0).To(Equal(c.want))
		})
	}
}

// TestServicesBeforePublishing checks that an unusable address in spec.services is
// refused before HyperShift publishes anything.
func TestServicesBeforePublishing(t *testing.T) {
	at := func(address string) hyperv1.ServicePublishingStrategy {
		return hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: &hyperv1.NodePortPublishingStrategy{Address: address}}
	}
	for name, c := range map[string]struct {
		how    hyperv1.ServicePublishingStrategy
		reason problem.Reason
		words  string
	}{
		"in the VLAN's CIDR":              {at("192.168.100.77"), problem.AddressConflict, "lies in CIDR 192.168.100.0/24"},
		"in the pod network of the guest": {at("10.132.0.7"), problem.AddressConflict, "which belongs to the pod network"},
		"IPv6":                            {at("fd00::7"), problem.IPv6NotServed, "IPv6"},
		"with a port":                     {at("10.0.0.7:30000"), problem.PublishingUnsupported, "nodePort.address"},
		"no address":                      {at("10.0.0.700"), problem.PublishingUnsupported, "nodePort.address"},
		"a URL": {hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer, LoadBalancer: &hyperv1.LoadBalancerPublishingStrategy{Hostname: "https://api.example.com"}},
			problem.PublishingUnsupported, "loadBalancer.hostname"},
		"a Route at an address": {hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "10.0.0.7"}},
			problem.PublishingUnsupported, "route.hostname"},
		"of a node":      {at("10.240.0.1"), "", ""},
		"a name":         {at("api.example.com"), "", ""},
		"a single label": {at("api"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			publish(o, hyperv1.APIServer, c.how)
			o.HostedCluster.Status = hyperv1.HostedClusterStatus{}
			o.Services, o.Routes = nil, nil
			_, problems := plan(o)
			if c.reason == "" {
				g.Expect(problems.Blocking()).To(BeFalse(), "%v", problems)
				return
			}
			p := problems.BySeverity()[0]
			g.Expect(p).To(And(HaveField("Reason", c.reason), HaveField("Blocks()", true)))
			g.Expect(strings.Join(p.Keys, " ") + message(p)).To(ContainSubstring(c.words))
		})
	}
}

// TestNodeAPI checks that the address at which nodes reach their API server is HyperShift's: the
// default, or spec.networking.apiServer.advertiseAddress.
func TestNodeAPI(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	conflict := func(address string) types.GomegaMatcher {
		return ContainElement(And(HaveField("Cause", problem.AddressIsNodeAPI), HaveField("Blocks()", true), WithTransform(message, ContainSubstring(address))))
	}
	annotate(&o, "cidr", "172.20.0.0/24")
	annotate(&o, "gateway", "172.20.0.1")
	_, problems := plan(o)
	g.Expect(problems).To(conflict("172.20.0.1"))
	own := "10.77.0.1"
	o.HostedCluster.Spec.Networking.APIServer = &hyperv1.APIServerNetworking{AdvertiseAddress: &own}
	_, problems = plan(o)
	g.Expect(problems).NotTo(conflict("172.20.0.1"))
	annotate(&o, "cidr", "10.77.0.0/24")
	annotate(&o, "gateway", own)
	_, problems = plan(o)
	g.Expect(problems).To(conflict(own))
}

// TestPortsOutOfRange checks that a port above 65535 is refused, not served at another one.
func TestPortsOutOfRange(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	o.HostedCluster.Status.ControlPlaneEndpoint.Port = 70000
	p, problems := plan(o)
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.EndpointPortInvalid), HaveField("Blocks()", true), HaveField("Subject.Name", "kube-apiserver"))))
	for _, n := range p.Networks {
		g.Expect(n.Listeners).NotTo(ContainElement(HaveField("Port", uint16(70000-65536))))
	}

	o = served(t)
	i := slices.IndexFunc(o.Services, func(s corev1.Service) bool { return s.Name == "oauth-openshift" })
	o.Services = slices.Clone(o.Services)
	o.Services[i].Spec.Ports = []corev1.ServicePort{{Port: 70000}}
	_, problems = plan(o)
	g.Expect(problems).To(ContainElement(And(HaveField("Cause", problem.EndpointPortInvalid), HaveField("Severity", problem.SeverityWarning), HaveField("Subject.Name", "oauth"))))
}

// TestMTUOfRunningNodes: the first node decides about the MTU of the pod network, for good. New nodes with a smaller MTU do not become Ready.
func TestMTUOfRunningNodes(t *testing.T) {
	second := func(mtu int) change {
		return func(o *hcp.Objects) {
			secondPool(o, false)
			of := &o.NetworkAttachmentDefinitions[1].Spec
			of.Config = strings.Replace(of.Config, `"ipam"`, fmt.Sprintf(`"mtu":%d,"ipam"`, mtu), 1)
		}
	}
	moved := func(o *hcp.Objects) {
		second(1500)(o)
		o.NodePools[0].Spec.Platform.Kubevirt = o.NodePools[1].Spec.Platform.Kubevirt
		annotate(o, "cidr.blue", "192.168.200.0/24")
		o.NodePools = o.NodePools[:1]
	}
	vmOf := func(pool int) change { return func(o *hcp.Objects) { addVM(o, o.NodePools[pool]) } }
	empty := func(o *hcp.Objects) { o.NodePools[1].Spec.Replicas = new(int32) }
	fixed := func(o *hcp.Objects) { o.OVNMTU = 1400 }
	for name, c := range map[string]struct {
		first, then []change
		want        string
	}{
		"nothing changes":                              {nil, nil, ""},
		"a new NodePool with a smaller MTU":            {nil, []change{second(1500)}, "1500 9000 8958"},
		"and ovnKubernetesConfig.mtu":                  {nil, []change{second(1500), fixed}, ""},
		"a little less":                                {nil, []change{second(8958)}, ""},
		"too much less":                                {nil, []change{second(8957)}, "8957 9000 8958"},
		"a NodePool without VMs":                       {nil, []change{second(1500), empty}, ""},
		"annotation mtu":                               {nil, []change{annotated("mtu", "1400")}, "1400 9000 8958"},
		"the NodePool moves":                           {nil, []change{moved}, "1500 9000 8958"},
		"a NodePool whose nodes are not Ready":         {[]change{second(1500), running, vmOf(1)}, nil, "1500 9000 8958"},
		"two NodePools whose nodes are Ready":          {[]change{second(1500), running, vmOf(1), func(o *hcp.Objects) { o.NodePools[1].Status.Replicas = 1 }}, nil, ""},
		"no VM":                                        {nil, []change{func(o *hcp.Objects) { o.VMs = nil }, annotated("mtu", "1400")}, ""},
		"a new NodePool, while a smaller one is Ready": {[]change{annotated("mtu", "1500"), running}, []change{second(1500)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			of := &o.NetworkAttachmentDefinitions[0].Spec
			of.Config = strings.Replace(of.Config, `"ipam"`, `"mtu":9000,"ipam"`, 1)
			for _, change := range c.first {
				change(&o)
			}
			last, _ := plan(o)
			for _, change := range c.then {
				change(&o)
			}
			_, f := hcp.Translate(o, last)
			var got []string
			for _, p := range causesOf(f.Problems, problem.NodeMTUTooSmall, problem.NetworkMTUsDiffer, problem.OVNMTUTooLarge) {
				got = append(got, fmt.Sprint(p.Args["mtu"], " ", p.Args["otherMTU"], " ", p.Args["least"]))
			}
			g.Expect(strings.Join(got, ", ")).To(Equal(c.want))
		})
	}
}
