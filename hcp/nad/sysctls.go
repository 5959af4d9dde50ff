// This file decides the settings of an edge's kernel. The tuning plugin writes them in any
// order, so no value may depend on another one being written before it.

package nad

import "maps"

// podInterface is the name of a pod's interface on the pod network: CRI-O, containerd and
// Multus all use it.
const podInterface = "eth0"

// tuning returns the plugin that sets sysctls.
func tuning(settings ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	return map[string]any{"type": typeTuning, "sysctl": all}
}

// allowedSysctls are those that OpenShift's allow-list for the tuning plugin has. The kernel
// takes no source routes and no IPv6 router advertisements. They do not remove a route that an
// advertisement set before. Redirects count unless "all" refuses them, too; see isolation.
func allowedSysctls() map[string]any {
	return map[string]any{
		"net.ipv4.conf.IFNAME.accept_redirects":    "0",
		"net.ipv4.conf.IFNAME.accept_source_route": "0",
		"net.ipv6.conf.IFNAME.accept_ra":           "0",
		"net.ipv6.conf.IFNAME.accept_redirects":    "0",
		"net.ipv6.conf.IFNAME.accept_source_route": "0",
	}
}

// noForwarding keeps the kernel from forwarding what arrives on the interface. It never
// writes to conf.all.forwarding, which resets conf.all.accept_redirects to 1.
func noForwarding() map[string]any {
	return map[string]any{"net.ipv4.conf.IFNAME.forwarding": "0"}
}

// isolation returns what separates the network from the pod network in an edge. No packet is
// forwarded in either direction. A packet with a source address that belongs to the other
// side is dropped (rp_filter), so no reply leaves through the other interface. IPv6 is off,
// as edges serve IPv4 only. ICMP errors change the path MTU only if a TCP connection sent what
// they are about (ip_no_pmtu_disc=3). A new network namespace has the node's values for "all". Of
// rp_filter, accept_redirects and route_localnet the larger of "all" and the interface
// counts; Ubuntu sets rp_filter to 2 (loose), and kube-proxy sets route_localnet to 1.
func isolation() map[string]any {
	out := noForwarding()
	for sysctl, value := range map[string]string{
		podInterface + ".forwarding": "0",
		"all.rp_filter":              "1",
		"IFNAME.rp_filter":           "1",
		podInterface + ".rp_filter":  "1",
		"all.accept_redirects":       "0",
		"all.route_localnet":         "0",
		"IFNAME.route_localnet":      "0",
	} {
		out["net.ipv4.conf."+sysctl] = value
	}
	out["net.ipv6.conf.IFNAME.disable_ipv6"] = "1"
	out["net.ipv4.ip_no_pmtu_disc"] = "3"
	return out
}

// noTraffic keeps the kernel from using a device that another interface is above. Broadcasts of
// the network arrive on both.
func noTraffic(device string) map[string]any {
	return map[string]any{"net.ipv4.conf." + device + ".forwarding": "0", "net.ipv6.conf." + device + ".disable_ipv6": "1"}
}

// announcements returns what failover announcements need. The kernel sends ARP requests from
// the source address of a packet, so that announcements can name each address. Above 0,
// arp_announce leaves only the interface's first address. If onVIPDevice is true, the VIPs
// are on another interface. Then it answers ARP requests for them, too: above 0, arp_ignore
// leaves those of the interface. A new network namespace has the node's values for "all", of
// which the larger counts; kube-proxy with strictARP sets both above 0.
func announcements(onVIPDevice bool) map[string]any {
	out := map[string]any{"net.ipv4.conf.IFNAME.arp_announce": "0", "net.ipv4.conf.all.arp_announce": "0"}
	if onVIPDevice {
		out["net.ipv4.conf.IFNAME.arp_ignore"], out["net.ipv4.conf.all.arp_ignore"] = "0", "0"
	}
	return out
}
