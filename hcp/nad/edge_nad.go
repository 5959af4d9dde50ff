// This file builds the CNI configurations of the edge NADs. Edges join a network
// through them; the VMs' own NetworkAttachmentDefinition is never changed.

package nad

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// edgeConfig returns a CNI configuration of taken with static addresses, which Multus
// takes from the pod's annotation. conf is that of the VMs. A tuning plugin sets the sysctls that edges need. If
// forwardByDefault is false, it sets only those that OpenShift allows: CRI-O already
// disables forwarding, and OpenShift's allow-list for the plugin rejects the others.
func edgeConfig(conf map[string]any, taken []map[string]any, forwardByDefault bool) string {
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
		if first["master"] == wire.LinkDevice {
			settings = append(settings, noTraffic(wire.LinkDevice))
		}
	}
	return encode(conf, "", append(chain, tuning(settings...)))
}

// abovePlugin is the plugin of an interface above wire.LinkDevice, which has the MAC and no
// addresses. OVN answers ARP requests for each address of a port, on every node, until the
// object of the pod is deleted. After a node is lost, that is not for a long time, and new VMs
// would be sent to the lost edge. OVN knows no address of this interface, so the kernel answers.
// It has the MAC of the port (passthru), since OVN drops all frames with another one. On a localnet,
// OVN answers on the pod's node only, and edges need this interface only for its sysctls.
func abovePlugin() []map[string]any {
	return []map[string]any{{"type": typeMacvlan, "master": wire.LinkDevice, "linkInContainer": true, "mode": "passthru"}}
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
// edge's other interface nevertheless.
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
// creates it: macvlan sets arp_notify, and sriov sends gratuitous ARP itself
// (k8snetworkplumbingwg/sriov-cni v2.10.0, pkg/cnicommands/cni.go:207).
func announces(kind string) bool { return kind == typeMacvlan || kind == typeSRIOV }
