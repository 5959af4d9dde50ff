package hcp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestPodNetworkWaitsForNothing: VMs with the default pod network reach their control plane through it, so the plan waits for no endpoint.
func TestPodNetworkWaitsForNothing(t *testing.T) {
	g := NewWithT(t)
	o := served(t)
	yes := true
	o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
	annotate(&o, "cidr."+o.NodePools[0].Name, "10.50.0.0/24")
	publish(o, hyperv1.OAuthServer, hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer})
	o.HostedCluster.Status = hyperv1.HostedClusterStatus{}
	o.Services, o.Routes = nil, nil
	p, problems := plan(o)
	g.Expect(problems).To(BeEmpty())
	g.Expect(p.Networks).To(HaveLen(1))
	g.Expect(p.Networks[0].Services).To(HaveExactElements(network.ServiceDHCP))
}

// TestUnusedMachineNetwork checks that the message says why machineNetwork is not used.
func TestUnusedMachineNetwork(t *testing.T) {
	machineNetwork := func(o hcp.Objects, cidrs ...string) {
		o.HostedCluster.Spec.Networking.MachineNetwork = nil
		for _, c := range cidrs {
			o.HostedCluster.Spec.Networking.MachineNetwork = append(o.HostedCluster.Spec.Networking.MachineNetwork, hyperv1.MachineNetworkEntry{CIDR: *ipnet.MustParseCIDR(c)})
		}
	}
	detail := func(g *WithT, o hcp.Objects) string {
		_, problems := plan(o)
		for _, p := range problems {
			if slices.Contains([]problem.Reason{problem.CIDRMissing, problem.WaitingForNetwork, problem.ServedByOthers, problem.NetworkMissing}, p.Reason) {
				return message(p)
			}
		}
		g.Expect(problems).To(BeEmpty(), "no such problem")
		return ""
	}
	t.Run("IPv6 only", func(t *testing.T) {
		g, o := NewWithT(t), served(t)
		machineNetwork(o, "fd00:100::/64")
		g.Expect(detail(g, o)).To(ContainSubstring("has no IPv4 CIDR. VMs cannot boot from it. Edges serve only IPv4."))
	})
	t.Run("the second of two", func(t *testing.T) {
		g, o := NewWithT(t), served(t)
		machineNetwork(o, "192.168.100.0/24", "192.168.200.0/24")
		addNodePool(&o, "beta", "200")
		g.Expect(detail(g, o)).To(ContainSubstring("The first IPv4 entry of spec.networking.machineNetwork applies to one network only."))
	})
	t.Run("with the pod network", func(t *testing.T) {
		g, o := NewWithT(t), served(t)
		yes := true
		o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork = &yes
		g.Expect(detail(g, o)).To(ContainSubstring("machineNetwork applies only to a network that VMs boot from"))
	})
}

// TestInvalidNetworkNames checks the message for names that no
// NetworkAttachmentDefinition can have.
func TestInvalidNetworkNames(t *testing.T) {
	for name, words := range map[string]string{
		"Default/vlan100":   `"Default/vlan100", which has an invalid namespace`,
		"default/VLAN_100":  `an invalid name`,
		"default/vlan100/x": "an invalid name",
		"":                  "an invalid name",
		"/vlan100":          "an invalid namespace",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := served(t)
			o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = name
			request, problems := translated(o)
			g.Expect(request.Networks).To(BeEmpty())
			g.Expect(hasError(problems)).To(BeTrue())
			g.Expect(problems.BySeverity()[0].Reason).To(Equal(problem.NetworkMissing))
			g.Expect(message(problems.BySeverity()[0])).To(And(ContainSubstring(words), ContainSubstring("[namespace]/[name]")))
		})
	}
}

// TestNodePoolMovesToAnotherNetwork: until the VMs of a NodePool are replaced, its old network is served. Nodes there do not reach the new ones.
func TestNodePoolMovesToAnotherNetwork(t *testing.T) {
	moved := func(o *hcp.Objects, nad, vlan string) {
		secondPool(o, false)
		o.NodePools = o.NodePools[:1]
		o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/" + nad
		annotate(o, "cidr", "192.168.200.0/24")
		added := &o.NetworkAttachmentDefinitions[1]
		added.Name, added.Spec.Config = nad, strings.ReplaceAll(o.NetworkAttachmentDefinitions[0].Spec.Config, "100", vlan)
	}
	gateways := func(o *hcp.Objects) { annotate(o, "gateway", "192.168.100.1") }
	for name, c := range map[string]struct {
		before, change func(*hcp.Objects)
		cause          problem.Cause
	}{
		"to another VLAN": {change: func(o *hcp.Objects) { moved(o, "vlan200", "200") }, cause: problem.NodesOnSeparateNetworks},
		"to another VLAN by routers": {before: gateways, cause: problem.NodesBehindGateways, change: func(o *hcp.Objects) {
			moved(o, "vlan200", "200")
			annotate(o, "gateway", "192.168.200.1")
		}},
		"to another NAD of the VLAN": {change: func(o *hcp.Objects) { moved(o, "renamed", "100") }},
		"when no VM is left":         {change: func(o *hcp.Objects) { moved(o, "vlan200", "200"); o.VMs = nil }},
		"to the pod network": {cause: problem.NodesOnSeparateNetworks, change: func(o *hcp.Objects) {
			yes := true
			o.NodePools[0].Spec.Platform.Kubevirt.AttachDefaultNetwork, o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = &yes, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			if c.before != nil {
				c.before(&o)
			}
			last, _ := plan(o)
			c.change(&o)
			request, facts := hcp.Translate(o, last)
			p, _ := after(given{request, facts}, last)
			serves := slices.ContainsFunc(p.Networks, func(n network.Network) bool { return n.Name == "clusters.vlan100" })
			g.Expect(serves).To(Equal(len(o.VMs) > 0))
			found := causesOf(facts.Problems, problem.NodesOnSeparateNetworks, problem.NodesBehindGateways)
			if c.cause == "" {
				g.Expect(found).To(BeEmpty())
				return
			}
			g.Expect(found).To(HaveExactElements(HaveField("Cause", c.cause)))
		})
	}
}

