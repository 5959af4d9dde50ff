// This file decides the sysctls of an edge. The tuning plugin writes them in any order, so no value may depend on the
// order.

package nad

import "maps"

// podInterface is the name of a pod's interface on the pod network: CRI-O, containerd and
// Multus all use it.
const podInterface = "eth0"

func tuning(settings ...map[string]any) map[string]any {
	all := map[string]any{}
	for _, s := range settings {
		maps.Copy(all, s)
	}
	return map[string]any{"type": typeTuning, "sysctl": all}
}

// allowedSysctls returns the sysctls in OpenShift's allow-list for the tuning plugin. With them, the kernel does not
// accept source routes and IPv6 router advertisements. A route from an earlier advertisement stays. Redirects are
// refused only if "all" refuses them, too; see isolation.
func allowedSysctls() map[string]any {
	return map[string]any{
		"net.ipv4.conf.IFNAME.accept_redirects":    "0",
		"net.ipv4.conf.IFNAME.accept_source_route": "0",
		"net.ipv6.conf.IFNAME.accept_ra":           "0",
		"net.ipv6.conf.IFNAME.accept_redirects":    "0",
		"net.ipv6.conf.IFNAME.accept_source_route": "0",
	}
}

// noForwarding returns the sysctls that prevent the kernel from forwarding packets that arrive on the interface. They
// do not include conf.all.forwarding, because that would reset conf.all.accept_redirects to 1.
func noForwarding() map[string]any {
	return map[string]any{"net.ipv4.conf.IFNAME.forwarding": "0"}
}

// isolation returns the sysctls that separate the network from the pod network in an edge. No packet is forwarded in
// either direction. A packet whose source address belongs to the other side is dropped (rp_filter), so no reply
// leaves through the other interface. IPv6 is off, as edges serve IPv4 only. An ICMP error changes the path MTU only
// if it is about a packet of an existing TCP connection (ip_no_pmtu_disc=3). A new network namespace inherits the
// node's values for "all". For rp_filter, accept_redirects and route_localnet, the larger value of "all" and the
// interface counts. Ubuntu sets rp_filter to 2 (loose), and kube-proxy sets route_localnet to 1.
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

// noTraffic returns the sysctls that prevent the kernel from using a device on which another interface is built.
// Broadcasts arrive on that device, too.
func noTraffic(device string) map[string]any {
	return map[string]any{"net.ipv4.conf." + device + ".forwarding": "0", "net.ipv6.conf." + device + ".disable_ipv6": "1"}
}

// announcements returns the sysctls that failover announcements need. Announcements are ARP requests for targets
// outside of the network. The kernel must send them from the source address of a packet, so that they can name each
// address. Where arp_announce is above 0, it sends them from the interface's first address. If onVIPDevice is true, the
// VIPs are on another interface, and the interface on the network must answer ARP requests for them. Where arp_ignore
// is above 0, it does not. A new network namespace inherits the node's values for "all", and the larger value counts.
// kube-proxy with strictARP sets arp_announce and arp_ignore above 0.
func announcements(onVIPDevice bool) map[string]any {
	out := map[string]any{"net.ipv4.conf.IFNAME.arp_announce": "0", "net.ipv4.conf.all.arp_announce": "0"}
	if onVIPDevice {
		out["net.ipv4.conf.IFNAME.arp_ignore"], out["net.ipv4.conf.all.arp_ignore"] = "0", "0"
	}
	return out
}
