// This file identifies the layer-2 network of a NetworkAttachmentDefinition.

package nad

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/cldmnky/oooi/network"
)

// untaggedVLAN is the VLAN of untagged frames on a Linux bridge: the default of vlan_default_pvid.
const untaggedVLAN = 1

// layer2 returns an identifier such as "bridge br1 vlan 7". NADs with equal identifiers share one layer-2 network. It
// returns "" if the configuration of each node decides which network that is.
func layer2(a network.Attachment, plugin, conf map[string]any) string {
	on := func(kind, what string) string {
		if what == "" {
			return ""
		}
		return fmt.Sprintf("%s %s vlan %d", kind, what, a.VLAN)
	}
	switch name := text(valueOf(conf, "name")); a.Kind {
	case typeBridge, typeCNVBridge:
		if a.VLAN == untaggedVLAN {
			a.VLAN = 0
		}
		return on("bridge", text(valueOf(plugin, "bridge")))
	case typeMacvlan:
		return on("macvlan", text(valueOf(plugin, "master")))
	case typeSRIOV:
		return on("sriov", a.ResourceName)
	case typeOVN:
		if text(valueOf(plugin, "topology")) == topologyLayer2 {
			return on("layer2", name)
		}
		return on("localnet", physical(plugin, conf))
	}
	return ""
}

// physical returns the physical network of a localnet of OVN-Kubernetes (localnetPortNetworkNameOptions in
// go-controller/pkg/ovn/secondary_localnet_network_controller.go).
func physical(plugin, conf map[string]any) string {
	return cmp.Or(text(valueOf(plugin, "physicalNetworkName")), text(valueOf(conf, "name")))
}

// Localnet returns the physical network of o, which nodes must map to a bridge. It is empty if o is no localnet of
// OVN-Kubernetes.
func Localnet(o Object) string {
	plugins, conf, err := parse(o.Config)
	if err != nil || text(plugins[0]["type"]) != typeOVN || text(valueOf(plugins[0], "topology")) != topologyLocalnet {
		return ""
	}
	return physical(plugins[0], conf)
}

// IsOVN reports whether a is a network of OVN-Kubernetes. It refuses a pod that names one NAD twice
// (go-controller/pkg/util/multi_network.go, "more than one of the same NAD").
func IsOVN(a network.Attachment) bool { return a.Kind == typeOVN }

// An OVNNetwork is what a NetworkAttachmentDefinition says about a network of OVN-Kubernetes. NADs with the same Name
// define one network. OVN-Kubernetes refuses each NAD whose other values differ from those of the first one, and then
// no pod starts with it (syncNAD in go-controller/pkg/networkmanager/nad_controller.go, and canReconcile in
// pkg/util/multi_network.go). Versions of 2024 do not compare physicalNetworkName, so it is left out, as are keys that
// Attach refuses.
type OVNNetwork struct {
	Name   string
	values [len(ovnKeys)]any
}

var ovnKeys = [...]string{"topology", "vlanID", "mtu", "allowPersistentIPs", "subnets"}

// OVNNetworkOf returns the network of o. ok is false if OVN-Kubernetes does not provide it, or ignores o.
func OVNNetworkOf(o Object) (n OVNNetwork, ok bool) {
	plugins, conf, err := parse(o.Config)
	if err != nil || text(plugins[0]["type"]) != typeOVN || text(valueOf(plugins[0], "netAttachDefName")) != o.Namespace+"/"+o.Name {
		return n, false
	}
	n.Name = text(valueOf(conf, "name"))
	for i, key := range ovnKeys {
		v := valueOf(plugins[0], key)
		if v != "" && v != 0.0 && v != false {
			n.values[i] = v
		}
	}
	return n, true
}

// Differs returns the first key in which n and other, of the same Name, differ, or "".
func (n OVNNetwork) Differs(other OVNNetwork) string {
	for i, key := range ovnKeys {
		a, b := n.values[i], other.values[i]
		ofDefault := key == "mtu" && (a == nil || b == nil) // No object shows the default MTU of OVN-Kubernetes.
		if !ofDefault && !reflect.DeepEqual(a, b) {
			return key
		}
	}
	return ""
}
