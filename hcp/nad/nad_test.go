package nad_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/cost"
)

// TestManyKeysCostLittle: to read a configuration with thousands of keys costs little more than to parse it.
func TestManyKeysCostLittle(t *testing.T) {
	conf := map[string]any{"type": "bridge", "bridge": "br1"}
	for i := range 8_000 {
		conf[fmt.Sprint("x", i)] = 1
	}
	b, err := json.Marshal(conf)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	parses := func() { NewWithT(t).Expect(json.Unmarshal(b, &map[string]any{})).To(Succeed()) }
	o := nad.Object{Namespace: "clusters", Name: "vlan100", Config: string(b)}
	for name, reads := range map[string]func(){
		"Attach":   func() { _, _ = nad.Attach(o, nad.Nodes{}) },
		"RulesOut": func() { _ = nad.RulesOut(o, nad.Nodes{}) },
		"CutsOff":  func() { _ = nad.CutsOff(o, nad.Nodes{}) },
		"Limits":   func() { _ = nad.Limits(o) },
	} {
		ratio := cost.Ratio(parses, reads)
		t.Logf("%s costs %.1f times as much", name, ratio)
		NewWithT(t).Expect(ratio).To(BeNumerically("<", 4), name)
	}
}

// TestAttachReadsNetwork checks the MTU, the VLAN and the layer-2 network.
func TestAttachReadsNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		config, layer2 string
		vlan, mtu      int
	}{
		"bridge":                       {config: `{"type":"bridge","bridge":"br1","vlan":7,"mtu":9000}`, layer2: "bridge br1 vlan 7", vlan: 7, mtu: 9000},
		"cnv-bridge is a bridge":       {config: `{"type":"cnv-bridge","bridge":"br1","vlan":7}`, layer2: "bridge br1 vlan 7", vlan: 7},
		"untagged":                     {config: `{"type":"bridge","bridge":"br-vlan7"}`, layer2: "bridge br-vlan7 vlan 0"},
		"bridge set by the node":       {config: `{"type":"bridge"}`},
		"macvlan":                      {config: `{"type":"macvlan","master":"bond0.9"}`, layer2: "macvlan bond0.9 vlan 9", vlan: 9},
		"list, MTU set by tuning":      {config: `{"name":"n","plugins":[{"type":"bridge","bridge":"br1","vlan":7,"mtu":9000},{"type":"tuning","mtu":1400}]}`, layer2: "bridge br1 vlan 7", vlan: 7, mtu: 1400},
		"localnet":                     {config: `{"name":"tenant","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100","vlanID":10,"mtu":1500}`, layer2: "localnet tenant vlan 10", vlan: 10, mtu: 1500},
		"localnet of another physical": {config: `{"name":"tenant","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100","vlanID":10,"physicalNetworkName":"physnet"}`, layer2: "localnet physnet vlan 10", vlan: 10},
		"layer2":                       {config: `{"name":"tenant","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"}`, layer2: "layer2 tenant vlan 0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: c.config}, nad.Nodes{})
			g.Expect(fault).To(BeNil())
			g.Expect(a.String()).To(Equal("clusters/vlan100"))
			g.Expect(a.Layer2).To(Equal(c.layer2))
			g.Expect(a.VLAN).To(Equal(c.vlan))
			g.Expect(a.MTU).To(Equal(c.mtu))
		})
	}
}

