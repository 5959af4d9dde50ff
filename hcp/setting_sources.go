// This file finds where each setting of a network is set, and what is set on its
// NetworkAttachmentDefinition without effect.

package hcp

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
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

// unusedOfNAD returns a problem for each value of the NetworkAttachmentDefinition of s, own, that is not
// used because another object sets a different one.
func unusedOfNAD(o Objects, s network.NetworkRequest, own settings.Values) network.Problems {
	var out network.Problems
	on := network.Subject{Kind: string(settings.OnNetworkAttachmentDefinition), Namespace: s.Attachment.Namespace, Name: s.Attachment.Name}
	sources := SettingSources(o, s)
	unused := func(key, value, used string) {
		out = append(out, network.NewProblem(network.NADValueUnused, on,
			network.Args{"network": s.Attachment.String(), "value": value, "otherValue": used, "source": sources[key]}, key))
	}
	if own.CIDR.IsValid() && own.CIDR != s.CIDR {
		unused(settings.KeyCIDR, own.CIDR.String(), s.CIDR.String())
	}
	if own.Gateway.IsValid() && own.Gateway != s.Gateway {
		unused(settings.KeyGateway, own.Gateway.String(), s.Gateway.String())
	}
	if of, used := prefixesText(own.ClientNetworks), prefixesText(s.Settings.ClientNetworks); of != "" && of != used {
		unused(settings.KeyClients, of, used)
	}
	if own.Services != nil && !slices.Equal(own.Services, s.Settings.Services) {
		unused(settings.KeyServices, servicesText(own.Services), servicesText(s.Settings.Services))
	}
	return out
}

// servicesText returns a value of annotation services.
func servicesText(all []network.Service) string {
	var out []string
	for _, s := range all {
		out = append(out, string(s))
	}
	return cmp.Or(strings.Join(out, ","), "none")
}

// isSet reports which settings of s have a value from a user. Cluster-wide settings are
// always true, because source checks their annotation.
func isSet(s network.NetworkRequest) map[string]bool {
	x := s.Settings
	return map[string]bool{
		settings.KeyCIDR: s.CIDR.IsValid(), settings.KeyGateway: s.Gateway.IsValid(), settings.KeyServices: x.Services != nil,
		settings.KeyClients: len(x.ClientNetworks) > 0,
		"edge-addresses":    len(x.EdgeAddresses) > 0, "dhcp-range": x.DHCPRange.First.IsValid(), "dhcp-exclude": len(x.DHCPExclude) > 0,
		"reservations": len(x.Reservations) > 0, "lease-time": x.LeaseTime != 0, "mtu": x.MTU != 0, "ntp-servers": len(x.NTPServers) > 0,
		"dhcp-relays": len(x.DHCPRelays) > 0, "search-domains": len(x.SearchDomains) > 0, "dns-upstreams": x.Upstreams != nil,
		"dns-records": len(x.Records) > 0, "unknown-clients": x.IgnoreUnknownClients,
		"edges": true, "edge-node-selector": true, settings.KeyAppsAddress: true, settings.KeyAllowedHosts: true, settings.KeyPodDNS: true, settings.KeyAccessLog: true,
		settings.KeyAccess: true, settings.KeyAccessFrom: true, settings.KeyAccessBy: true,
	}
}

// source returns the annotation that sets key for s, or "" if there is none. The
// precedence is: a NodePool that lists the network first, the HostedCluster for that
// NodePool, the HostedCluster, the NetworkAttachmentDefinition. Annotation services on a
// NetworkAttachmentDefinition overrides the HostedCluster.
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
	nad, _ := findNAD(o, s.Attachment)
	value, onNAD := nad.Annotations[settings.Prefix+key]
	onNAD = onNAD && applies(key, value, s)
	if onNAD && key == settings.KeyServices {
		return fmt.Sprintf("annotation %s on the NetworkAttachmentDefinition", key)
	}
	if value, ok := hc.Annotations[settings.Prefix+key]; ok && applies(key, value, s) {
		return fmt.Sprintf("annotation %s on the HostedCluster", key)
	}
	if onNAD {
		return fmt.Sprintf("annotation %s on the NetworkAttachmentDefinition", key)
	}
	return ""
}

// applies reports whether value, of the HostedCluster or the NetworkAttachmentDefinition, is the one that s
// has. The HostedCluster's cidr and gateway apply to one network only.
func applies(key, value string, s network.NetworkRequest) bool {
	value = strings.TrimSpace(value)
	switch key {
	case settings.KeyCIDR:
		c, err := netip.ParsePrefix(value)
		return err == nil && c.Masked() == s.CIDR
	case settings.KeyGateway:
		return value == s.Gateway.String()
	}
	return true
}
