// Package settings defines the annotations of oooi in one table: the keys, the
// objects that can have them, and the values. Validation, defaults and documentation
// use the table. The package reads annotations as maps and knows no object's spec.
package settings

import (
	"slices"
	"strings"

	"github.com/cldmnky/oooi/edge/wire"
)

// Prefix is the prefix of every annotation key of oooi.
const Prefix = wire.Prefix

// Annotation keys without the prefix that other packages use.
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
	KeyNamespaces   = "allowed-namespaces"

	KeyEdgeNodeSelector = "edge-node-selector"
)

// renamed returns the current name of a key that an earlier version used.
func renamed(name string) (now string, ok bool) {
	now, ok = map[string]string{"registries": KeyAllowedHosts}[name]
	return now, ok
}

// A Place is the kind of an object that can have annotations of oooi.
type Place string

// The kinds of objects that can have annotations.
const (
	OnHostedCluster               Place = "HostedCluster"
	OnNodePool                    Place = "NodePool"
	OnNetworkAttachmentDefinition Place = "NetworkAttachmentDefinition"
	OnService                     Place = "Service"
)

// String returns the place as the documentation shows it.
func (p Place) String() string {
	if p == OnService {
		return "Service in the control plane namespace"
	}
	return string(p)
}

// Places lists the kinds of objects on which an annotation has an effect.
type Places []Place

// String returns the places, separated by commas.
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
	// PerNodePool is true if the HostedCluster can also have "<name>.<nodepool>".
	PerNodePool bool
	Default     string
	Meaning     string
	Example     string
	set         func(*Values, string) error
}

