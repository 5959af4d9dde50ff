package explain_test

import (
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// verdicts are the first line of the condition and that of `oooi plan`.
func verdicts(p network.Plan, problems problem.Problems) (condition, plan string) {
	ready := map[string]int{}
	for _, n := range p.Networks {
		ready[n.Name] = len(n.Edges)
	}
	condition, _, _ = strings.Cut(explain.Status{Plan: p, Applied: true, Running: true, ReadyEdges: ready, Problems: problems}.Report().Message(), "\n")
	var text strings.Builder
	explain.WritePlan(&text, explain.Preview{Cluster: "clusters/blue", Plan: &p, Problems: problems, Created: true})
	plan, _, _ = strings.Cut(text.String(), "\n")
	return condition, strings.TrimPrefix(plan, "HostedCluster clusters/blue: ")
}

// TestVerdictsAgree: the condition and the plan say the same about nodes, and no problem
// below them contradicts it.
func TestVerdictsAgree(t *testing.T) {
	boot, storage := served("vlan100", 1), served("storage", 1)
	storage.Primary = false
	one, both, pods := network.Plan{Networks: []network.Network{boot}}, network.Plan{Networks: []network.Network{boot, storage}}, network.Plan{Networks: []network.Network{storage}}
	of := func(s problem.Severity, r problem.Reason, kind, name string) problem.Problem {
		p := fault(s, r, string(r)+" "+name+".")
		p.Subject = problem.Subject{Kind: kind, Name: name}
		if kind == "Network" {
			p.Args["network"] = []string{name}
		}
		return p
	}
	namespace := of(problem.SeverityWarning, problem.NADNamespaceNotAllowed, "NetworkAttachmentDefinition", "vlan100")
	images := of(problem.SeverityWarning, problem.ImagesUnreachable, "", "")
	console, time := of(problem.SeverityWarning, problem.AppsUnreachable, "", ""), of(problem.SeverityWarning, problem.NTPMissing, "", "")
	registry := network.Attachment{Namespace: "clusters", Name: "vlan100"}.Problem(problem.NoRegistryReachable, problem.Args{"hosts": {"registry.example.com"}})
	plugin := of(problem.SeverityWarning, problem.PodNetworkUnsupported, "", "")
	unmade := problem.New(problem.NodePoolRefused, problem.Subject{}, problem.Args{"nodePools": {"blue"}, "condition": {"ValidReleaseImage"}, "error": {"no image"}})
	paused := problem.New(problem.NodePoolPaused, problem.Subject{}, problem.Args{"nodePools": {"a", "b"}})
	many := problem.New(problem.NodePoolPaused, problem.Subject{}, problem.Args{"nodePools": {"a", "b", "c", "d"}})
	old := problem.New(problem.NodePoolLabelStopsUpdates, problem.Subject{}, problem.Args{"nodePools": {"green"}, "label": {`"a=b c"`}})
	onlyVMs := problem.New(problem.NoNewNodes, problem.Subject{}, nil)
	none, noPlane := problem.New(problem.NoNodePoolCreatesNodes, problem.Subject{}, nil), problem.New(problem.ControlPlaneRefused, problem.Subject{}, problem.Args{"condition": {"ValidConfiguration"}, "error": {"x"}})
	range1, range2 := of(problem.SeverityWarning, problem.RangeTooSmall, "Network", "clusters/vlan100"), of(problem.SeverityWarning, problem.RangeTooSmall, "Network", "clusters/storage")
	cidr := of(problem.SeverityWaiting, problem.WaitingForNetwork, "Network", "clusters/vlan303")
	missing := problem.New(problem.NADNotFound, problem.Subject{Kind: "NetworkAttachmentDefinition", Namespace: "clusters", Name: "storage"}, problem.Args{"nad": {"clusters/storage"}, "nodePools": {"blue"}, "types": {"bridge"}})
	missing.Confined = true
	unmarked := boot.Problem(problem.VMsWithoutResource, nil)
	ignition, oauth := of(problem.SeverityWaiting, problem.WaitingForEndpoint, "Endpoint", "ignition-server"), of(problem.SeverityWaiting, problem.WaitingForEndpoint, "Endpoint", "oauth")
	for name, c := range map[string]struct {
		plan            network.Plan
		problems        problem.Problems
		condition, text string
	}{
		"well":        {one, nil, "Nodes can boot: DHCP", "nodes will become Ready."},
		"namespace":   {one, problem.Problems{images, namespace}, "VMs may not start, so nodes may not become Ready. DHCP", "VMs may not start, so nodes may not become Ready."},
		"images":      {one, problem.Problems{images}, "Nodes may not become Ready. DHCP", "nodes may not become Ready."},
		"no registry": {one, problem.Problems{namespace, images, registry}, "VMs that start cannot pull images, so new nodes do not become Ready. DHCP", "VMs that start cannot pull images, so new nodes do not become Ready."},
		"no registry, and a part waits": {one, problem.Problems{registry, oauth}, "VMs that start cannot pull images, so new nodes do not become Ready. OAuth is not served yet: logins fail. DHCP",
			"VMs that start cannot pull images, so new nodes do not become Ready, even when the items marked Waiting exist."},
		"no console":               {one, problem.Problems{console}, "Nodes can boot, but the console stays degraded. DHCP", "nodes will become Ready, but the console stays degraded."},
		"no console, no time":      {one, problem.Problems{time, console}, "Nodes can boot, but the console stays degraded and VMs have no time server. DHCP", "nodes will become Ready, but the console stays degraded and VMs have no time server."},
		"images and console":       {one, problem.Problems{console, images}, "Nodes may not become Ready. DHCP", "nodes may not become Ready."},
		"console is a hint":        {one, problem.Problems{of(problem.SeverityInfo, problem.AppsUnreachable, "", "")}, "Nodes can boot: DHCP", "nodes will become Ready."},
		"network plugin":           {one, problem.Problems{plugin}, "Nodes may not become Ready. DHCP", "nodes may not become Ready."},
		"no nodes of one NodePool": {one, problem.Problems{unmade}, "Nodes can boot, but NodePool blue gets no new nodes. DHCP", "nodes will become Ready, but NodePool blue gets no new nodes."},
		"no updates of one NodePool": {one, problem.Problems{old, unmade}, "Nodes can boot, but NodePool blue gets no new nodes and NodePool green gets no updates. DHCP",
			"nodes will become Ready, but NodePool blue gets no new nodes and NodePool green gets no updates."},
		"no nodes of three NodePools": {one, problem.Problems{console, unmade, paused}, "Nodes can boot, but NodePools a, b and blue get no new nodes and the console stays degraded. DHCP",
			"nodes will become Ready, but NodePools a, b and blue get no new nodes and the console stays degraded."},
		"no nodes of many NodePools": {one, problem.Problems{many}, "Nodes can boot, but some NodePools get no new nodes. DHCP", "nodes will become Ready, but some NodePools get no new nodes."},
		"no new nodes":               {one, problem.Problems{unmade, onlyVMs}, "Nodes may not become Ready. DHCP", "nodes may not become Ready."},
		"no nodes":                   {one, problem.Problems{unmade, none}, "HyperShift creates no nodes, so none becomes Ready. DHCP", "HyperShift creates no nodes, so none becomes Ready."},
		"no control plane":           {one, problem.Problems{noPlane}, "HyperShift creates no control plane, so no node becomes Ready. The API server is not served yet: ", "HyperShift creates no control plane, so no node becomes Ready."},
		"addresses":                  {both, problem.Problems{range1}, "VMs may run out of addresses, so some nodes may not become Ready. DHCP", "VMs may run out of addresses, so some nodes may not become Ready."},
		"secondary addresses":        {both, problem.Problems{range2}, "Nodes can boot: DHCP", "nodes will become Ready, with warnings."},
		"a disk is missing": {one, problem.Problems{missing}, "Nodes on other networks can boot. Network clusters/storage is not served: VMs cannot boot or get an address there. DHCP",
			"nodes on network clusters/storage cannot become Ready."},
		"a disk that runs is missing": {both, problem.Problems{missing}, "Nodes on other networks can boot. Network clusters/storage is not served: VMs cannot boot or get an address there. DHCP",
			"nodes on network clusters/storage cannot become Ready."},
		"no resource":      {one, problem.Problems{console, unmarked}, "Nodes may not become Ready. DHCP", "nodes may not become Ready."},
		"waits and images": {one, problem.Problems{images, cidr}, "Nodes may not become Ready. Network clusters/vlan303 is not served yet: VMs cannot boot or get an address there. DHCP", "nodes may not become Ready, even when the items marked Waiting exist."},
		"a network waits":  {one, problem.Problems{cidr}, "Nodes on other networks can boot. Network clusters/vlan303 is not served yet: ", "nodes will become Ready when the items marked Waiting exist."},
		"Ignition waits":   {one, problem.Problems{oauth, ignition}, "Ignition and OAuth are not served yet: new nodes cannot boot. DHCP", "nodes will become Ready when the items marked Waiting exist."},
		"OAuth waits":      {one, problem.Problems{oauth}, "Nodes can become Ready. OAuth is not served yet: logins fail. DHCP", "nodes will become Ready. OAuth is not served yet: logins fail."},
		"secondary network fails": {both, problem.Problems{of(problem.SeverityWaiting, problem.AddressCheckPending, "Network", "clusters/storage")},
			"Nodes can boot. Network clusters/storage is not served yet: VMs get no address there. DHCP", "nodes will become Ready when the items marked Waiting exist."},
		"pod network":               {pods, nil, "DHCP, DNS and proxy are ready", "VMs boot from the pod network."},
		"pod network and namespace": {pods, problem.Problems{namespace}, "VMs may not start, so nodes may not become Ready. DHCP", "VMs may not start, so nodes may not become Ready."},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			condition, plan := verdicts(c.plan, c.problems)
			g.Expect(condition).To(HavePrefix(c.condition))
			g.Expect(plan).To(HavePrefix(c.text))
		})
	}
}

