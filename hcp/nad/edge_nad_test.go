package nad_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// TestEdgesTakeWhatTheyNeed: an edge NAD changes nothing on a node but the pod's interface,
// whatever the VMs' NAD does, and however its keys are written.
func TestEdgesTakeWhatTheyNeed(t *testing.T) {
	g := NewWithT(t)
	a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan9", Config: `{"name":"net.9","description":"VLAN für \"VMs\"","plugins":[
		{"type":"bridge","Bridge":"a&b","isgateway":true,"IPMASQ":true,"logFile":"/etc/cron.d/x","args":{"cni":{"logFile":"/x"}},"vlanTrunk":[{"id":7}]},
		{"type":"tuning","mtu":1400,"dataDir":"/etc","mac":"02:00:00:00:00:01","promisc":true,"sysctl":{"kernel.x":"1"}},
		{"type":"firewall","iptablesAdminChainName":"x"},
		{"type":"portmap","runtimeConfig":{"portMappings":[{"hostPort":6443}]}},
		{"type":"bandwidth","ingressRate":1000,"owner":{"type":"team"}}]}`}, nad.Nodes{})
	g.Expect(fault).To(BeNil())
	var conf struct {
		Name    string
		Plugins []map[string]any
	}
	g.Expect(json.Unmarshal([]byte(a.EdgeNADConfig), &conf)).To(Succeed())
	g.Expect(conf.Name).To(Equal("net.9"))
	g.Expect(conf.Plugins[:3]).To(Equal([]map[string]any{
		{"type": "bridge", "bridge": "a&b", "ipam": map[string]any{"type": "static"}, "capabilities": map[string]any{"ips": true}},
		{"type": "tuning", "mtu": 1400.0},
		{"type": "bandwidth", "ingressRate": 1000.0},
	}))
	g.Expect(conf.Plugins).To(HaveLen(4), "and the sysctls of edges")
	g.Expect(a.EdgeNADConfig).NotTo(Or(ContainSubstring(`\`), ContainSubstring("kernel")))
}

// TestEdgesLeaveTheUntaggedNetwork: with a VLAN, the port of an edge is not on the bridge's untagged network too, whatever
// the version of the plugin and the NAD of the VMs say. Else the edge receives broadcasts of that network.
func TestEdgesLeaveTheUntaggedNetwork(t *testing.T) {
	for config, want := range map[string]bool{
		`{"type":"bridge","bridge":"br1","vlan":100}`:                                       true,
		`{"type":"cnv-bridge","bridge":"br1","VLAN":100,"preserveDefaultVlan":true}`:        true,
		`{"plugins":[{"type":"bridge","bridge":"br1","vlan":1,"preserveDefaultVlan":"x"}]}`: true,
		`{"type":"bridge","bridge":"br1"}`:                                                  false,
		`{"type":"bridge","bridge":"br1","vlan":0,"vlanTrunk":[{"id":7}]}`:                  false,
		`{"type":"sriov","vlan":100}`:                                                       false,
		`{"plugins":[{"type":"macvlan","master":"eth1.100"},{"type":"tuning","mtu":1400}]}`: false,
	} {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "x/y"}, nad.Nodes{})
		NewWithT(t).Expect(fault).To(BeNil(), config)
		NewWithT(t).Expect(strings.Contains(a.EdgeNADConfig, `"preserveDefaultVlan":false`)).To(Equal(want), config)
		NewWithT(t).Expect(a.EdgeNADConfig).NotTo(ContainSubstring(`"preserveDefaultVlan":true`), config)
	}
}

// TestUntaggedNetworkOfBridges: a Linux bridge puts untagged frames on VLAN 1. Other plugins tag VLAN 1.
func TestUntaggedNetworkOfBridges(t *testing.T) {
	of := func(config string) network.Attachment {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "x/y"}, nad.Nodes{})
		NewWithT(t).Expect(fault).To(BeNil(), config)
		return a
	}
	untagged := of(`{"type":"bridge","bridge":"br1"}`)
	for config, same := range map[string]bool{
		`{"type":"bridge","bridge":"br1","vlan":1}`:     true,
		`{"type":"cnv-bridge","bridge":"br1","vlan":1}`: true,
		`{"type":"bridge","bridge":"br1","vlan":2}`:     false,
		`{"type":"bridge","bridge":"br2","vlan":1}`:     false,
	} {
		NewWithT(t).Expect(of(config).Layer2 == untagged.Layer2).To(Equal(same), config)
	}
	NewWithT(t).Expect(of(`{"type":"bridge","bridge":"br1","vlan":1}`).VLAN).To(Equal(1), "plan shows what the NAD says")
	NewWithT(t).Expect(of(`{"type":"sriov","vlan":1}`).Layer2).NotTo(Equal(of(`{"type":"sriov"}`).Layer2))
	NewWithT(t).Expect(of(ovn(`"vlanID":1`)).Layer2).NotTo(Equal(of(ovn(`"vlanID":0`)).Layer2))
}

func clientRoutes() []network.Route {
	return []network.Route{
		{Destination: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("192.168.100.1")},
		{Destination: netip.MustParsePrefix("198.51.100.7/32"), Via: netip.MustParseAddr("192.168.100.1")},
	}
}

// TestEdgesRouteToClients: the IPAM plugin sets the routes to client networks, through the interface on the network. Without client
// networks, an edge NAD does not change.
func TestEdgesRouteToClients(t *testing.T) {
	g := NewWithT(t)
	for _, config := range append(everyNAD(t), layer2) {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "x/y"}, nad.Nodes{ForwardByDefault: true})
		g.Expect(fault).To(BeNil())
		g.Expect(nad.WithRoutes(a.EdgeNADConfig, nil)).To(Equal(a.EdgeNADConfig))
		const routes = `"ipam":{"routes":[{"dst":"10.9.0.0/16","gw":"192.168.100.1"},{"dst":"198.51.100.7/32","gw":"192.168.100.1"}],"type":"static"}`
		with := nad.WithRoutes(a.EdgeNADConfig, clientRoutes())
		g.Expect(strings.Replace(with, routes, `"ipam":{"type":"static"}`, 1)).To(Equal(a.EdgeNADConfig))
		g.Expect(with).NotTo(Equal(a.EdgeNADConfig))
	}
}

// layer2 is a network of OVN-Kubernetes without a physical segment.
const layer2 = `{"cniVersion":"1.0.0","name":"tenant","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"}`

// TestOVNKnowsNoAddress: OVN answers ARP requests for a pod's addresses for as long as the object of the pod exists, on
// each node of a layer2 network. So the edges' interface is above the one that OVN knows.
func TestOVNKnowsNoAddress(t *testing.T) {
	g := NewWithT(t)
	attach := func(config string, forward bool) network.Attachment {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config}, nad.Nodes{ForwardByDefault: forward})
		g.Expect(fault).To(BeNil())
		return a
	}
	a := attach(layer2, true)
	g.Expect(a.AboveNAD).To(BeTrue())
	g.Expect(a.EdgeNADConfig).To(HavePrefix(`{"cniVersion":"1.0.0","name":"tenant","plugins":[` +
		`{"capabilities":{"ips":true},"ipam":{"type":"static"},"linkInContainer":true,"master":"link1","mode":"passthru","type":"macvlan"},{"sysctl":`))
	g.Expect(a.EdgeNADConfig).To(And(ContainSubstring(`"net.ipv4.conf.link1.forwarding":"0"`), ContainSubstring(`"net.ipv6.conf.link1.disable_ipv6":"1"`),
		ContainSubstring(`"net.ipv4.conf.IFNAME.forwarding":"0"`), ContainSubstring(`"net.ipv4.conf.all.arp_ignore":"0"`)))
	g.Expect(a.VIPNADConfig).To(ContainSubstring(`"type":"dummy"`))
	g.Expect(attach(layer2, false).EdgeNADConfig).NotTo(ContainSubstring("link1."), "OpenShift's allow-list has only sysctls of the plugin's own interface")
}

// TestLocalnetWithoutCRIO: OVN takes no chained plugin, so nothing sets sysctls on its interface. A pod that forwards
// packets would never serve. Edges have an interface above that one, which has a chain.
func TestLocalnetWithoutCRIO(t *testing.T) {
	g := NewWithT(t)
	attach := func(config string, forward bool) network.Attachment {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config}, nad.Nodes{ForwardByDefault: forward})
		g.Expect(fault).To(BeNil())
		return a
	}
	localnet := strings.Replace(layer2, "layer2", "localnet", 1)
	with, without := attach(localnet, false), attach(localnet, true)
	g.Expect(with.EdgeNADConfig + with.VIPNADConfig).To(BeEmpty())
	g.Expect(with.AboveNAD).To(BeFalse())
	above := attach(layer2, true)
	g.Expect(without.AboveNAD).To(BeTrue())
	g.Expect(without.EdgeNADConfig).To(And(Equal(above.EdgeNADConfig), ContainSubstring(`"net.ipv4.conf.IFNAME.forwarding":"0"`)))
	g.Expect(without.VIPNADConfig).To(Equal(above.VIPNADConfig))
	g.Expect(without.ConfigHash).To(Equal(with.ConfigHash), "a node with another container runtime")
}

// TestPolicyAllowsWhatEdgesTake: the admission policy of the operator allows exactly the plugins, keys and sysctls of edge NADs.
func TestPolicyAllowsWhatEdgesTake(t *testing.T) {
	g := NewWithT(t)
	types, keys, sysctls := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, config := range everyConfig(t) {
		for _, m := range regexp.MustCompile(`"([^"]+)":("[^"]*")?`).FindAllStringSubmatch(config, -1) {
			switch {
			case strings.HasPrefix(m[1], "net."):
				sysctls[m[0]] = true
				continue
			case m[1] == "type":
				types[strings.Trim(m[2], `"`)] = true
			}
			keys[m[1]] = true
		}
	}
	policies, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	var rules string
	for _, v := range policies[0].Policy.Spec.Validations {
		if !strings.Contains(v.Expression, "podNetworks") { // an annotation of pods, which has keys, too
			rules += v.Expression + "\n"
		}
	}
	quoted := func(expression string) (out []string) {
		for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(rules, -1) {
			out = append(out, m[1])
		}
		return out
	}
	g.Expect(slices.Collect(maps.Keys(types))).To(ConsistOf(strings.Split(quoted(`\^"type":"\(([^)]*)\)`)[0], "|")))
	g.Expect(slices.Collect(maps.Keys(keys))).To(ConsistOf(quoted(`'"(\w+)":'`)))
	g.Expect(slices.Collect(maps.Keys(sysctls))).To(ConsistOf(quoted(`'("net[^']+":"[^']*)'`)))
}

