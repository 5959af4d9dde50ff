// This file decides whether an edge can join the network of a NetworkAttachmentDefinition.

package nad

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network/problem"
)

// The supported CNI plugin types.
const (
	typeBridge    = "bridge"
	typeCNVBridge = "cnv-bridge" // the bridge plugin of OpenShift Virtualization
	typeMacvlan   = "macvlan"
	typeSRIOV     = "sriov"
	typeOVN       = "ovn-k8s-cni-overlay" // secondary networks of OVN-Kubernetes
)

// The supported topologies of OVN-Kubernetes' networks.
const (
	topologyLocalnet = "localnet"
	topologyLayer2   = "layer2"
)

// CNI plugins that follow the first one. The tuning plugin sets sysctls.
const (
	typeTuning    = "tuning"
	typeCNVTuning = "cnv-tuning" // the tuning plugin of OpenShift Virtualization
	typeBandwidth = "bandwidth"
)

// isBridge reports whether kind is the bridge plugin, under one of its two names.
func isBridge(kind string) bool { return kind == typeBridge || kind == typeCNVBridge }

// unsupported returns the problem that prevents edges from joining the network of o, or nil.
func unsupported(o Object, nodes Nodes, conf map[string]any, plugins []map[string]any) *problem.Problem {
	first := plugins[0]
	switch kind := text(first["type"]); kind {
	case typeOVN:
		return unsupportedOVN(o, conf, plugins)
	case typeBridge, typeCNVBridge:
	case typeMacvlan:
		if mode := text(valueOf(first, "mode")); mode != "" && mode != "bridge" {
			return o.problem(problem.MacvlanModeUnsupported, problem.Args{"mode": {mode}})
		}
	case typeSRIOV:
		if p := unsupportedSRIOV(o, nodes); p != nil {
			return p
		}
	default:
		return o.problem(problem.NADTypeUnsupported, problem.Args{"type": {kind}, "types": {SupportedKinds}})
	}
	if p := assigning(o, plugins); p != nil {
		return p
	}
	return unusable(o, conf, plugins)
}

// RulesOut returns a problem if VMs certainly get no interface on the network of o, or one of another network, else nil.
// Attach need not accept o. A VM that is already on the network refutes the problem.
func RulesOut(o Object, nodes Nodes) *problem.Problem {
	plugins, conf, err := parse(o.Config)
	if strings.Contains(o.Name, ".") {
		return o.problem(problem.NADNameHasDot, nil)
	}
	if err != nil {
		return nil
	}
	kind, bridge := text(plugins[0]["type"]), text(valueOf(plugins[0], "bridge"))
	onBridge := isBridge(kind)
	assigns := assigning(o, plugins) != nil || text(valueOf(plugins[0], "subnets")) != ""
	ofOVS := nodes.OVN && !nodes.Resources[o.ResourceName] && (bridge == "br-ex" || bridge == "br-int")
	switch {
	case assignsAlways(conf) && !assigns && (onBridge || slices.Contains([]string{typeMacvlan, typeSRIOV, typeOVN}, kind)):
		return o.problem(problem.NADVersionTooOld, nil)
	case onBridge && ofOVS:
		return o.problem(problem.NADBridgeOfOVS, problem.Args{"device": {bridge}})
	}
	return cmp.Or(misspelled(o, plugins[0]), unscheduled(o, nodes), refused(o, plugins), onVFIO(o, nodes, plugins[0]))
}

// assignsAlways reports whether conf has a version of the CNI specification in which each result has an address: 0.1.0,
// which is the default, or 0.2.0 (convertTo02x in pkg/types/040 of the CNI library).
func assignsAlways(conf map[string]any) bool {
	version := text(conf["cniVersion"])
	if conf["plugins"] == nil { // The CNI library reads only a list with exact keys.
		version = text(valueOf(conf, "cniVersion"))
	}
	return conf["cniVersions"] == nil && (version == "" || strings.HasPrefix(version, "0.1.") || strings.HasPrefix(version, "0.2."))
}

