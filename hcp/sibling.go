// This file decides what the definition says that is made for the edges beside
// the machines' own, so that pods get addresses there. It never changes the
// machines' own.

package hcp

import (
	"encoding/json"
	"maps"
	"strings"
)

// sibling is the configuration by which edges join: the machines' plugin with
// static addresses from the pod's annotation, and, where the nodes' runtime
// leaves forwarding on in new pods, the tuning plugin to switch it off on the
// interface. Where it does not (CRI-O), tuning is left out: OpenShift's
// allow-list refuses that key.
func sibling(conf map[string]any, plugins []map[string]any, forwards bool) string {
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
		panic("hcp: what was JSON stays JSON: " + err.Error())
	}
	return string(out)
}

// runtimeForwards says whether some Linux node's runtime may give pods a namespace
// that forwards: any but CRI-O. Not known, as of a node that has only begun to
// register: no, as on OpenShift; an edge that
// would forward does not serve, so a wrong guess is seen and does no harm.
func runtimeForwards(o Objects) bool {
	for _, n := range o.Nodes {
		info := n.Status.NodeInfo
		if info.ContainerRuntimeVersion == "" {
			continue
		}
		if info.OperatingSystem != "windows" && !strings.HasPrefix(info.ContainerRuntimeVersion, "cri-o://") {
			return true
		}
	}
	return false
}
