// This file holds Permissions: what the administrator of the management cluster permits the
// authors of HostedClusters to ask for.

package network

import (
	"net/netip"
	"slices"
	"strings"
)

// Permissions limit what HostedClusters may ask for. A nil list means its default. An empty list permits nothing. The
// zero value has all defaults.
type Permissions struct {
	// Hosts are names of external hosts: "registry.example.com", "*.example.com" for every name below example.com, or
	// "*". Lower case, no trailing dot. Nil: all.
	Hosts []string `json:"hosts,omitzero"`
	// Ports are the ports of external hosts to which edges may forward. Nil: 443, 5000 and 8443.
	Ports []PortRange `json:"ports,omitzero"`
	// Upstreams are the DNS servers that annotation dns-upstreams may name. Nil: all that are not reserved.
	Upstreams []netip.Prefix `json:"upstreams,omitzero"`
	// NodeLabels are keys that annotation edge-node-selector may have: "vlan100", "example.com/*" for every key with
	// that prefix, or "*". An entry that starts with "!" forbids the keys that match it. Nil: all keys except the
	// roles of control plane nodes.
	NodeLabels []string `json:"nodeLabels,omitzero"`
	// Destinations are those inside the management cluster that edges may dial for VMs. Nil: none.
	Destinations []netip.Prefix `json:"destinations,omitzero"`
}

// A PortRange is a range of TCP ports, first and last included.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// Host reports whether edges may forward to host, a name in lower case.
func (p Permissions) Host(host string) bool {
	return p.Hosts == nil || slices.ContainsFunc(p.Hosts, func(pattern string) bool { return MatchesHost(pattern, host) })
}

// MatchesHost reports whether host matches pattern. It does if it equals pattern, or if pattern is a wildcard such as
// "*.example.com" and host is below example.com. host and pattern are in lower case.
func MatchesHost(pattern, host string) bool {
	below, wildcard := strings.CutPrefix(pattern, "*")
	return pattern == host || wildcard && strings.HasSuffix(host, below)
}

// Port reports whether edges may forward to port of an external host.
func (p Permissions) Port(port uint16) bool {
	ports := p.Ports
	if ports == nil {
		ports = []PortRange{{443, 443}, {5000, 5000}, {8443, 8443}}
	}
	return slices.ContainsFunc(ports, func(r PortRange) bool { return r.First <= port && port <= r.Last })
}

// Upstream reports whether a may be an upstream DNS server.
func (p Permissions) Upstream(a netip.Addr) bool {
	return p.Upstreams == nil || AnyContains(p.Upstreams, a)
}

// NodeLabel reports whether edges may be placed by this node label.
func (p Permissions) NodeLabel(key string) bool {
	patterns := p.NodeLabels
	if patterns == nil {
		patterns = []string{"*"}
		for _, role := range ControlPlaneRoles() {
			patterns = append(patterns, "!"+role)
		}
	}
	permitted := false
	for _, pattern := range patterns {
		pattern, not := strings.CutPrefix(pattern, "!")
		prefix, wildcard := strings.CutSuffix(pattern, "*")
		switch matches := pattern == key || wildcard && strings.HasPrefix(key, prefix); {
		case matches && not:
			return false
		case matches:
			permitted = true
		}
	}
	return permitted
}

// ControlPlaneRoles returns the labels of control plane nodes, which are also the keys of their taints.
func ControlPlaneRoles() []string {
	return []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
}