// CutsOff returns the problem that VMs receive few or no frames on the network of o, or nil. o must be one that Attach
// accepts. HyperShift asks KubeVirt for a bridge (virtualMachineInterfaces in nodepool/kubevirt/kubevirt.go). KubeVirt
// gives the interface below the bridge another MAC than that of the VM (bridgeBindingSpec in KubeVirt's
// pkg/network/setup/netpod). A macvlan receives frames for its own MAC alone (macvlan_handle_frame in Linux). Unless a
// virtual function is trusted and its spoof check is off, it drops frames from another MAC. A bridge that the bridge
// plugin creates has no uplink: it has no name in o, or no node has it by the resources of KubeVirt's bridge marker.
// OVN-Kubernetes connects a localnet to no bridge if no mapping names its physical network.
func CutsOff(o Object, nodes Nodes) *problem.Problem {
	plugins, _, err := parse(o.Config)
	if err != nil {
		return nil
	}
	first := plugins[0]
	switch text(first["type"]) {
	case typeMacvlan:
		return o.problem(problem.NADIsMacvlan, nil)
	case typeOVN:
		if name := Localnet(o); name != "" && nodes.Mapped != nil && !nodes.Mapped[name] {
			return o.problem(problem.LocalnetUnmapped, problem.Args{"device": {name}, "where": {"any node in the input"}, "values": nodes.OtherMapped(name)})
		}
	case typeSRIOV:
		if text(valueOf(first, "spoofchk")) != "off" || text(valueOf(first, "trust")) != "on" {
			return o.problem(problem.NADChecksMACs, nil)
		}
	case typeBridge, typeCNVBridge:
		bridge, marked := text(valueOf(first, "bridge")), false
		if bridge == "" { // defaultBrName in plugins/main/bridge/bridge.go
			return o.problem(problem.NADBridgeNotNamed, problem.Args{"device": {"cni0"}})
		}
		for resource := range nodes.Resources {
			marked = marked || strings.HasPrefix(resource, bridgeMarker)
		}
		if marked && !nodes.Resources[bridgeMarker+bridge] {
			return o.problem(problem.NADBridgeOnNoNode, problem.Args{"device": {bridge}, "type": {text(first["type"])}})
		}
		if other, ofMarker := strings.CutPrefix(o.ResourceName, bridgeMarker); ofMarker && other != bridge {
			return o.problem(problem.NADOfOtherBridge, problem.Args{"device": {bridge}, "other": {other}, "annotation": {wire.AnnotationResourceName},
				"resource": {bridgeMarker + bridge}})
		}
		if hasVLAN, _ := trunk(first); hasVLAN {
			return o.problem(problem.NADTrunkHasVLAN, problem.Args{"vlan": {strconv.Itoa(vlan(first))}})
		}
	}
	return nil
}

// OtherMapped returns the first mapped physical networks other than name, sorted: users choose how many there are.
func (n Nodes) OtherMapped(name string) problem.Values {
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(n.Mapped)), func(x string) bool { return x == name })
	return all[:min(len(all), maxListed)]
}

// maxListed is the maximum number of names from objects of files that a problem lists.
const maxListed = 5

// bridgeMarker comes before the name of a bridge in the resources that KubeVirt's bridge marker offers for a node.
const bridgeMarker = "bridge.network.kubevirt.io/"

// MarkedBridge returns the Linux bridge that o names, and the resource of KubeVirt's bridge marker that nodes with this
// bridge offer. Both are empty if o names none.
func MarkedBridge(o Object) (bridge, resource string) {
	plugins, _, err := parse(o.Config)
	if err != nil || !isBridge(text(plugins[0]["type"])) {
		return "", ""
	}
	if bridge = text(valueOf(plugins[0], "bridge")); bridge == "" {
		return "", ""
	}
	return bridge, bridgeMarker + bridge
}

// unscheduled returns the problem that no node offers the resource of o, or nil.
func unscheduled(o Object, nodes Nodes) *problem.Problem {
	if o.ResourceName == "" || nodes.Resources == nil || nodes.Resources[o.ResourceName] {
		return nil
	}
	return o.problem(problem.NADResourceMissing, problem.Args{"resource": {o.ResourceName}, "annotation": {wire.AnnotationResourceName}})
}

