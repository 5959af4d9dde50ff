// This file makes the configuration of the edge NAD: the definition by which
// edges join a network, beside the VMs' own, which it never changes.

package nad

import (
	"encoding/json"
	"maps"
)

// edgeConfig is the VMs' CNI configuration with static addresses from the pod's
// annotation. Where forwards says that the nodes' runtime leaves forwarding on
// in new pods, the tuning plugin switches it off on the interface. Elsewhere
// (CRI-O) tuning is left out: OpenShift's allow-list refuses that key.
func edgeConfig(conf map[string]any, plugins []map[string]any, forwards bool) string {
	first := maps.Clone(plugins[0])
	// An interface without addresses, or one that is the node's gateway, is not
	// what an edge joins by.
	for _, k := range []string{"cniVersion", "name", "plugins", "disableContainerInterface", "isGateway", "isDefaultGateway", "ipMasq", "forceAddress"} {
		delete(first, k)
	}
	first["ipam"] = map[string]any{"type": "static"}
	first["capabilities"] = map[string]any{"ips": true}
	chain := []any{first}
	for _, p := range plugins[1:] {
		chain = append(chain, p)
	}
	if forwards {
		chain = append(chain, map[string]any{"type": "tuning", "sysctl": map[string]any{"net.ipv4.conf.IFNAME.forwarding": "0"}})
	}
	version, _ := conf["cniVersion"].(string)
	if version == "" {
		version = "0.3.1"
	}
	name, _ := conf["name"].(string)
	out, err := json.Marshal(map[string]any{"cniVersion": version, "name": name, "plugins": chain})
	if err != nil {
		panic("nad: what was JSON stays JSON: " + err.Error())
	}
	return string(out)
}
