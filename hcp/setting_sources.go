// This file finds where each setting of a network is set.

package hcp

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// SettingSources returns where each setting of s is set, without defaults. Keys are
// annotation keys without prefix. A value is a text such as "annotation lease-time on
// NodePool workers".
func SettingSources(o Objects, s network.NetworkRequest) map[string]string {
	out := map[string]string{}
	for key, given := range isSet(s) {
		if from := source(o, s, key); given && from != "" {
			out[key] = from
		}
	}
	if out[settings.KeyCIDR] == "" && s.CIDR.IsValid() && machineNetwork(o.HostedCluster) == s.CIDR {
		out[settings.KeyCIDR] = "spec.networking.machineNetwork"
	}
	return out
}

// isSet reports which settings of s have a value from a user. Cluster-wide settings are
// always true, because source checks their annotation.
func isSet(s network.NetworkRequest) map[string]bool {
	x := s.Settings
	return map[string]bool{
		settings.KeyCIDR: s.CIDR.IsValid(), settings.KeyGateway: s.Gateway.IsValid(), settings.KeyServices: x.Services != nil,
		"edge-addresses": len(x.EdgeAddresses) > 0, "dhcp-range": x.DHCPRange.First.IsValid(), "dhcp-exclude": len(x.DHCPExclude) > 0,
		"reservations": len(x.Reservations) > 0, "lease-time": x.LeaseTime != 0, "mtu": x.MTU != 0, "ntp-servers": len(x.NTPServers) > 0,
		"dhcp-relays": len(x.DHCPRelays) > 0, "search-domains": len(x.SearchDomains) > 0, "dns-upstreams": x.Upstreams != nil,
		"dns-records": len(x.Records) > 0, "unknown-clients": x.IgnoreUnknownClients,
		"edges": true, "edge-node-selector": true, settings.KeyAppsAddress: true, settings.KeyAllowedHosts: true,
	}
}

// source returns the annotation that sets key for s, or "" if there is none. The
// precedence is: a NodePool that lists the network first, the HostedCluster for that
// NodePool, the HostedCluster, the NetworkAttachmentDefinition.
func source(o Objects, s network.NetworkRequest, key string) string {
	hc := o.HostedCluster
	for _, np := range o.NodePools {
		if all := attachments(hc, np); len(all) == 0 || all[0].NetworkName() != s.Attachment.NetworkName() {
			continue
		}
		if _, ok := np.Annotations[settings.Prefix+key]; ok {
			return fmt.Sprintf("annotation %s on NodePool %s", key, np.Name)
		}
		if _, ok := hc.Annotations[settings.Prefix+key+"."+np.Name]; ok {
			return fmt.Sprintf("annotation %s.%s on the HostedCluster", key, np.Name)
		}
	}
	if value, ok := hc.Annotations[settings.Prefix+key]; ok && (key != settings.KeyCIDR || sameCIDR(value, s)) {
		return fmt.Sprintf("annotation %s on the HostedCluster", key)
	}
	if nad, ok := findNAD(o, s.Attachment); ok {
		if _, ok := nad.Annotations[settings.Prefix+key]; ok {
			return fmt.Sprintf("annotation %s on the NetworkAttachmentDefinition", key)
		}
	}
	return ""
}

// sameCIDR reports whether value is the CIDR of s. The HostedCluster's cidr applies to
// one network only.
func sameCIDR(value string, s network.NetworkRequest) bool {
	c, err := netip.ParsePrefix(strings.TrimSpace(value))
	return err == nil && c.Masked() == s.CIDR
}