// TestVIPsAreNotAnnounced: the plugins macvlan and sriov announce the addresses of their interface, so the VIPs are on another interface.
// Neither interface forwards packets.
func TestVIPsAreNotAnnounced(t *testing.T) {
	g := NewWithT(t)
	attach := func(config string, forward bool) network.Attachment {
		a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan9", ResourceName: "intel.com/vf", Config: config}, nad.Nodes{ForwardByDefault: forward})
		g.Expect(fault).To(BeNil())
		return a
	}
	const macvlan = `{"cniVersion":"1.0.0","name":"vlan9","type":"macvlan","master":"bond0.9"}`
	a := attach(macvlan, true)
	g.Expect(a.EdgeNADConfig).To(And(ContainSubstring(`"type":"macvlan"`), ContainSubstring(`"net.ipv4.conf.all.arp_announce":"0"`), ContainSubstring(`"net.ipv4.conf.all.arp_ignore":"0"`)))
	g.Expect(a.VIPNADConfig).To(MatchJSON(`{"cniVersion":"1.0.0","name":"vlan9-vips","plugins":[
		{"type":"dummy","ipam":{"type":"static"},"capabilities":{"ips":true}},
		{"type":"tuning","sysctl":{"net.ipv4.conf.IFNAME.forwarding":"0"}}]}`))
	g.Expect(attach(macvlan, false).VIPNADConfig).NotTo(ContainSubstring("tuning"))
	g.Expect(attach(macvlan, false).EdgeNADConfig).NotTo(ContainSubstring("arp_"))
	g.Expect(attach(`{"type":"sriov","vlan":9}`, false).VIPNADConfig).To(ContainSubstring(`"type":"dummy"`))
	bridge := attach(`{"type":"bridge","bridge":"br1"}`, true)
	g.Expect(bridge.VIPNADConfig).To(BeEmpty())
	g.Expect(bridge.EdgeNADConfig).To(And(ContainSubstring("arp_announce"), Not(ContainSubstring("arp_ignore"))))
}

// TestSysctlsThatOpenShiftAllows: its allow-list for the tuning plugin rejects any other, and
// then no edge starts.
func TestSysctlsThatOpenShiftAllows(t *testing.T) {
	g := NewWithT(t)
	allowed := regexp.MustCompile(`^net\.(ipv4\.conf\.IFNAME\.(accept_redirects|accept_source_route|arp_accept|arp_notify|disable_policy|secure_redirects|send_redirects)|` +
		`ipv6\.conf\.IFNAME\.(accept_ra|accept_redirects|accept_source_route|arp_accept|arp_notify))$`)
	all := written(t, nad.Nodes{}, `{"type":"bridge","bridge":"br1"}`)
	g.Expect(all).To(HaveKeyWithValue("net.ipv6.conf.IFNAME.accept_ra", "0"))
	for key := range all {
		g.Expect(key).To(MatchRegexp(allowed.String()))
	}
	a, fault := nad.Attach(nad.Object{Config: `{"type":"macvlan","master":"eth1"}`}, nad.Nodes{})
	g.Expect(fault).To(BeNil())
	g.Expect(a.VIPNADConfig).NotTo(ContainSubstring("tuning"))
}

// TestVIPsWithoutAName: Multus names a network that has no name, and CNI plugins refuse "-vips".
func TestVIPsWithoutAName(t *testing.T) {
	a, fault := nad.Attach(nad.Object{Config: `{"type":"macvlan","master":"eth1"}`}, nad.Nodes{})
	NewWithT(t).Expect(fault).To(BeNil())
	NewWithT(t).Expect(a.VIPNADConfig).To(ContainSubstring(`"name":""`))
}

// ovn returns the configuration of a localnet with one more key.
func ovn(more string) string {
	return `{"name":"tenant","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100",` + more + `}`
}

// TestPortIsolationIsNotTaken: two ports with portIsolation cannot reach each other, so the port of an edge has none. An edge NAD does not
// copy an empty value either.
func TestPortIsolationIsNotTaken(t *testing.T) {
	g := NewWithT(t)
	for _, config := range []string{`{"type":"bridge","bridge":"br1","portIsolation":true}`, `{"type":"macvlan","master":"eth1","mode":""}`} {
		a, fault := nad.Attach(nad.Object{Config: config}, nad.Nodes{})
		g.Expect(fault).To(BeNil())
		g.Expect(a.EdgeNADConfig).NotTo(Or(ContainSubstring("solation"), ContainSubstring("mode")))
	}
}

