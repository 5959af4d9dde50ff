// This file builds the CNI configuration of the edge NAD. Edges join a network
// through the edge NAD; the VMs' own NetworkAttachmentDefinition is never changed.

package nad

import (
	"encoding/json"
	"maps"
)

// edgeConfig returns the VMs' CNI configuration with static addresses, which Multus
// takes from the pod's annotation. If forwardByDefault is true, a tuning plugin
// disables IPv4 forwarding on the interface. CRI-O already disables it, and
// OpenShift's allow-list for the tuning plugin rejects that sysctl.
func edgeConfig(conf map[string]any, plugins []map[string]any, forwardByDefault bool) string {
	first := maps.Clone(plugins[0])
	// An edge needs an interface that has addresses and is not the node's gateway.
	for _, k := range []string{"cniVersion", "name", "plugins", "disableContainerInterface", "isGateway", "isDefaultGateway", "ipMasq", "forceAddress"} {
		delete(first, k)
	}
	first["ipam"] = map[string]any{"type": "static"}
	first["capabilities"] = map[string]any{"ips": true}
	chain := []any{first}
	for _, p := range plugins[1:] {
		chain = append(chain, p)
	}
	if forwardByDefault {
		chain = append(chain, map[string]any{"type": "tuning", "sysctl": map[string]any{"net.ipv4.conf.IFNAME.forwarding": "0"}})
	}
	version, _ := conf["cniVersion"].(string)
	if version == "" {
		version = "0.3.1"
	}
	name, _ := conf["name"].(string)
	out, err := json.Marshal(map[string]any{"cniVersion": version, "name": name, "plugins": chain})
	if err != nil {
		panic("nad: encode the edge NAD: " + err.Error())
	}
	return string(out)
}
