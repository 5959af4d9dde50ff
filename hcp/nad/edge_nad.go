// This file builds the CNI configurations of the edge NADs, through which edges join a network. The NAD of the VMs is
// never changed.

package nad

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// edgeConfig returns a CNI configuration with the plugins in taken. The addresses are static: Multus reads them from the
// pod's annotation. A tuning plugin sets the sysctls that edges need. If forwardByDefault is false, CRI-O already disables
// forwarding, and only the sysctls in OpenShift's allow-list for the tuning plugin are set.
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

// abovePlugin returns the plugin for an interface on top of wire.LinkDevice, which has the MAC and no addresses. OVN
// answers ARP requests for each address of a port, on every node, until the pod object is deleted. After a node is
// lost, that takes a long time, and new VMs would use the lost edge. OVN does not know the addresses of this interface,
// so the kernel answers for them. The interface has the MAC of the port (passthru), since OVN drops all frames with
// another one. On a localnet, OVN answers on the pod's node only. There edges need this interface only for its sysctls.
func abovePlugin() []map[string]any {
	return []map[string]any{{"type": typeMacvlan, "master": wire.LinkDevice, "linkInContainer": true, "mode": "passthru"}}
}

// takenPlugins returns the first plugin and the further ones that edges use, with the keys that edges need.
func takenPlugins(plugins []map[string]any) []map[string]any {
	out := []map[string]any{needed(plugins[0])}
	for _, p := range plugins[1:] {
		if chained(text(p["type"])) {
			out = append(out, needed(p))
		}
	}
	return out
}

// chained reports whether edges use a plugin of this type after the first one. Some other types change the node, such as
// portmap and firewall.
func chained(kind string) bool {
	return slices.Contains([]string{typeTuning, typeCNVTuning, typeBandwidth}, kind)
}

// WithRoutes returns config, the EdgeNADConfig of an Attachment, with the given routes added to its static addresses.
// Without routes, it returns config unchanged.
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

// vipConfig returns the CNI configuration of an interface that is not connected to any link, and holds the VIPs. On
// other interfaces, some plugins announce each address when they create the interface (see announces), and VMs would
// use a new edge before it serves. The kernel still answers ARP requests for the VIPs on the edge's other interface.
func vipConfig(conf map[string]any, forwardByDefault bool) string {
	chain := []any{map[string]any{"type": "dummy", "ipam": map[string]any{"type": "static"}, "capabilities": map[string]any{"ips": true}}}
	if forwardByDefault {
		chain = append(chain, tuning(noForwarding()))
	}
	return encode(conf, "-vips", chain)
}

// encode returns a CNI configuration with the version and the name of conf. If the name is empty, Multus sets it.
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

func encoded(v any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// The operator's admission policy refuses escapes, since they could hide a key.
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("nad: encode JSON: " + err.Error())
	}
	return strings.TrimSpace(out.String())
}

// announces reports whether a CNI plugin announces the addresses of an interface when it creates the interface. macvlan
// sets arp_notify, and sriov sends gratuitous ARP itself (sriov-cni v2.10.0, pkg/cnicommands/cni.go:207).
func announces(kind string) bool { return kind == typeMacvlan || kind == typeSRIOV }