// Limits returns problems about what VMs lack on the network of o, although edges can join it. o must be one that
// Attach accepts.
func Limits(o Object) problem.Problems {
	plugins, _, err := parse(o.Config)
	if err != nil {
		return nil
	}
	var out problem.Problems
	for _, p := range plugins[1:] {
		if kind := text(p["type"]); !slices.Contains(chainedPlugins(), kind) {
			out = append(out, *o.problem(problem.NADPluginUnknown, problem.Args{"type": {kind}, "types": chainedPlugins()}))
		}
	}
	switch first := plugins[0]; text(first["type"]) {
	case typeMacvlan:
		if key := vlanKey(first, ""); key != "" {
			out = append(out, *o.problem(problem.NADWithoutVLANKey, problem.Args{"setting": {key}, "type": {typeMacvlan}}))
		}
	case typeBridge, typeCNVBridge:
		if trunk, _ := valueOf(first, "vlanTrunk").([]any); len(trunk) > 0 && vlan(first) == 0 {
			out = append(out, *o.problem(problem.NADTrunkWithoutVLAN, nil))
		}
		if v := vlan(first); v > untaggedVLAN && valueOf(first, "preserveDefaultVlan") == true {
			out = append(out, *o.problem(problem.NADKeepsUntagged, problem.Args{"vlan": {strconv.Itoa(v)}}))
		}
		if valueOf(first, "portIsolation") == true {
			out = append(out, *o.problem(problem.NADPortsIsolated, nil))
		}
		// With this key, the bridge plugin leaves the interface down, so that the kernel sends nothing
		// (containernetworking/plugins 1.4.1, cmdAdd of bridge.go). KubeVirt sets the interface up when it connects the VM.
		if valueOf(first, "disableContainerInterface") != true {
			out = append(out, *o.problem(problem.NADAnnouncesEarly, nil))
		}
	}
	return out
}

func assigning(o Object, plugins []map[string]any) *problem.Problem {
	for _, p := range plugins {
		if kind, ok := ipam(p); ok {
			return o.problem(problem.NADHasIPAM, problem.Args{"ipam": {kind}})
		}
	}
	return nil
}

// ipam returns the type of the IPAM plugin, or a value of an unknown type as text. ok is false without IPAM.
func ipam(plugin map[string]any) (kind string, ok bool) {
	switch v := valueOf(plugin, "ipam").(type) {
	case nil:
		return "", false
	case map[string]any:
		kind := text(v["type"])
		return kind, kind != ""
	default:
		return fmt.Sprint(v), true
	}
}

func unsupportedOVN(o Object, conf map[string]any, plugins []map[string]any) *problem.Problem {
	plugin := plugins[0]
	if t := text(valueOf(plugin, "topology")); t != topologyLocalnet && t != topologyLayer2 {
		return o.problem(problem.OVNTopologyUnsupported, problem.Args{"topology": {t}})
	}
	if text(valueOf(plugin, "role")) == "primary" {
		return o.problem(problem.OVNPrimaryNetwork, nil)
	}
	if s := text(valueOf(plugin, "subnets")); s != "" {
		if o.UserDefined != (Owner{}) {
			return o.problem(problem.OVNOwnerHasSubnets, problem.Args{"subnets": {s}, "owner": {o.UserDefined.Kind + " " + o.UserDefined.Name}})
		}
		return o.problem(problem.OVNHasSubnets, problem.Args{"subnets": {s}})
	}
	if p := assigning(o, plugins); p != nil {
		return p
	}
	return ignoredByOVN(o, conf, plugins)
}

// ignoredByOVN returns a problem if OVN-Kubernetes would ignore o, so that no pod starts on its network, else nil.
func ignoredByOVN(o Object, conf map[string]any, plugins []map[string]any) *problem.Problem {
	plugin := plugins[0]
	if len(plugins) > 1 {
		return o.problem(problem.NADValueUnsupported, problem.Args{"setting": {"plugins"}, "value": {strconv.Itoa(len(plugins)) + " entries"}, "values": {"one entry"}})
	}
	if p := malformed(o, plugin, ovnForms()); p != nil {
		return p
	}
	if name := valueOf(conf, "name"); name == nil || slices.Contains([]any{"", "default", "ovn-kubernetes"}, name) {
		return o.wrong("name", name, "the name of a network of its own")
	}
	if own := o.Namespace + "/" + o.Name; valueOf(plugin, "netAttachDefName") != own {
		return o.wrong("netAttachDefName", valueOf(plugin, "netAttachDefName"), own)
	}
	// They must lie in subnets, which is not set (validateSubnetContainment in go-controller/pkg/util/multi_network.go).
	if excluded := text(valueOf(plugin, "excludeSubnets")); strings.TrimSpace(excluded) != "" {
		return o.wrong("excludeSubnets", excluded, "none, because subnets is not set")
	}
	return nil
}

// unsupportedSRIOV returns a problem if no node has a virtual function for an edge, else nil.
func unsupportedSRIOV(o Object, nodes Nodes) *problem.Problem {
	switch {
	case o.ResourceName == "":
		return o.problem(problem.SRIOVResourceMissing, problem.Args{"annotation": {wire.AnnotationResourceName}})
	case nodes.Resources == nil || nodes.Resources[o.ResourceName]:
		return nil
	}
	return o.problem(problem.SRIOVResourceExhausted, problem.Args{"resource": {o.ResourceName}})
}
