// Package settings is the one table of annotations: which keys there are, on
// which objects they may stand, and what their values mean. Validation, defaults
// and documentation come from it. It reads annotations only, as plain maps, and
// knows no object's spec.
package settings

import (
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge/wire"
)

// Prefix begins every annotation key of oooi.
const Prefix = wire.Prefix

// Keys, without the prefix, that other code names.
const (
	KeyNetwork      = "network"
	KeyCIDR         = "cidr"
	KeyGateway      = "gateway"
	KeyAppsAddress  = "apps-address"
	KeyServices     = "services"
	KeyAllowedHosts = "allowed-hosts"
	KeyPublish      = "publish"
	KeyNTPServers   = "ntp-servers"
	KeyDNSRecords   = "dns-records"
	KeyPaused       = "paused"
)

// renamed are keys of earlier versions, and what they are called now.
func renamed(name string) (now string, ok bool) {
	now, ok = map[string]string{"registries": KeyAllowedHosts}[name]
	return now, ok
}

// A Place is the kind of an object that carries annotations.
type Place string

// The places of annotations.
const (
	OnHostedCluster               Place = "HostedCluster"
	OnNodePool                    Place = "NodePool"
	OnNetworkAttachmentDefinition Place = "NetworkAttachmentDefinition"
	OnService                     Place = "Service"
)

// String is the place as a document names it.
func (p Place) String() string {
	if p == OnService {
		return "Service in the control plane namespace"
	}
	return string(p)
}

// Places are the kinds of objects that one annotation may stand on.
type Places []Place

// String joins the places by commas.
func (ps Places) String() string {
	var names []string
	for _, p := range ps {
		names = append(names, p.String())
	}
	return strings.Join(names, ", ")
}

// A Key is one row of the table.
type Key struct {
	Name string
	On   Places
	// PerNodePool keys may be written on the HostedCluster as "<name>.<nodepool>".
	PerNodePool bool
	Default     string
	Meaning     string
	Example     string
	set         func(*Values, string) error
}