// TestAttachRefuses checks that each unsupported NetworkAttachmentDefinition has a
// message that says how to fix it.
func TestAttachRefuses(t *testing.T) {
	cudn := nad.Owner{Kind: "ClusterUserDefinedNetwork", Name: "vlan100"}
	for name, c := range map[string]struct {
		config string
		owner  nad.Owner
		want   string
		// resource is the value of the NAD's annotation of that name.
		resource string
	}{
		"subnets":                {config: `{"type":"ovn-k8s-cni-overlay","topology":"localnet","subnets":"10.0.0.0/24"}`, want: "Remove subnets"},
		"a layer3 network":       {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer3","subnets":"10.0.0.0/16/24"}`, want: `has topology "layer3"`},
		"a layer3 primary UDN":   {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer3","role":"primary"}`, owner: cudn, want: `has topology "layer3"`},
		"subnets of a CUDN":      {config: `{"type":"ovn-k8s-cni-overlay","topology":"localnet","subnets":"10.0.0.0/24"}`, owner: cudn, want: "Replace ClusterUserDefinedNetwork vlan100 with one without subnets (ipam.mode: Disabled)"},
		"a primary UDN":          {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer2","role":"primary"}`, owner: cudn, want: "role secondary"},
		"IPAM":                   {config: `{"type":"bridge","bridge":"br1","ipam":{"type":"host-local"}}`, want: `additionalNetworks. Otherwise, set "ipam": {}`},
		"IPAM in a list":         {config: `{"plugins":[{"type":"macvlan","master":"eth1"},{"type":"x","ipam":{"type":"dhcp"}}]}`, want: "ipam dhcp"},
		"IPAM of unknown form":   {config: `{"type":"bridge","bridge":"br1","ipam":"static"}`, want: "ipam static"},
		"SR-IOV, no resource":    {config: `{"type":"sriov"}`, want: "has no annotation " + wire.AnnotationResourceName},
		"a link for one pod":     {config: `{"type":"macvlan","master":"eth1","Mode":"passthru"}`, want: `has the macvlan mode passthru. VMs and edges on one node cannot reach each other. Set "mode": "bridge"`},
		"pods apart":             {config: `{"type":"macvlan","master":"eth1","mode":"private"}`, want: "the macvlan mode private"},
		"pods by the switch":     {config: `{"type":"macvlan","master":"eth1","mode":"vepa"}`, want: "the macvlan mode vepa"},
		"a VLAN as text":         {config: `{"type":"bridge","bridge":"br1","vlan":"100"}`, want: `"vlan": "100", which edges cannot use. Change it in spec.config. Allowed: a number from 0 to 4094`},
		"a VLAN too large":       {config: `{"type":"bridge","bridge":"br1","vlan":4095}`, want: `"vlan": 4095`},
		"a VLAN below 0":         {config: `{"type":"sriov","vlan":-1}`, resource: "x/y", want: `"vlan": -1`},
		"half a VLAN":            {config: `{"type":"cnv-bridge","bridge":"br1","vlan":1.5}`, want: `"vlan": 1.5`},
		"an MTU too small":       {config: `{"type":"bridge","bridge":"br1","mtu":575}`, want: `"mtu": 575, which edges cannot use. Change it in spec.config. Allowed: a number from 576 to 65535`},
		"an MTU too large":       {config: `{"type":"macvlan","master":"eth1","mtu":65536}`, want: `"mtu": 65536`},
		"an MTU by tuning":       {config: `{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"tuning","mtu":-1}]}`, want: `"mtu": -1`},
		"OVN: a VLAN as text":    {config: ovn(`"vlanID":"10"`), want: `"vlanID": "10"`},
		"OVN: a large VLAN":      {config: ovn(`"vlanID":5000`), want: `"vlanID": 5000`},
		"OVN: a large MTU":       {config: ovn(`"mtu":100000`), want: `"mtu": 100000`},
		"OVN: a list of subnets": {config: ovn(`"subnets":["10.0.0.0/24"]`), want: `"subnets": ["10.0.0.0/24"]`},
		"OVN: other case":        {config: ovn(`"Subnets":"10.0.0.0/24"`), want: "Remove subnets"},
		"OVN: IPAM":              {config: ovn(`"ipam":{"type":"whereabouts"}`), want: "ipam whereabouts"},
		"OVN: a chain":           {config: `{"name":"n","plugins":[{"type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"},{"type":"tuning"}]}`, want: `"plugins": 2 entries`},
		"OVN: of another NAD":    {config: `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"default/vlan100"}`, want: `"netAttachDefName": "default/vlan100", which edges cannot use. Change it in spec.config. Allowed: clusters/vlan100.`},
		"OVN: excluded subnets":  {config: `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"localnet","netAttachDefName":"clusters/vlan100","excludeSubnets":"192.168.100.0/29"}`, want: `"excludeSubnets": "192.168.100.0/29"`},
		"OVN: of no NAD":         {config: `{"name":"n","type":"ovn-k8s-cni-overlay","topology":"layer2"}`, want: `"netAttachDefName": null`},
		"OVN: no name":           {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer2","netAttachDefName":"clusters/vlan100"}`, want: `"name": null`},
		"a name with a quote":    {config: `{"name":"a\"b","type":"bridge","bridge":"br1"}`, want: `"name": "a\"b"`},
		"a text with an escape":  {config: `{"type":"bridge","bridge":"a\\b"}`, want: `"bridge": "a\\b"`},
		"a text beyond ASCII":    {config: `{"type":"bridge","bridge":"brücke"}`, want: `"bridge": "brücke"`},
		"a number as text":       {config: `{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"tuning","mtu":"1400"}]}`, want: `"mtu": "1400"`},
		"a version of objects":   {config: `{"cniVersion":"1.0}","type":"bridge","bridge":"br1"}`, want: `"cniVersion": "1.0}"`},
		"unreadable":             {config: `{"type":`, want: "not a CNI configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "vlan100", Config: c.config, UserDefined: c.owner, ResourceName: c.resource}, nad.Nodes{})
			g.Expect(a).To(BeZero())
			g.Expect(fault).NotTo(BeNil())
			g.Expect(fault.Reason).To(Equal(problem.NetworkUnsupported))
			g.Expect(fault.Blocks()).To(BeTrue())
			g.Expect(message(*fault)).To(And(ContainSubstring("clusters/vlan100"), ContainSubstring(c.want)))
		})
	}
}

// TestWhatCutsVMsOff: KubeVirt connects VMs of HyperShift through a bridge, whose MACs the interface below must let pass.
func TestWhatCutsVMsOff(t *testing.T) {
	for config, want := range map[string]problem.Cause{
		`{"type":"bridge","bridge":"br1"}`:                                                              "",
		`{"type":"cnv-bridge","bridge":"br1"}`:                                                          "",
		`{"type":"macvlan","master":"eth1"}`:                                                            problem.NADIsMacvlan,
		`{"plugins":[{"type":"macvlan","master":"eth1"}]}`:                                              problem.NADIsMacvlan,
		`{"type":"sriov"}`:                                                                              problem.NADChecksMACs,
		`{"type":"sriov","spoofchk":"off"}`:                                                             problem.NADChecksMACs,
		`{"type":"sriov","trust":"on"}`:                                                                 problem.NADChecksMACs,
		`{"type":"sriov","spoofchk":"off","trust":"on"}`:                                                "",
		`{"type":"bridge","bridge":"br1","vlan":100,"vlanTrunk":[{"minID":2,"maxID":4094}]}`:            problem.NADTrunkHasVLAN,
		`{"type":"cnv-bridge","bridge":"br1","vlan":100,"VlanTrunk":[{"id":7},{"ID":100}]}`:             problem.NADTrunkHasVLAN,
		`{"type":"bridge","bridge":"br1","vlan":100,"vlanTrunk":[{"minID":101,"maxID":4094},{"id":7}]}`: "",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":2,"maxID":4094}]}`:                       "",
		`{`: "",
	} {
		t.Run(config, func(t *testing.T) {
			var got problem.Cause
			if p := nad.CutsOff(nad.Object{Config: config}, nad.Nodes{Resources: map[string]bool{"example.com/vf": true}}); p != nil {
				got = p.Cause
			}
			NewWithT(t).Expect(got).To(Equal(want))
		})
	}
}

// TestBridgeOfNoNode: if the bridge marker shows bridges of nodes, and none has this name, the plugin creates a bridge without an uplink.
func TestBridgeOfNoNode(t *testing.T) {
	nodes := nad.Nodes{Resources: map[string]bool{"bridge.network.kubevirt.io/br1": true}}
	for config, want := range map[string]bool{
		`{"type":"bridge","bridge":"br1"}`:                              false,
		`{"type":"bridge","bridge":"br2"}`:                              true,
		`{"type":"cnv-bridge","bridge":"br2"}`:                          true,
		`{"type":"bridge"}`:                                             false,
		`{"type":"sriov","bridge":"br2","spoofchk":"off","trust":"on"}`: false,
	} {
		p := nad.CutsOff(nad.Object{Config: config}, nodes)
		NewWithT(t).Expect(p != nil && p.Cause == problem.NADBridgeOnNoNode).To(Equal(want), config)
	}
}

// TestBridgeOfAnotherResource: KubeVirt and edges request the resource of the NAD, so they run on nodes with that bridge.
func TestBridgeOfAnotherResource(t *testing.T) {
	nodes := nad.Nodes{Resources: map[string]bool{"bridge.network.kubevirt.io/br0": true, "bridge.network.kubevirt.io/br1": true, "x/br0": true}}
	for resource, want := range map[string]bool{"bridge.network.kubevirt.io/br0": true, "bridge.network.kubevirt.io/br1": false, "x/br0": false, "": false} {
		for _, n := range []nad.Nodes{nodes, {}} {
			p := nad.CutsOff(nad.Object{Config: `{"type":"bridge","bridge":"br1"}`, ResourceName: resource}, n)
			NewWithT(t).Expect(p != nil && p.Cause == problem.NADOfOtherBridge && p.Severity == problem.SeverityWarning).To(Equal(want), resource)
		}
	}
}

// TestPluginsRefuse: a plugin fails with a configuration of VMs, while edges would start without the keys at fault.
func TestPluginsRefuse(t *testing.T) {
	for config, want := range map[string]string{
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":300,"maxID":200}]}`:                             "maxID must not be smaller",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":300}]}`:                                         "minID and maxID together",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"maxID":300}]}`:                                         "minID and maxID together",
		`{"type":"cnv-bridge","bridge":"br1","vlanTrunk":[{"id":4095}]}`:                                       "vlanTrunk has 4095, and must have numbers from 1 to 4094",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":0,"maxID":9}]}`:                                 "vlanTrunk has 0",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"id":"7"}]}`:                                            `vlanTrunk has "7"`,
		`{"type":"bridge","bridge":"br1","vlanTrunk":[7]}`:                                                     "not an object",
		`{"type":"bridge","bridge":"br1","vlanTrunk":{"id":7}}`:                                                "not a list",
		`{"type":"bridge","bridge":"br1","vlanTrunk":[{"minID":2,"maxID":9},{"id":7},{"ID":null},{}]}`:         "",
		`{"type":"bridge","bridge":"br1","vlanTrunk":null}`:                                                    "",
		`{"type":"bridge","bridge":"br1","hairpinMode":true,"promiscMode":true}`:                               "hairpinMode and promiscMode are both true",
		`{"type":"bridge","bridge":"br1","hairpinMode":true,"promiscMode":false}`:                              "",
		`{"type":"bridge","bridge":"br1","hairpinMode":"true"}`:                                                `hairpinMode is "true", and must be true or false`,
		`{"type":"cnv-bridge","bridge":"br1","preserveDefaultVlan":0}`:                                         "preserveDefaultVlan is 0",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"cnv-tuning","promisc":1}]}`:                     "promisc is 1",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"bandwidth","ingressRate":1000000}]}`:            "ingressRate and ingressBurst",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"bandwidth","egressBurst":8}]}`:                  "egressRate and egressBurst",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"bandwidth","egressRate":8,"egressBurst":8}]}`:   "",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"bandwidth"}]}`:                                  "",
		`{"plugins":[{"type":"sriov"},{"type":"bandwidth","egressRate":8,"egressBurst":8}]}`:                   "of type sriov",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"sbr"}]}`:                                        "needs an address",
		`{"plugins":[{"type":"bridge","bridge":"br1"},{"type":"vrf"},{"type":"portmap"},{"type":"firewall"}]}`: "",
		`{"type":"sriov","vlanQoS":3}`:                                                                         "vlanQoS and vlanProto need a vlan",
		`{"type":"sriov","vlan":0,"vlanProto":"802.1ad"}`:                                                      "vlanQoS and vlanProto need a vlan",
		`{"type":"sriov","vlan":7,"vlanQoS":8}`:                                                                "vlanQoS is above 7",
		`{"type":"sriov","vlan":7,"vlanProto":"802.1x"}`:                                                       "vlanProto must be",
		`{"type":"sriov","vlan":7,"vlanProto":"802.1Q","vlanQoS":7}`:                                           "",
		`{"type":"sriov","link_state":"up"}`:                                                                   "link_state must be",
		`{"type":"sriov","vlan":0,"vlanProto":"802.1q","vlanQoS":0}`:                                           "",
		ovn(`"joinSubnet":"100.65.0.0/16"`):                                                                    "topology localnet has no joinSubnet",
		ovn(`"role":"infrastructure"`):                                                                         "role must be secondary",
		ovn(`"role":"secondary"`):                                                                              "",
	} {
		config = strings.Replace(config, "{", `{"cniVersion":"1.0.0",`, 1)
		p := nad.RulesOut(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config, ResourceName: "x/y"}, nad.Nodes{})
		if want == "" {
			NewWithT(t).Expect(p).To(BeNil(), config)
			continue
		}
		NewWithT(t).Expect(p).NotTo(BeNil(), config)
		NewWithT(t).Expect(*p).To(And(HaveField("Cause", problem.NADRefusedByPlugin), WithTransform(problem.Problem.StopsVMs, BeTrue()), WithTransform(message, ContainSubstring(want))), config)
	}
}

