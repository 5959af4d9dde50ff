// This file decides what edges use of the VMs' CNI configuration: the keys that an edge needs, and their allowed
// values. The admission policy oooi-operator allows no other keys.

package nad

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

type form struct {
	// allowed describes the values in messages.
	allowed string
	matches func(any) bool
}

// aNumber is the form of an integer. CNI plugins do not accept text in its place.
func aNumber() form {
	form := numberIn(0, math.MaxUint32)
	form.allowed = "a number"
	return form
}

// aVLAN is the form of an 802.1Q ID. 0 means untagged.
func aVLAN() form { return numberIn(0, 4094) }

// anMTU is the form of an MTU in bytes. 0 means the plugin's default.
func anMTU() form {
	form := numberIn(network.MinMTU, network.MaxMTU)
	inRange := form.matches
	form.matches = func(v any) bool { return v == 0.0 || inRange(v) }
	return form
}

func numberIn(least, most float64) form {
	return form{fmt.Sprintf("a number from %.0f to %.0f", least, most), func(v any) bool {
		n, ok := v.(float64)
		return ok && n == math.Trunc(n) && n >= least && n <= most
	}}
}

func aSwitch() form {
	return form{"true or false", func(v any) bool { _, ok := v.(bool); return ok }}
}

// aText is the form of text that needs no escapes in JSON, so that the admission policy reads the same value as the plugin.
func aText() form {
	return pattern("printable ASCII without quotes and backslashes", `^[ !#-\[\]-~]*$`)
}

// aBridge is the form of a name that Linux accepts for a new device (net/core/dev.c, dev_valid_name). If a node lacks
// the bridge, the bridge plugin creates it.
func aBridge() form {
	return exceptDots(pattern("at most 15 printable characters without spaces, colons, slashes, quotes and backslashes", `^[!#-.0-9;-\[\]-~]{0,15}$`))
}

// exceptDots returns f without "." and "..", which are not valid names of devices.
func exceptDots(f form) form {
	matches := f.matches
	f.matches = func(v any) bool { return v != "." && v != ".." && matches(v) }
	return f
}

// aDevice is the form of the name of a device, which may also be an alternative name of up to 127 characters.
func aDevice() form {
	return exceptDots(pattern("at most 127 printable characters without spaces, colons, slashes, quotes and backslashes", `^[!#-.0-9;-\[\]-~]{0,127}$`))
}

func pattern(allowed, expression string) form {
	re := regexp.MustCompile(expression)
	return form{allowed, func(v any) bool { s, ok := v.(string); return ok && re.MatchString(s) }}
}

// forms returns the keys that edges need of a plugin of type kind, with their allowed values. It leaves out other keys.
// Some are for files that a plugin writes, for a gateway on the node, or for another device than the kubelet allocates.
func forms(kind string) map[string]form {
	switch kind {
	case typeBridge, typeCNVBridge:
		return map[string]form{"bridge": aBridge(), "vlan": aVLAN(), "mtu": anMTU(), "macspoofchk": aSwitch()}
	case typeMacvlan:
		return map[string]form{"master": aDevice(), "mode": aText(), "mtu": anMTU()}
	case typeSRIOV:
		return map[string]form{
			"vlan": aVLAN(), "vlanQoS": aNumber(), "vlanProto": aText(), "spoofchk": aText(), "trust": aText(), "link_state": aText(),
			"min_tx_rate": aNumber(), "max_tx_rate": aNumber(),
		}
	case typeTuning, typeCNVTuning:
		return map[string]form{"mtu": anMTU()}
	case typeBandwidth:
		return map[string]form{"ingressRate": aNumber(), "ingressBurst": aNumber(), "egressRate": aNumber(), "egressBurst": aNumber()}
	}
	return nil
}

// ovnForms returns the keys that decide which network of OVN-Kubernetes pods join.
func ovnForms() map[string]form {
	return map[string]form{"vlanID": aVLAN(), "mtu": anMTU(), "subnets": aText(), "physicalNetworkName": aText(), "netAttachDefName": aText()}
}

// headForms returns the keys of a CNI configuration besides its plugins. The name has the format of the CNI
// specification, or is empty.
func headForms() map[string]form {
	return map[string]form{
		"cniVersion": pattern("a version", "^[0-9.]*$"),
		"name":       pattern("letters, digits, dots, dashes and underscores", "^([a-zA-Z0-9][a-zA-Z0-9_.-]*)?$"),
	}
}

