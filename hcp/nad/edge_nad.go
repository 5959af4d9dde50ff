// This file builds the CNI configurations of the edge NADs. Edges join a network
// through them; the VMs' own NetworkAttachmentDefinition is never changed.

package nad

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// edgeConfig returns the VMs' CNI configuration with static addresses, which Multus
// takes from the pod's annotation. A tuning plugin sets the sysctls that edges need. If
// forwardByDefault is false, it sets only those that OpenShift allows: CRI-O already
// disables forwarding, and OpenShift's allow-list for the plugin rejects the others.
func edgeConfig(conf map[string]any, plugins []map[string]any, forwardByDefault bool) string {
	first := needed(plugins[0])
	first["ipam"] = map[string]any{"type": "static"}
	first["capabilities"] = map[string]any{"ips": true}
	chain := []any{first}
	for _, p := range plugins[1:] {
		if slices.Contains(chainedTypes(), text(p["type"])) {
			chain = append(chain, needed(p))
		}
	}
	settings := []map[string]any{allowedSysctls()}
	if forwardByDefault {
		settings = append(settings, isolation(), announcements(announces(text(first["type"]))))
	}
	return encode(conf, "", append(chain, tuning(settings...)))
}

// chainedTypes are the CNI plugins of the VMs' NAD that edges keep, in addition to the first. The
// others do nothing that an edge needs, and some change the node, such as portmap. The
// admission policy of the operator allows no others.
func chainedTypes() []string { return []string{typeTuning, "cnv-tuning", "bandwidth", "firewall"} }

// needed returns what an edge needs of a plugin's configuration: an interface that has addresses
// and is not the node's gateway. A plugin writes no files that the NAD names, and takes no device
// but the one that the kubelet allocates. CNI plugins ignore the case of keys.
func needed(plugin map[string]any) map[string]any {
	unwanted := []string{
		"cniversion", "name", "plugins", "disablecontainerinterface", "isgateway", "isdefaultgateway", "ipmasq", "forceaddress",
		"datadir", "logfile", "loglevel", "deviceid", "pcibusid", "runtimeconfig", "prevresult", "delegates",
	}
	out := maps.Clone(plugin)
	maps.DeleteFunc(out, func(key string, _ any) bool { return slices.Contains(unwanted, strings.ToLower(key)) })
	return out
}

// vipConfig returns the CNI configuration of an interface without a link, which holds the
// VIPs. Some plugins announce each address of a new interface (see announces), so a new edge
// would take the VMs before it serves. The kernel answers ARP requests for the VIPs on the
// edge's other interface all the same.
func vipConfig(conf map[string]any, forwardByDefault bool) string {
	chain := []any{map[string]any{"type": "dummy", "ipam": map[string]any{"type": "static"}, "capabilities": map[string]any{"ips": true}}}
	if forwardByDefault {
		chain = append(chain, tuning(noForwarding()))
	}
	return encode(conf, "-vips", chain)
}

// encode returns a CNI configuration with the version and the name of conf.
func encode(conf map[string]any, suffix string, chain []any) string {
	version, _ := conf["cniVersion"].(string)
	if version == "" {
		version = "0.3.1"
	}
	name, _ := conf["name"].(string)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// The admission policy of the operator refuses escapes, which could hide a key.
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"cniVersion": version, "name": name + suffix, "plugins": chain}); err != nil {
		panic("nad: encode the edge NAD: " + err.Error())
	}
	return strings.TrimSpace(out.String())
}

// announces reports whether a CNI plugin announces the addresses of an interface when it
// creates it: macvlan sets arp_notify, and sriov sends gratuitous ARP itself.
func announces(kind string) bool { return kind == typeMacvlan || kind == typeSRIOV }