// TestNothingIsApplied: nodes that boot from the pod network are not called dead.
func TestNothingIsApplied(t *testing.T) {
	storage := served("storage", 1)
	storage.Primary = false
	refused := problem.Problems{fault(problem.SeverityError, problem.CIDRTooSmall, "too small.")}
	waits := problem.Problems{fault(problem.SeverityWaiting, problem.WaitingForControlPlane, "no API.")}
	for _, c := range []struct {
		networks []network.Network
		problems problem.Problems
		want     string
	}{
		{[]network.Network{served("vlan100", 1)}, refused, "Nodes cannot boot.\n"},
		{[]network.Network{storage}, refused, "VMs boot from the pod network, and get no address on other networks.\n"},
		{[]network.Network{storage}, waits, "VMs boot from the pod network, and get no address on other networks until the items below exist.\n"},
		{nil, refused, "Nodes that do not boot from the pod network cannot boot.\n"},
	} {
		NewWithT(t).Expect(explain.Status{Plan: network.Plan{Networks: c.networks}, Problems: c.problems}.Report().Message()).To(ContainSubstring(c.want))
	}
}

// TestEdgesAreCountedByNetwork: two edges on two networks are no redundancy.
func TestEdgesAreCountedByNetwork(t *testing.T) {
	g := NewWithT(t)
	condition, _ := verdicts(network.Plan{Networks: []network.Network{served("vlan100", 1), served("vlan200", 1)}}, nil)
	g.Expect(condition).To(HaveSuffix(" (1 of 1 edge on each network)."))
	condition, _ = verdicts(network.Plan{Networks: []network.Network{served("vlan100", 1), served("vlan200", 2)}}, nil)
	g.Expect(condition).To(HaveSuffix(" (1 of 1 edge on network clusters/vlan100, 2 of 2 edges on network clusters/vlan200)."))
}

// TestGatewayCarriesTraffic: no external hosts does not mean no images where a gateway
// carries them.
func TestGatewayCarriesTraffic(t *testing.T) {
	g := NewWithT(t)
	isolated, routed := served("vlan100", 1), served("vlan200", 1)
	routed.DHCP.Router = netip.MustParseAddr("192.168.100.1")
	last := func(networks ...network.Network) string {
		lines := strings.Split(explain.Status{Plan: network.Plan{Networks: networks}, Applied: true}.Report().Message(), "\n")
		return lines[len(lines)-2]
	}
	g.Expect(last(isolated)).To(Equal("No external hosts are allowed."))
	g.Expect(last(routed)).To(Equal("Edges allow no external hosts; gateway 192.168.100.1 carries that traffic."))
	g.Expect(last(isolated, routed)).To(Equal("Edges allow no external hosts. On network clusters/vlan200, gateway 192.168.100.1 carries that traffic."))
	isolated.Backends = []network.Backend{{Kind: network.BackendExternal, Name: "quay.io:443"}}
	g.Expect(last(isolated, routed)).To(Equal("Allowed external hosts: quay.io:443. On network clusters/vlan200, gateway 192.168.100.1 carries other traffic."))
}
