// This file holds the rules of CNI plugins that refuse the NetworkAttachmentDefinition of VMs. Edges would start, because
// the edge NAD leaves out the keys at fault.

package nad

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// A refusal is a rule of plugins.
type refusal struct {
	// of are the types of the plugins.
	of []string
	// why returns why they refuse p, or "". first is the first plugin of the configuration, which may be p.
	why func(p, first map[string]any) string
}

// refusals returns the rules of containernetworking/plugins 1.9.1 (loadNetConf and cmdAdd of bridge.go, parseConfig and
// getHostInterface of bandwidth/main.go, getIPCfgs of sbr/main.go), of sriov-cni 2.10.0 (LoadConf of pkg/config), and of
// OVN-Kubernetes (ValidateNetConf of go-controller/pkg/util/multi_network.go).
func refusals() []refusal {
	ofBridge, ofBandwidth, ofSRIOV, ofOVN := []string{typeBridge, typeCNVBridge}, []string{typeBandwidth}, []string{typeSRIOV}, []string{typeOVN}
	when := func(why string, refused func(p map[string]any) bool) func(p, first map[string]any) string {
		return func(p, _ map[string]any) string {
			if refused(p) {
				return why
			}
			return ""
		}
	}
	set := func(p map[string]any, key string) bool { v := valueOf(p, key); return v != nil && v != 0.0 }
	proto := func(p map[string]any) string { return strings.ToLower(text(valueOf(p, "vlanProto"))) }
	return []refusal{
		{ofBridge, func(p, _ map[string]any) string { _, why := trunk(p); return why }},
		{ofBridge, when("hairpinMode and promiscMode are both true", func(p map[string]any) bool {
			return valueOf(p, "hairpinMode") == true && valueOf(p, "promiscMode") == true
		})},
		{ofBridge, func(p, _ map[string]any) string {
			if by, assigns := ipam(p); assigns && valueOf(p, "disableContainerInterface") == true {
				return fmt.Sprintf("it has both ipam (%s) and disableContainerInterface", by)
			}
			return ""
		}},
		{ofBandwidth, when("ingressRate and ingressBurst must be set together", func(p map[string]any) bool { return set(p, "ingressRate") != set(p, "ingressBurst") })},
		{ofBandwidth, when("egressRate and egressBurst must be set together", func(p map[string]any) bool { return set(p, "egressRate") != set(p, "egressBurst") })},
		{ofBandwidth, func(p, first map[string]any) string {
			if kind := text(first["type"]); slices.Contains([]string{typeMacvlan, typeSRIOV}, kind) && (set(p, "ingressRate") || set(p, "egressRate")) {
				return "it cannot limit interfaces of type " + kind
			}
			return ""
		}},
		{[]string{"sbr"}, func(_, first map[string]any) string {
			if _, assigns := ipam(first); !assigns {
				return "it needs an address from ipam"
			}
			return ""
		}},
		{ofSRIOV, when("vlanQoS and vlanProto need a vlan", func(p map[string]any) bool {
			return !set(p, "vlan") && (set(p, "vlanQoS") || proto(p) == "802.1ad" || valueOf(p, "vlan") == nil && valueOf(p, "vlanProto") != nil)
		})},
		{ofSRIOV, when("vlanQoS is above 7", func(p map[string]any) bool { return number(valueOf(p, "vlanQoS")) > 7 })},
		{ofSRIOV, when("vlanProto must be 802.1q or 802.1ad", func(p map[string]any) bool {
			return valueOf(p, "vlanProto") != nil && !slices.Contains([]string{"802.1q", "802.1ad"}, proto(p))
		})},
		{ofSRIOV, when("link_state must be auto, enable or disable", func(p map[string]any) bool {
			return !slices.Contains([]string{"", "auto", "enable", "disable"}, text(valueOf(p, "link_state")))
		})},
		{ofOVN, when("topology localnet has no joinSubnet", func(p map[string]any) bool {
			return text(valueOf(p, "topology")) == topologyLocalnet && text(valueOf(p, "joinSubnet")) != ""
		})},
		{ofOVN, when("role must be secondary", func(p map[string]any) bool {
			return !slices.Contains([]string{"", "primary", "secondary"}, text(valueOf(p, "role")))
		})},
	}
}

// formsOfVMs returns the allowed values of further keys of a plugin of type kind, which edges do not need. The plugin fails
// with other values.
func formsOfVMs(kind string) map[string]form {
	out := map[string]form{}
	for _, key := range map[string][]string{
		typeBridge: {"isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "hairpinMode", "promiscMode", "preserveDefaultVlan", "enabledad",
			"disableContainerInterface", "portIsolation"},
		typeMacvlan: {"linkInContainer"},
		typeTuning:  {"promisc", "allmulti"},
	}[strings.TrimPrefix(kind, "cnv-")] {
		out[key] = aSwitch()
	}
	return out
}

// refused returns the problem that a plugin refuses o, or nil.
func refused(o Object, plugins []map[string]any) *problem.Problem {
	for _, p := range plugins {
		kind := text(p["type"])
		no := func(why string) *problem.Problem {
			return o.problem(problem.NADRefusedByPlugin, problem.Args{"type": {kind}, "why": {why}})
		}
		for _, rule := range refusals() {
			if !slices.Contains(rule.of, kind) {
				continue
			}
			if why := rule.why(p, plugins[0]); why != "" {
				return no(why)
			}
		}
		forms := formsOfVMs(kind)
		for _, key := range slices.Sorted(maps.Keys(forms)) {
			if v := valueOf(p, key); v != nil && !forms[key].matches(v) {
				return no(fmt.Sprintf("%s is %s, and must be %s", key, encoded(v), forms[key].allowed))
			}
		}
	}
	return nil
}

// chainedPlugins returns the types of the plugins that may follow the first one: those of containernetworking/plugins, of
// OpenShift, and of k8snetworkplumbingwg.
func chainedPlugins() []string {
	return []string{typeBandwidth, typeCNVTuning, "firewall", "portmap", "rdma", "route-override", "sbr", typeTuning, "vrf"}
}

// trunk returns whether the VLAN of plugin, a bridge, is in its vlanTrunk, and why the bridge plugin refuses that
// (collectVlanTrunk of bridge.go), or "".
func trunk(plugin map[string]any) (hasVLAN bool, why string) {
	v := valueOf(plugin, "vlanTrunk")
	all, isList := v.([]any)
	if v != nil && !isList {
		return false, "vlanTrunk is not a list"
	}
	id, native := numberIn(1, 4094), float64(vlan(plugin))
	for _, one := range all {
		item, isObject := one.(map[string]any)
		if !isObject {
			return false, "vlanTrunk has an entry that is not an object"
		}
		least, most, single := valueOf(item, "minID"), valueOf(item, "maxID"), valueOf(item, "id")
		for _, v := range []any{least, most, single} {
			if v != nil && !id.matches(v) {
				return false, fmt.Sprintf("vlanTrunk has %s, and must have numbers from 1 to 4094", encoded(v))
			}
		}
		from, _ := least.(float64)
		to, _ := most.(float64)
		if (least == nil) != (most == nil) || from > to {
			return false, "vlanTrunk needs minID and maxID together, and maxID must not be smaller"
		}
		hasVLAN = hasVLAN || native != 0 && (from <= native && native <= to || single == native)
	}
	return hasVLAN, ""
}