// Keys returns the table in the order of the documentation.
func Keys() []Key {
	cluster, both := Places{OnHostedCluster}, Places{OnHostedCluster, OnNodePool}
	all := append(slices.Clip(both), OnNetworkAttachmentDefinition)
	return []Key{
		{Name: KeyNetwork, On: cluster, Default: "required", Example: "auto",
			Meaning: "Enables oooi for this hosted cluster. `auto`: all networks that the NodePools name. `<namespace>/<name>`: only that NetworkAttachmentDefinition. `none`: disables oooi and removes all its objects.",
			set:     func(s *Values, v string) (err error) { s.Network, err = networkName(v); return err }},
		{Name: KeyCIDR, On: all, PerNodePool: true, Default: "spec.networking.machineNetwork, for the network that VMs boot from", Example: "192.168.100.0/24",
			Meaning: "The IPv4 CIDR of the network. On a NodePool it applies to the first network that the NodePool lists. Set it on the NetworkAttachmentDefinition for any further network. The NetworkAttachmentDefinition has the lowest precedence.",
			set:     func(s *Values, v string) (err error) { s.CIDR, err = cidr(v); return err }},
		{Name: KeyGateway, On: all, PerNodePool: true, Default: "none: the network is isolated", Example: "192.168.100.1",
			Meaning: "The address of a router on the network. DHCP sends it as the default route.",
			set:     func(s *Values, v string) (err error) { s.Gateway, err = ipv4(v); return err }},
		{Name: KeyServices, On: both, Default: "all", Example: "dns,proxy",
			Meaning: "The servers that edges run: `dhcp`, `dns` and `proxy`. Leave out a server that the network already has.",
			set:     func(s *Values, v string) (err error) { s.Services, err = services(v); return err }},
		{Name: "edges", On: cluster, Default: "2, or 1 if spec.controllerAvailabilityPolicy is SingleReplica", Example: "2",
			Meaning: "The number of edges of each network: `1` or `2`. With two edges, one keeps serving when the other fails. Changing the value does not change any address.",
			set:     func(s *Values, v string) (err error) { s.Edges, err = edges(v); return err }},
		{Name: KeyEdgeNodeSelector, On: cluster, Default: "the node selectors of the network's NodePools", Example: "node-role.kubernetes.io/infra=,vlan100=yes",
			Meaning: "The labels of management cluster nodes that can run edges. A node needs all the labels, and access to the network. Overrides the node selectors of the NodePools. The operator's flag `--permit-edge-node-labels` limits the keys. Edges of a cluster whose `spec.tolerations` tolerate control plane nodes avoid these nodes, unless the flag permits their labels.",
			set:     func(s *Values, v string) (err error) { s.EdgeNodes, err = nodeLabels(v); return err }},
		{Name: "edge-addresses", On: both, Default: "the second to fifth usable address", Example: "192.168.100.2-192.168.100.5",
			Meaning: "Four addresses for oooi, in this order: next-hop VIP, service VIP, and the two edge addresses.",
			set:     func(s *Values, v string) (err error) { s.EdgeAddresses, err = addressList(v); return err }},
		{Name: "dhcp-range", On: both, Default: "the tenth to the second-to-last usable address", Example: "192.168.100.10-192.168.100.253",
			Meaning: "The DHCP pool: addresses that VMs can get.",
			set:     func(s *Values, v string) (err error) { s.DHCPRange, err = addressRange(v); return err }},
		{Name: "dhcp-exclude", On: both, Default: "none", Example: "192.168.100.50-192.168.100.59",
			Meaning: "Addresses in the pool that DHCP never assigns.",
			set:     func(s *Values, v string) (err error) { s.DHCPExclude, err = list(v, addressRange); return err }},
		{Name: "reservations", On: both, Default: "none", Example: "02:00:00:00:00:01=192.168.100.20",
			Meaning: "Fixed addresses for MAC addresses.",
			set:     func(s *Values, v string) (err error) { s.Reservations, err = list(v, reservation); return err }},
		{Name: "lease-time", On: both, Default: "1h", Example: "30m",
			Meaning: "The DHCP lease time, from one minute to one week.",
			set:     func(s *Values, v string) (err error) { s.LeaseTime, err = leaseTime(v); return err }},
		{Name: "mtu", On: both, Default: "the NetworkAttachmentDefinition's", Example: "9000",
			Meaning: "The MTU in bytes (DHCP option 26), from 576 to 65535.",
			set:     func(s *Values, v string) (err error) { s.MTU, err = mtu(v); return err }},
		{Name: KeyNTPServers, On: both, Default: "none", Example: "192.168.100.1",
			Meaning: "NTP servers (DHCP option 42).",
			set:     func(s *Values, v string) (err error) { s.NTPServers, err = list(v, ipv4); return err }},
		{Name: "dhcp-relays", On: both, Default: "none", Example: "192.168.100.1",
			Meaning: "Addresses (`giaddr`) of the DHCP relays that edges answer, in the network's CIDR. Packets from other relays are dropped.",
			set:     func(s *Values, v string) (err error) { s.DHCPRelays, err = list(v, ipv4); return err }},
		{Name: "search-domains", On: both, Default: "the domain of the hosted cluster", Example: "blue.example.com",
			Meaning: "DNS search domains (DHCP option 119).",
			set:     func(s *Values, v string) (err error) { s.SearchDomains, err = list(v, DomainName); return err }},
		{Name: "dns-upstreams", On: both, Default: "`none` without a gateway, else `management`", Example: "192.168.100.1:53",
			Meaning: "The DNS servers for names that edges do not answer. `none`: such queries are refused. `management`: the management cluster's resolver. Or a list of addresses outside the management cluster, at port 53 or 853. If `services` leaves out `dns`, DHCP sends these addresses to VMs.",
			set:     func(s *Values, v string) (err error) { s.Upstreams, err = upstreams(v); return err }},
		{Name: KeyDNSRecords, On: cluster, Default: "none", Example: "registry.example.com=192.168.100.1",
			Meaning: "Additional DNS records, at most 64. A first label `*` is a wildcard.",
			set:     func(s *Values, v string) (err error) { s.Records, err = limitedList(v, record); return err }},
		{Name: KeyAppsAddress, On: cluster, Default: "none", Example: "192.168.100.6",
			Meaning: "The address of `*.apps` of the hosted cluster.",
			set:     func(s *Values, v string) (err error) { s.AppsAddress, err = ipv4(v); return err }},
		{Name: KeyAllowedHosts, On: cluster, Default: "`auto` without a gateway, else `none`", Example: "auto,registry.example.com",
			Meaning: "External hosts that VMs can reach without a gateway. Edges select them by TLS server name. `auto`: the registries of the release image and its mirrors. At most 64 further hosts can follow; the default port is 443. `none`: no external host. The operator's flags `--permit-hosts` and `--permit-ports` limit them.",
			set:     func(s *Values, v string) (err error) { s.AllowedHosts, err = allowedHosts(v); return err }},
		{Name: "unknown-clients", On: cluster, Default: "serve", Example: "ignore",
			Meaning: "Whether DHCP serves clients whose MAC address belongs to no VM of the cluster: `serve` or `ignore`.",
			set: func(s *Values, v string) (err error) {
				s.IgnoreUnknownClients, err = oneOf(v, "serve", "ignore")
				return err
			}},
		{Name: KeyPaused, On: cluster, Default: "spec.pausedUntil", Example: "true",
			Meaning: "Pauses oooi for this hosted cluster: nothing is changed. `true`, or an RFC 3339 time at which the pause ends.",
			set:     func(s *Values, v string) error { s.Paused = v; return paused(v) }},
		{Name: KeyNamespaces, On: Places{OnNetworkAttachmentDefinition}, Default: "its own namespace; all for `default` and the global namespaces of OpenShift's Multus", Example: "clusters-blue",
			Meaning: "The control plane namespaces of the hosted clusters whose edges can join this network.",
			set:     func(s *Values, v string) (err error) { s.Namespaces, err = list(v, namespace); return err }},
		{Name: KeyPublish, On: Places{OnService}, Default: "not published", Example: "git.example.com:443",
			Meaning: "Names and ports at which VMs reach the Service, at most 64. All Services of a cluster together can have 256. On port 443, edges select the Service by TLS server name. On any other port, all connections go to the Service. It has no effect on copies of the hosted cluster's own Services.",
			set:     func(s *Values, v string) (err error) { s.Publish, err = limitedList(v, publishedAt); return err }},
	}
}
