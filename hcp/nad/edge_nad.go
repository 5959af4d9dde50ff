// This file builds the CNI configurations of the edge NADs. Edges join a network
// through them; the VMs' own NetworkAttachmentDefinition is never changed.

package nad

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// edgeConfig returns the VMs' CNI configuration with static addresses, which Multus
// takes from the pod's annotation. A tuning plugin sets the sysctls that edges need. If
// forwardByDefault is false, it sets only those that OpenShift allows: CRI-O already
// disables forwarding, and OpenShift's allow-list for the plugin rejects the others.
func edgeConfig(conf map[string]any, plugins []map[string]any, forwardByDefault bool) string {
	taken := takenPlugins(plugins)
	first := taken[0]
	first["ipam"] = map[string]any{"type": "static"}
	first["capabilities"] = map[string]any{"ips": true}
	var chain []any
	for _, p := range taken {
		chain = append(chain, p)
	}
	settings := []map[string]any{allowedSysctls()}
	if forwardByDefault {
		settings = append(settings, isolation(), announcements(announces(text(first["type"]))))
	}
	return encode(conf, "", append(chain, tuning(settings...)))
}

// takenPlugins are the first plugin and those that edges keep, with what edges need of them.
func takenPlugins(plugins []map[string]any) []map[string]any {
	out := []map[string]any{needed(plugins[0])}
	for _, p := range plugins[1:] {
		if chained(text(p["type"])) {
			out = append(out, needed(p))
		}
	}
	return out
}

// chained reports whether edges keep a CNI plugin that follows the first one. The others do nothing
// that an edge needs. Some change the node, such as portmap and firewall.
func chained(kind string) bool {
	return slices.Contains([]string{typeTuning, typeCNVTuning, typeBandwidth}, kind)
}

// WithRoutes returns config, the EdgeNADConfig of an Attachment, with these routes of its static
// addresses. Without routes, it returns config as it is.
func WithRoutes(config string, routes []network.Route) string {
	plugins, conf, err := parse(config)
	if err != nil || len(routes) == 0 {
		return config
	}
	var all []any
	for _, r := range routes {
		all = append(all, map[string]any{"dst": r.Destination.String(), "gw": r.Via.String()})
	}
	plugins[0]["ipam"] = map[string]any{"type": "static", "routes": all}
	return encoded(conf)
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

// encode returns a CNI configuration with the version and the name of conf. Multus sets a name
// that is empty.
func encode(conf map[string]any, suffix string, chain []any) string {
	version, _ := conf["cniVersion"].(string)
	if version == "" {
		version = "0.3.1"
	}
	name, _ := conf["name"].(string)
	if name != "" {
		name += suffix
	}
	return encoded(map[string]any{"cniVersion": version, "name": name, "plugins": chain})
}

// encoded returns v, which was JSON, as JSON.
func encoded(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// The admission policy of the operator refuses escapes, which could hide a key.
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("nad: encode JSON: " + err.Error())
	}
	return strings.TrimSpace(out.String())
}

// announces reports whether a CNI plugin announces the addresses of an interface when it
// creates it: macvlan sets arp_notify, and sriov sends gratuitous ARP itself.
func announces(kind string) bool { return kind == typeMacvlan || kind == typeSRIOV }