// needed returns plugin with only the keys that an edge needs. It leaves out keys whose value is an empty string. An edge
// with a VLAN leaves the untagged network of the bridge. By default, versions 1.3 to 1.7 of the bridge plugin keep it
// there, so that it receives broadcasts of that network. Earlier versions ignore preserveDefaultVlan.
func needed(plugin map[string]any) map[string]any {
	kind := text(plugin["type"])
	out := map[string]any{"type": kind}
	if isBridge(kind) && vlan(plugin) != 0 {
		out["preserveDefaultVlan"] = false
	}
	for key := range forms(kind) {
		if v := valueOf(plugin, key); v != nil && v != "" {
			out[key] = v
		}
	}
	return out
}

// valueOf returns the value of a key, or nil. As in CNI plugins, upper and lower case count as the same.
func valueOf(plugin map[string]any, key string) any {
	if v, ok := plugin[key]; ok {
		return v
	}
	name, found := "", false
	for k := range plugin { // Not sorted first: a plugin may have thousands of keys.
		if strings.EqualFold(k, key) && (!found || k < name) {
			name, found = k, true
		}
	}
	if !found {
		return nil
	}
	return plugin[name]
}

// unusable returns a problem if a value that edges need has another form than forms allows, else nil.
func unusable(o Object, conf map[string]any, plugins []map[string]any) *problem.Problem {
	if p := malformed(o, conf, headForms()); p != nil {
		return p
	}
	for i, plugin := range plugins {
		if kind := text(plugin["type"]); i == 0 || chained(kind) {
			if p := malformed(o, plugin, forms(kind)); p != nil {
				return p
			}
		}
	}
	return nil
}

// misspelled returns a problem if plugin has a misspelled key for its VLAN, or one that OVN-Kubernetes reads only with
// another topology (newLayer2NetConfInfo in go-controller/pkg/util/multi_network.go). Then the network would have no VLAN.
// Otherwise it returns nil.
func misspelled(o Object, plugin map[string]any) *problem.Problem {
	kind := text(plugin["type"])
	if kind == typeOVN && text(valueOf(plugin, "topology")) == topologyLayer2 {
		for _, key := range []string{"vlanID", "physicalNetworkName"} {
			if v := valueOf(plugin, key); v != nil && v != 0.0 && v != "" {
				return o.problem(problem.OVNLayer2IgnoresVLAN, problem.Args{"setting": {key}})
			}
		}
	}
	right := map[string]string{typeBridge: "vlan", typeCNVBridge: "vlan", typeSRIOV: "vlan", typeOVN: "vlanID"}[kind]
	wrong := vlanKey(plugin, right)
	if right == "" || wrong == "" || valueOf(plugin, right) != nil {
		return nil
	}
	return o.problem(problem.NADVLANMisspelled, problem.Args{"setting": {wrong}, "type": {kind}, "values": {right}})
}

// vlanKey returns the first key of plugin other than right that looks like the key of a VLAN, or "".
func vlanKey(plugin map[string]any, right string) string {
	for _, key := range slices.Sorted(maps.Keys(plugin)) {
		if strings.EqualFold(key, right) || !slices.Contains([]string{"vlan", "vlanid", "vlan_id", "vlantag", "tag"}, strings.ToLower(key)) {
			continue
		}
		if plugin[key] != 0.0 && aVLAN().matches(plugin[key]) || isVLANText(text(plugin[key])) {
			return key
		}
	}
	return ""
}

func isVLANText(v string) bool {
	id, err := strconv.Atoi(v)
	return err == nil && id > 0 && id <= 4094
}

// malformed returns a problem if one of values has another form than allowed, else nil.
func malformed(o Object, values map[string]any, allowed map[string]form) *problem.Problem {
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if v := valueOf(values, key); v != nil && !allowed[key].matches(v) {
			return o.wrong(key, v, allowed[key].allowed)
		}
	}
	return nil
}

// wrong returns the problem that key has value v in o. allowed describes the values that it may have.
func (o Object) wrong(key string, v any, allowed string) *problem.Problem {
	return o.problem(problem.NADValueUnsupported, problem.Args{"setting": {key}, "value": {encoded(v)}, "values": {allowed}})
}