// Keys is the table, in the order in which it is documented.
func Keys() []Key {
	cluster, both := Places{OnHostedCluster}, Places{OnHostedCluster, OnNodePool}
	all := append(slices.Clip(both), OnNetworkAttachmentDefinition)
	return []Key{
		{Name: KeyNetwork, On: cluster, Default: "required", Example: "auto",
			Meaning: "Opts in. `auto`: every network that the NodePools name; `<namespace>/<name>`: that NetworkAttachmentDefinition only; `none`: opt out, everything of ours is removed.",
			set:     func(s *Values, v string) (err error) { s.Network, err = networkName(v); return err }},
		{Name: KeyCIDR, On: all, PerNodePool: true, Default: "spec.networking.machineNetwork for the network that machines boot by", Example: "192.168.100.0/24",
			Meaning: "The IPv4 network of the VLAN. On a NodePool it speaks of the network listed first; a further network has its own on its NetworkAttachmentDefinition, whose word is the weakest.",
			set:     func(s *Values, v string) (err error) { s.CIDR, err = cidr(v); return err }},
		{Name: KeyGateway, On: all, PerNodePool: true, Default: "none: the VLAN stays isolated", Example: "192.168.100.1",
			Meaning: "A router on the VLAN, handed out as default route.",
			set:     func(s *Values, v string) (err error) { s.Gateway, err = ipv4(v); return err }},
		{Name: KeyServices, On: both, Default: "all", Example: "dns,proxy",
			Meaning: "Which of `dhcp`, `dns` and `proxy` run, for a network that already has the others.",
			set:     func(s *Values, v string) (err error) { s.Services, err = services(v); return err }},
		{Name: "edges", On: cluster, Default: "2, or 1 where spec.controllerAvailabilityPolicy is SingleReplica", Example: "2",
			Meaning: "How many edges each network gets: `1` or `2`. With two, one serves on while the other is gone. No address moves by it.",
			set:     func(s *Values, v string) (err error) { s.Edges, err = edges(v); return err }},
		{Name: "edge-node-selector", On: cluster, Default: "what the network's NodePools select", Example: "node-role.kubernetes.io/infra=,vlan100=yes",
			Meaning: "Labels of the management cluster's nodes on which edges run, all of them, instead of what the NodePools say: nodes that have the VLAN.",
			set:     func(s *Values, v string) (err error) { s.EdgeNodes, err = nodeLabels(v); return err }},
		{Name: "edge-addresses", On: both, Default: "the second to fifth usable address", Example: "192.168.100.2-192.168.100.5",
			Meaning: "Four addresses of ours: next hop, service address, and one for each of two edges.",
			set:     func(s *Values, v string) (err error) { s.EdgeAddresses, err = addressList(v); return err }},
		{Name: "dhcp-range", On: both, Default: "the tenth to the last usable address but one", Example: "192.168.100.10-192.168.100.253",
			Meaning: "Addresses for machines.",
			set:     func(s *Values, v string) (err error) { s.DHCPRange, err = addressRange(v); return err }},
		{Name: "dhcp-exclude", On: both, Default: "none", Example: "192.168.100.50-192.168.100.59",
			Meaning: "Addresses never given out.",
			set:     func(s *Values, v string) (err error) { s.DHCPExclude, err = each(v, addressRange); return err }},
		{Name: "reservations", On: both, Default: "none", Example: "02:00:00:00:00:01=192.168.100.20",
			Meaning: "Addresses for particular MACs.",
			set:     func(s *Values, v string) (err error) { s.Reservations, err = each(v, reservation); return err }},
		{Name: "lease-time", On: both, Default: "1h", Example: "30m",
			Meaning: "How long an address is given for; one minute to a week.",
			set:     func(s *Values, v string) (err error) { s.LeaseTime, err = leaseTime(v); return err }},
		{Name: "mtu", On: both, Default: "the NetworkAttachmentDefinition's", Example: "9000",
			Meaning: "DHCP option 26, in bytes; 576 to 65535.",
			set:     func(s *Values, v string) (err error) { s.MTU, err = mtu(v); return err }},
		{Name: KeyNTPServers, On: both, Default: "none", Example: "192.168.100.1",
			Meaning: "DHCP option 42.",
			set:     func(s *Values, v string) (err error) { s.NTPServers, err = each(v, ipv4); return err }},
		{Name: "dhcp-relays", On: both, Default: "none", Example: "192.168.100.1",
			Meaning: "Relays whose DHCP packets are answered, by the address they give as their own; what others relay is dropped.",
			set:     func(s *Values, v string) (err error) { s.DHCPRelays, err = each(v, ipv4); return err }},
		{Name: "search-domains", On: both, Default: "the hosted cluster's domain", Example: "blue.example.com",
			Meaning: "DHCP option 119.",
			set:     func(s *Values, v string) (err error) { s.SearchDomains, err = each(v, DomainName); return err }},
		{Name: "dns-upstreams", On: both, Default: "`none` without a gateway, else `management`", Example: "192.168.100.1:53",
			Meaning: "Who answers what the plan does not know: `none` (refused), `management` (the management cluster's resolver), or addresses. Where `services` leaves out `dns`, machines are told these addresses.",
			set:     func(s *Values, v string) (err error) { s.Upstreams, err = upstreams(v); return err }},
		{Name: KeyDNSRecords, On: cluster, Default: "none", Example: "registry.example.com=192.168.100.1",
			Meaning: "At most 64 further names to answer; a first label `*` is a wildcard.",
			set:     func(s *Values, v string) (err error) { s.Records, err = few(v, record); return err }},
		{Name: KeyAppsAddress, On: cluster, Default: "none", Example: "192.168.100.6",
			Meaning: "The address that answers for `*.apps` of the hosted cluster.",
			set:     func(s *Values, v string) (err error) { s.AppsAddress, err = ipv4(v); return err }},
		{Name: KeyAllowedHosts, On: cluster, Default: "`auto` without a gateway, else `none`", Example: "auto,registry.example.com",
			Meaning: "External hosts that VMs can reach without a gateway, by TLS server name. `auto`: the registries of the release image and its mirrors, and at most 64 further hosts, each with or without a port (443). `none`: no external host.",
			set:     func(s *Values, v string) (err error) { s.AllowedHosts, err = allowedHosts(v); return err }},
		{Name: "unknown-clients", On: cluster, Default: "serve", Example: "ignore",
			Meaning: "Whether DHCP serves MACs that no machine of the cluster has: `serve` or `ignore`.",
			set: func(s *Values, v string) (err error) {
				s.IgnoreUnknownClients, err = oneOf(v, "serve", "ignore")
				return err
			}},
		{Name: KeyPaused, On: cluster, Default: "spec.pausedUntil", Example: "true",
			Meaning: "Nothing is changed while it holds: `true`, or until an RFC 3339 time.",
			set:     func(s *Values, v string) error { s.Paused = v; return paused(v) }},
		{Name: KeyPublish, On: Places{OnService}, Default: "not published", Example: "git.example.com:443",
			Meaning: "At most 64 names and ports at which machines reach the Service, 256 for all Services together. On port 443 the TLS server name decides; on any other port every connection goes there.",
			set:     func(s *Values, v string) (err error) { s.Publish, err = few(v, publishedAt); return err }},
	}
}
