// Package attachments decides how an edge's pod joins its network. It makes the NetworkAttachmentDefinitions of oooi,
// and the annotation that tells Multus which NADs a pod joins, and with which addresses. It is pure.
package attachments

import (
	"encoding/json"
	"net/netip"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// A NAD is a NetworkAttachmentDefinition of n's edges.
type NAD struct {
	Name string
	// Config is spec.config: a CNI configuration as JSON.
	Config string
	// ResourceName is the device plugin resource that a pod on it needs. Empty: none.
	ResourceName string
}

// NADs returns the NADs that n's edges need in addition to the NAD of the VMs.
func NADs(n network.Network) []NAD {
	var out []NAD
	if a := n.Attachment; a.EdgeNADConfig != "" {
		out = append(out, NAD{wire.EdgeNADName(n), nad.WithRoutes(a.EdgeNADConfig, n.ClientRoutes()), a.ResourceName})
	}
	if a := n.Attachment; a.VIPNADConfig != "" {
		out = append(out, NAD{wire.VIPNADName(n), a.VIPNADConfig, ""})
	}
	return out
}

// A selection is one interface of a pod, as Multus reads it.
type selection struct {
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	IPs       []netip.Prefix `json:"ips,omitempty"`
	Interface string         `json:"interface"`
	// DefaultRoute replaces the pod's default route. Empty: the pod keeps it.
	DefaultRoute []netip.Addr `json:"default-route,omitempty"`
}

// OfEdge returns the value of wire.AnnotationNetworks of e's pod in namespace ns.
func OfEdge(n network.Network, e network.Edge, ns string) string {
	held, vips := heldBy(n, e)
	return annotation(n, held, vips, nil, ns)
}

// OfACD returns the value of wire.AnnotationNetworks of the pod that checks n's addresses for conflicts. The pod has
// one address.
func OfACD(n network.Network, ns string) string {
	return annotation(n, []netip.Prefix{netip.PrefixFrom(reported.ProbeAddress(n), n.CIDR.Bits())}, nil, nil, ns)
}

// OfVM returns the value of wire.AnnotationNetworks for a pod that acts as a VM with this address on n. It also returns
// own, the NAD with the name wire.TryNADName, which the pod needs. The routes of that NAD lead to the routers of the
// VMs. If ok is false, the pod needs no NAD of its own. It joins the NAD of the VMs, and Multus sets its default route
// to the next-hop VIP. Some releases of Multus do not set this route.
func OfVM(n network.Network, address netip.Addr, ns string) (networks string, own NAD, ok bool) {
	held := []netip.Prefix{netip.PrefixFrom(address, n.CIDR.Bits())}
	if n.Attachment.EdgeNADConfig == "" {
		return annotation(n, held, nil, []netip.Addr{n.NextHopVIP}, ns), NAD{}, false
	}
	// These routes are more specific than the pod's default route, which stays.
	var routes []network.Route
	for _, half := range []string{"0.0.0.0/1", "128.0.0.0/1"} {
		p := netip.MustParsePrefix(half)
		routes = append(routes, network.Route{Destination: p, Via: n.NextHop(p.Addr())})
	}
	for _, r := range n.DHCP.Routes { // Published addresses have routes of their own if VMs have a gateway.
		if r.Destination.Bits() > 0 && !n.CIDR.Contains(r.Destination.Addr()) && r.Via != n.DHCP.Router {
			routes = append(routes, r)
		}
	}
	own = NAD{wire.TryNADName(n), nad.WithRoutes(n.Attachment.EdgeNADConfig, routes), n.Attachment.ResourceName}
	all := linked(n)
	return encoded(append(all, selection{Name: own.Name, Namespace: ns, Interface: wire.Device, IPs: held})), own, true
}

// linked returns the interface below wire.Device, if there is one. Multus creates interfaces in the order of the
// annotation.
func linked(n network.Network) []selection {
	if !n.Attachment.AboveNAD {
		return nil
	}
	return []selection{{Name: n.Attachment.Name, Namespace: n.Attachment.Namespace, Interface: wire.LinkDevice}}
}

func encoded(all []selection) string {
	b, err := json.Marshal(all)
	if err != nil {
		panic("attachments: what we build is always JSON: " + err.Error())
	}
	return string(b)
}

// heldBy returns the addresses of e's interface on n, and those of the interface that holds the VIPs, if there is
// one. Their order matters:
//
// Where arp_announce is above 0, the kernel sends ARP requests for targets outside of the network from the device's
// first address. For failover announcements to take effect, this must be the next-hop VIP.
//
// On a network of OVN-Kubernetes, the edge address is first. OVN makes a port's MAC from 0a:58 and its first address
// (ovn-kubernetes, allocator/pod/pod_annotation.go). If the next-hop VIP were first, both edges would have the same
// MAC. Also, ovn-controller announces the first address of a port when the pod is created and when ovn-controller
// restarts (ovn, controller/pinctrl.c). If that were the next-hop VIP, VMs would leave the peer, which serves them.
//
// Some CNI plugins announce all addresses of a new interface (sriov, and macvlan, also on top of an OVN interface).
// With them, the VIPs are not on that interface, but on a second one. An edge without a peer holds all addresses on one
// interface, because there is no other edge that VMs could leave.
func heldBy(n network.Network, e network.Edge) (held, vips []netip.Prefix) {
	own, hop := netip.PrefixFrom(e.Address, n.CIDR.Bits()), network.Host(n.NextHopVIP)
	others := []netip.Prefix{network.Host(n.ServiceVIP)}
	for _, a := range n.PublishedAddresses {
		others = append(others, network.Host(a))
	}
	switch {
	case n.Attachment.VIPNADConfig != "" && len(n.Edges) > 1:
		return []netip.Prefix{own}, append([]netip.Prefix{hop}, others...)
	case n.Attachment.EdgeNADConfig == "":
		return append([]netip.Prefix{own, hop}, others...), nil
	}
	return append([]netip.Prefix{hop, own}, others...), nil
}

// annotation returns the text that Multus reads. Without vips, wire.Device has all addresses. Without route, wire.Device
// sets no default route.
func annotation(n network.Network, held, vips []netip.Prefix, route []netip.Addr, ns string) string {
	s := selection{Name: wire.EdgeNADName(n), Namespace: ns, Interface: wire.Device, IPs: held, DefaultRoute: route}
	if n.Attachment.EdgeNADConfig == "" {
		s.Name, s.Namespace = n.Attachment.Name, n.Attachment.Namespace
	}
	all := append(linked(n), s)
	if len(vips) > 0 {
		all = append(all, selection{Name: wire.VIPNADName(n), Namespace: ns, Interface: wire.VIPDevice, IPs: vips})
	}
	return encoded(all)
}