// everyConfig returns the edge NADs for everyNAD.
func everyConfig(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, config := range append(everyNAD(t), layer2) {
		for _, forward := range []bool{false, true} {
			a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "x/y"}, nad.Nodes{ForwardByDefault: forward})
			NewWithT(t).Expect(fault).To(BeNil(), fmt.Sprint(config, fault))
			out = append(out, a.EdgeNADConfig, a.VIPNADConfig, nad.WithRoutes(a.EdgeNADConfig, clientRoutes()))
		}
	}
	return out
}

// everyNAD returns VMs' NADs of each kind but OVN that have every key of CNI plugins.
func everyNAD(t *testing.T) []string {
	t.Helper()
	plugin := map[string]any{"mode": "bridge", "args": map[string]any{"cni": map[string]any{"mac": "x"}}, "sysctl": map[string]any{"net.core.x": "1"}}
	for _, key := range strings.Fields("bridge master vlanProto spoofchk trust link_state mac dataDir logFile deviceID pciBusID ipMasqBackend iptablesAdminChainName") {
		plugin[key] = "x"
	}
	plugin["mtu"] = 1400
	for _, key := range strings.Fields("vlan vlanQoS min_tx_rate max_tx_rate ingressRate ingressBurst egressRate egressBurst txQLen bcqueuelen") {
		plugin[key] = 7
	}
	for _, key := range strings.Fields("macspoofchk preserveDefaultVlan isGateway isDefaultGateway ipMasq forceAddress hairpinMode promiscMode promisc allmulti " +
		"enabledad disableContainerInterface portIsolation linkInContainer") {
		plugin[key] = true
	}
	of := func(kind string) map[string]any {
		p := maps.Clone(plugin)
		p["type"] = kind
		return p
	}
	var out []string
	for _, kind := range []string{"bridge", "cnv-bridge", "macvlan", "sriov"} {
		chain := []any{of(kind)}
		for _, more := range []string{"tuning", "cnv-tuning", "bandwidth", "firewall", "portmap", "sbr", "vrf"} {
			chain = append(chain, of(more))
		}
		config, err := json.Marshal(map[string]any{"cniVersion": "1.0.0", "name": "n", "disableCheck": true, "plugins": chain})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		out = append(out, string(config))
	}
	return out
}
