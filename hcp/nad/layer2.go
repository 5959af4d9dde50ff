// This file identifies the layer-2 network of a NetworkAttachmentDefinition.

package nad

import (
	"fmt"

	"github.com/cldmnky/oooi/network"
)

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
		return on("bridge", text(valueOf(plugin, "bridge")))
	case typeMacvlan:
		return on("macvlan", text(valueOf(plugin, "master")))
	case typeSRIOV:
		return on("sriov", a.ResourceName)
	case typeOVN:
		if text(valueOf(plugin, "topology")) == topologyLayer2 {
			return on("layer2", name)
		}
		if physical := text(valueOf(plugin, "physicalNetworkName")); physical != "" {
			name = physical
		}
		return on("localnet", name)
	}
	return ""
}