// TestUnknownPlugins: nodes may have a plugin that oooi does not know.
func TestUnknownPlugins(t *testing.T) {
	config := `{"cniVersion":"1.0.0","plugins":[{"type":"bridge","bridge":"br1"},{"type":"tunning"}]}`
	ps := nad.Limits(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config})
	NewWithT(t).Expect(ps).To(ContainElement(And(HaveField("Cause", problem.NADPluginUnknown), HaveField("Severity", problem.SeverityWarning), WithTransform(message, ContainSubstring(`plugin "tunning"`)))))
	NewWithT(t).Expect(nad.Limits(nad.Object{Config: strings.Replace(config, "tunning", "tuning", 1)})).NotTo(ContainElement(HaveField("Cause", problem.NADPluginUnknown)))
}

// TestEarlyAnnouncement: the interface of a migration's target is up, and its kernel sends with the VM's MAC, unless the bridge plugin leaves it down.
func TestEarlyAnnouncement(t *testing.T) {
	for config, early := range map[string]bool{
		`{"type":"bridge","bridge":"br1"}`:                                                true,
		`{"plugins":[{"type":"cnv-bridge","bridge":"br1"},{"type":"tuning"}]}`:            true,
		`{"type":"bridge","bridge":"br1","disableContainerInterface":false}`:              true,
		`{"type":"bridge","bridge":"br1","disableContainerInterface":"true"}`:             true,
		`{"type":"cnv-bridge","bridge":"br1","disableContainerInterface":true}`:           false,
		`{"plugins":[{"type":"bridge","bridge":"br1","DisableContainerInterface":true}]}`: false,
		`{"type":"sriov"}`:                   false,
		`{"type":"macvlan","master":"eth1"}`: false,
		ovn(`"vlanID":7`):                    false,
	} {
		t.Run(config, func(t *testing.T) {
			want := BeEmpty()
			if early {
				want = ConsistOf(And(HaveField("Cause", problem.NADAnnouncesEarly), HaveField("Severity", problem.SeverityInfo)))
			}
			NewWithT(t).Expect(nad.Limits(nad.Object{Namespace: "clusters", Name: "vlan100", Config: config})).To(want)
		})
	}
	for _, config := range []string{`{"type":"bridge","disableContainerInterface":true}`, `{"type":"cnv-bridge","bridge":"","vlan":7,"disableContainerInterface":true}`} {
		NewWithT(t).Expect(*nad.CutsOff(nad.Object{Config: config}, nad.Nodes{})).To(And(HaveField("Cause", problem.NADBridgeNotNamed), HaveField("Severity", problem.SeverityWarning)))
	}
	for further, want := range map[string]bool{`"vlanTrunk":[{"id":100}]`: true, `"vlanTrunk":[{"id":100}],"vlan":0`: true, `"vlanTrunk":[{"id":100}],"vlan":100`: false, `"vlanTrunk":[]`: false} {
		ps := nad.Limits(nad.Object{Config: `{"type":"bridge","bridge":"br1","disableContainerInterface":true,` + further + `}`})
		NewWithT(t).Expect(len(ps) == 1 && ps[0].Cause == problem.NADTrunkWithoutVLAN).To(Equal(want), further)
	}
	for further, want := range map[string]bool{`"vlan":100,"preserveDefaultVlan":true`: true, `"vlan":100,"preserveDefaultVlan":false`: false, `"vlan":100`: false,
		`"vlan":1,"preserveDefaultVlan":true`: false, `"preserveDefaultVlan":true`: false} {
		ps := nad.Limits(nad.Object{Config: `{"type":"cnv-bridge","bridge":"br1","disableContainerInterface":true,` + further + `}`})
		NewWithT(t).Expect(len(ps) == 1 && ps[0].Cause == problem.NADKeepsUntagged && ps[0].Severity == problem.SeverityWarning).To(Equal(want), further)
	}
	both := nad.Limits(nad.Object{Config: `{"type":"bridge","bridge":"br1","portIsolation":true}`})
	NewWithT(t).Expect(both).To(ConsistOf(HaveField("Cause", problem.NADPortsIsolated), HaveField("Cause", problem.NADAnnouncesEarly)))
}