// TestNodePoolBeingDeleted: a NodePool that is being deleted creates no VMs. It counts as long as VMs are on a network of its own.
func TestNodePoolBeingDeleted(t *testing.T) {
	other := func(o *hcp.Objects) { // on the same network, with another value
		o.NodePools = append(o.NodePools, another(*o, "two", false))
		o.NodePools[1].Annotations = map[string]string{settings.Prefix + "lease-time": "2h"}
	}
	missing := func(o *hcp.Objects) {
		other(o)
		o.NodePools[1].Spec.Platform.Kubevirt.AdditionalNetworks[0].Name = "clusters/nope"
	}
	separate := func(o *hcp.Objects) { secondPool(o, false) }
	vm := func(o *hcp.Objects) { addVM(o, o.NodePools[1]) }
	onlyOne := func(o *hcp.Objects) { o.NodePools = o.NodePools[1:] }
	for name, c := range map[string]struct {
		given    []change
		networks int // while it is being deleted
		alive    problem.Cause
		want     problem.Cause
	}{
		"another value":                       {[]change{other}, 1, problem.NodePoolSettingsDiffer, ""},
		"another value, and a VM":             {[]change{other, vm}, 1, problem.NodePoolSettingsDiffer, ""},
		"a NetworkAttachmentDefinition lacks": {[]change{missing}, 1, problem.NADNotFound, ""},
		"its own network":                     {[]change{separate}, 1, "", ""},
		"its own network, and a VM":           {[]change{separate, vm}, 2, "", ""},
		"the only NodePool":                   {[]change{separate, onlyOne}, 0, "", problem.NodePoolMissing},
	} {
		t.Run(name, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			for _, change := range c.given {
				change(&o)
			}
			causes := []problem.Cause{problem.NodePoolSettingsDiffer, problem.NADNotFound, problem.NodePoolMissing, problem.NoNetworkNamed}
			of := func(want problem.Cause) {
				p, ps := plan(o)
				if want == "" {
					g.Expect(causesOf(ps, causes...)).To(BeEmpty())
					return
				}
				g.Expect(causesOf(ps, causes...)).To(HaveExactElements(HaveField("Cause", want)), "%v", p)
			}
			of(c.alive)
			o.NodePools[len(o.NodePools)-1].DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
			of(c.want)
			p, _ := plan(o)
			g.Expect(p.Networks).To(HaveLen(c.networks))
		})
	}
}

// TestUnselectedNodePool: VMs of a NodePool cannot boot from a network that annotation network does not select. One without VMs is only mentioned.
func TestUnselectedNodePool(t *testing.T) {
	for replicas, severity := range map[int32]problem.Severity{0: problem.SeverityInfo, 1: problem.SeverityError} {
		t.Run(string(severity), func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			secondPool(&o, false)
			annotate(&o, "network", "clusters/vlan100")
			o.NodePools[1].Spec.Replicas = &replicas
			_, ps := plan(o)
			g.Expect(causesOf(ps, problem.NetworkNotSelected)).To(HaveExactElements(HaveField("Severity", severity)))
		})
	}
}

// TestUnselectedTwin: VMs have two interfaces on a network that has two NADs, even if annotation network selects one of them.
func TestUnselectedTwin(t *testing.T) {
	for vlan, want := range map[string]int{"100": 1, "200": 0} {
		t.Run(vlan, func(t *testing.T) {
			g, o := NewWithT(t), served(t)
			withStorage(&o, "clusters", "twin", `{"cniVersion":"0.3.1","name":"twin","type":"bridge","bridge":"br1","vlan":`+vlan+`,"ipam":{}}`)
			annotate(&o, "network", "clusters/vlan100")
			p, ps := plan(o)
			g.Expect(ps.Blocking()).To(BeFalse(), "%v", ps)
			g.Expect(p.Networks).To(HaveLen(1))
			g.Expect(causesOf(ps, problem.NADsOnOneNetwork)).To(HaveLen(want))
			if want == 1 {
				g.Expect(message(causesOf(ps, problem.NADsOnOneNetwork)[0])).To(And(HavePrefix("NetworkAttachmentDefinitions clusters/vlan100 and clusters/twin are"), ContainSubstring("Remove clusters/twin from NodePool blue.")))
			}
		})
	}
}

// TestNoNetworkAtAll: the text about a cluster without networks is right, too, if HyperShift refuses its NodePool.
func TestNoNetworkAtAll(t *testing.T) {
	g, o := NewWithT(t), served(t)
	fresh(&o)
	o.NodePools[0].Spec.Platform.Kubevirt.AdditionalNetworks = nil
	_, ps := plan(o)
	found := causesOf(ps, problem.NoNetworkNamed, problem.NodePoolWithoutNetwork)
	g.Expect(found).To(ConsistOf(HaveField("Cause", problem.NoNetworkNamed), HaveField("Cause", problem.NodePoolWithoutNetwork)))
	for _, p := range found {
		g.Expect(message(p)).NotTo(ContainSubstring("use only the pod network"))
	}
}