// TestWhatRulesVMsOut: a configuration that KubeVirt, Multus, a plugin or Linux refuses or ignores is a problem that names what is wrong. The rules are those
// of bridge.go and macvlan.go of containernetworking/plugins, dev_valid_name of Linux, and the bridge marker.
func TestWhatRulesVMsOut(t *testing.T) {
	offers := nad.Nodes{Resources: map[string]bool{"bridge.network.kubevirt.io/br-ex": true}}
	for name, c := range map[string]struct {
		config, resource string
		nodes            nad.Nodes
		want             problem.Cause
	}{
		"15 characters":                   {config: `{"type":"bridge","bridge":"br-123456789012"}`},
		"16 characters":                   {config: `{"type":"bridge","bridge":"br-1234567890123"}`, want: problem.NADValueUnsupported},
		"a dot as its name":               {config: `{"type":"bridge","bridge":"."}`, want: problem.NADValueUnsupported},
		"two dots as its master":          {config: `{"type":"macvlan","master":".."}`, want: problem.NADValueUnsupported},
		"a slash":                         {config: `{"type":"cnv-bridge","bridge":"br/1"}`, want: problem.NADValueUnsupported},
		"a colon":                         {config: `{"type":"bridge","bridge":"br:1"}`, want: problem.NADValueUnsupported},
		"a space":                         {config: `{"type":"bridge","bridge":"br 1"}`, want: problem.NADValueUnsupported},
		"a VLAN device":                   {config: `{"type":"bridge","bridge":"br.100"}`},
		"an alternative name as master":   {config: `{"type":"macvlan","master":"enx00112233445566"}`},
		"a slash in a master":             {config: `{"type":"macvlan","master":"a/b"}`, want: problem.NADValueUnsupported},
		"vlanId of a bridge":              {config: `{"type":"bridge","bridge":"br1","vlanId":100}`, want: problem.NADVLANMisspelled},
		"a tag of a bridge":               {config: `{"type":"bridge","bridge":"br1","tag":100}`, want: problem.NADVLANMisspelled},
		"no VLAN by null":                 {config: `{"type":"bridge","bridge":"br1","vlan":null}`},
		"another tag":                     {config: `{"type":"bridge","bridge":"br1","tag":"prod"}`},
		"VLAN in upper case":              {config: `{"type":"bridge","bridge":"br1","VLAN":100}`},
		"vlanId of OVN-Kubernetes":        {config: `{"type":"ovn-k8s-cni-overlay","topology":"localnet","name":"n","netAttachDefName":"clusters/vlan100","vlanId":100}`},
		"vlan of OVN-Kubernetes":          {config: `{"type":"ovn-k8s-cni-overlay","topology":"localnet","name":"n","netAttachDefName":"clusters/vlan100","vlan":100}`, want: problem.NADVLANMisspelled},
		"a VLAN of layer2":                {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer2","name":"n","netAttachDefName":"clusters/vlan100","vlanID":100}`, want: problem.OVNLayer2IgnoresVLAN},
		"no VLAN of layer2":               {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer2","name":"n","netAttachDefName":"clusters/vlan100","vlanID":0,"physicalNetworkName":""}`},
		"a physical network of layer2":    {config: `{"type":"ovn-k8s-cni-overlay","topology":"layer2","name":"n","netAttachDefName":"clusters/vlan100","physicalNetworkName":"p"}`, want: problem.OVNLayer2IgnoresVLAN},
		"no spec":                         {want: problem.NADConfigMissing},
		"a bridge that no node has":       {config: `{"type":"bridge","bridge":"br-vm"}`, resource: "bridge.network.kubevirt.io/br-vm", nodes: offers, want: problem.NADResourceMissing},
		"a bridge that a node has":        {config: `{"type":"bridge","bridge":"br-ex"}`, resource: "bridge.network.kubevirt.io/br-ex", nodes: offers},
		"br-ex of OVN-Kubernetes":         {config: `{"type":"bridge","bridge":"br-ex"}`, nodes: nad.Nodes{OVN: true}, want: problem.NADBridgeOfOVS},
		"br-ex of Linux":                  {config: `{"type":"bridge","bridge":"br-ex"}`, resource: "bridge.network.kubevirt.io/br-ex", nodes: nad.Nodes{OVN: true, Resources: offers.Resources}},
		"br-ex in a plugin without it":    {config: `{"type":"sriov","bridge":"br-ex"}`, resource: "openshift.io/vf", nodes: nad.Nodes{OVN: true, Resources: map[string]bool{"openshift.io/vf": true}}},
		"a version in capital letters":    {config: `{"CNIVersion":"0.3.1","type":"bridge","bridge":"br1"}`},
		"version 0.2.0":                   {config: `{"cniVersion":"0.2.0","type":"bridge","bridge":"br1"}`, want: problem.NADVersionTooOld},
		"version 0.3.0":                   {config: `{"cniVersion":"0.3.0","type":"bridge","bridge":"br1"}`},
		"versions":                        {config: `{"cniVersions":["0.3.1","1.0.0"],"type":"bridge","bridge":"br1"}`},
		"no version":                      {config: `{"cniVersion":"","type":"ovn-k8s-cni-overlay","topology":"localnet","name":"n","netAttachDefName":"clusters/vlan100"}`, want: problem.NADVersionTooOld},
		"a bridge, and nodes are unknown": {config: `{"type":"bridge","bridge":"br-vm"}`, resource: "bridge.network.kubevirt.io/br-vm"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(strings.ToLower(c.config), "cniversion") {
				c.config = strings.Replace(c.config, "{", `{"cniVersion":"0.3.1",`, 1)
			}
			o := nad.Object{Namespace: "clusters", Name: "vlan100", Config: c.config, ResourceName: c.resource}
			_, p := nad.Attach(o, c.nodes)
			if p == nil {
				p = nad.RulesOut(o, c.nodes)
			}
			var got problem.Cause
			if p != nil {
				got = p.Cause
			}
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
}
