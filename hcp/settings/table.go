// Package settings defines the annotations of oooi in one table: the keys, the objects that can have them, and the
// values. Validation, defaults and documentation use the table. The package reads annotations as maps and does not
// know the specs of objects.
package settings

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// Prefix is the prefix of every annotation key of oooi.
const Prefix = wire.Prefix

// LabelHostedService marks a copy of a Service of the hosted cluster. KubeVirt's cloud provider creates the copy in the
// control plane namespace, with the annotations of the original. A user of the hosted cluster may have set them, so
// annotations of copies are neither read nor checked.
const LabelHostedService = "cluster.x-k8s.io/tenant-service-name"

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
	return strings.Join(network.Texts(ps), ", ")
}

// An Extent says to which networks a value of the HostedCluster applies.
type Extent int

// The extents. On a NodePool, a value applies to the network that the NodePool lists first.
const (
	// WholeCluster: the value applies to the cluster, not to networks.
	WholeCluster Extent = iota
	// EachNetwork: all networks of the hosted cluster.
	EachNetwork
	// FirstNetworks: the networks that a NodePool lists first.
	FirstNetworks
	// OneNetwork: the network whose CIDR contains the addresses in the value.
	OneNetwork
)

// A Key is one row of the table.
type Key struct {
	Name string
	On   Places
	For  Extent
	// PerNodePool is true if the HostedCluster can also have "<name>.<nodepool>". A NodePool without a value then uses
	// the value of the others on its network. All other keys must have the same value on all NodePools of a network.
	PerNodePool bool
	// NADFirst is true if the NetworkAttachmentDefinition overrides the HostedCluster. Otherwise the HostedCluster
	// overrides it.
	NADFirst bool
	// Ordered is true if the order of a list has a meaning.
	Ordered bool
	Default string
	Meaning string
	Example string
	value   value
	// means, if set, returns something that is equal for two values with the same meaning.
	means func(Values) any
	// joins, if set, reports whether the value in other replaces that in own although function means returns the same
	// for own and other.
	joins func(own, other Values) bool
	// origin, if set, returns where the value was set: a field or annotation for messages, and keys of problems.
	origin func(*Values) (field *string, keys *[]string)
}

// Keys returns the table, in the order of the documentation.
func Keys() []Key { return slices.Clone(table()) }

// Named returns the row with this name, which must exist.
func Named(name string) Key {
	return table()[slices.IndexFunc(table(), func(k Key) bool { return k.Name == name })]
}

// table is built once, because each plan looks up many keys. It does not change.
var table = sync.OnceValue(rows)

func rows() []Key {
	cluster, both := Places{OnHostedCluster}, Places{OnHostedCluster, OnNodePool}
	all := append(slices.Clip(both), OnNetworkAttachmentDefinition)
	return append([]Key{
		{Name: network.KeyNetwork, On: cluster, Default: "required", Example: "auto",
			Meaning: "Enables oooi for this hosted cluster. `auto`: oooi serves all networks that the NodePools name. `<namespace>/<name>`: oooi serves only that NetworkAttachmentDefinition, and networks that VMs still use. `none`: oooi removes its objects immediately. If you delete the annotation, oooi also removes its objects, but warns for ten minutes first if VMs use a network.",
			value:   into(networkNames(), func(s *Values) *string { return &s.Network })},
		{Name: network.KeyCIDR, On: all, For: OneNetwork, PerNodePool: true, Default: "spec.networking.machineNetwork, for the network that VMs boot from", Example: "192.168.100.0/24",
			Meaning: "The IPv4 CIDR of the network. For a network that no NodePool lists first, set `cidr` on the NetworkAttachmentDefinition.",
			value:   into(cidrs(), func(s *Values) *netip.Prefix { return &s.CIDR }),
			origin:  func(s *Values) (*string, *[]string) { return &s.CIDRField, &s.CIDRKeys }},
		{Name: network.KeyGateway, On: all, For: OneNetwork, PerNodePool: true, Default: "none: the network is isolated", Example: "192.168.100.1",
			Meaning: "The address of a router on the network, which DHCP sends as the default route. Pods of running nodes use a new one when their node restarts.",
			value:   into(addresses(), func(s *Values) *netip.Addr { return &s.Gateway })},
		{Name: network.KeyClientNetworks, On: all, For: OneNetwork, PerNodePool: true, Default: "none", Example: "10.9.0.0/16",
			Meaning: "IPv4 networks behind the gateway, such as an office network. Their hosts can reach the service VIP. At most 64 networks, each with a prefix length of 8 to 32. For these hosts, edges resolve only the names of the hosted cluster. The annotation has no effect without `gateway`, or on a `localnet` network if all Linux nodes run CRI-O.",
			value:   into(limitedListOf(clientNetworks()), func(s *Values) *[]netip.Prefix { return &s.ClientNetworks })},
		{Name: network.KeyServices, On: all, For: EachNetwork, NADFirst: true, Default: "all", Example: "dns,proxy",
			Meaning: "The servers that edges run: `dhcp`, `dns`, `ntp` and `proxy`. Leave out a server that the network already has. `none`: oooi does not serve the network. If VMs boot from the network, `none` is an Error.",
			value:   into(serviceLists(), func(s *Values) *[]network.Service { return &s.Services }), means: servicesBesidesTime, joins: addsTime},
		{Name: network.KeyEdges, On: cluster, Default: "2, or 1 if spec.controllerAvailabilityPolicy is SingleReplica", Example: "2",
			Meaning: "The number of edges of each network: `1` or `2`. With two edges, one keeps serving when the other fails.",
			value:   into(edgeCounts(), func(s *Values) *int { return &s.Edges })},
		{Name: network.KeyEdgeNodeSelector, On: cluster, Default: "at most 16 node selectors of the network's NodePools", Example: "node-role.kubernetes.io/infra=,vlan100=yes",
			Meaning: "The labels of management cluster nodes that can run edges, at most 64. An edge runs only on a node that has all these labels. Each such node needs access to the network. The operator's flag `--permit-edge-node-labels` limits the keys. By default, the flag forbids the roles `master` and `control-plane`.",
			value:   into(nodeLabelLists(), func(s *Values) *map[string]string { return &s.EdgeNodes })},
		{Name: network.KeyEdgeAddresses, On: both, For: OneNetwork, Ordered: true, Default: "the second to fifth usable address", Example: "192.168.100.2-192.168.100.5",
			Meaning: "Four addresses, as a range or a list, in this order: [next-hop VIP and service VIP](glossary.md), then the two edge addresses.",
			value:   into(addressLists(), func(s *Values) *[]netip.Addr { return &s.EdgeAddresses })},
		{Name: network.KeyDHCPRange, On: both, For: OneNetwork, Default: "the tenth to the second-to-last usable address", Example: "192.168.100.10-192.168.100.253",
			Meaning: "The DHCP pool: addresses that VMs can get.",
			value:   into(addressRanges(), func(s *Values) *network.Range { return &s.DHCPRange })},
		{Name: network.KeyDHCPExclude, On: both, For: OneNetwork, Default: "none", Example: "192.168.100.50-192.168.100.59",
			Meaning: "Addresses in the pool that DHCP assigns to no new client: at most 64 ranges or addresses.",
			value:   into(limitedListOf(addressRanges()), func(s *Values) *[]network.Range { return &s.DHCPExclude })},
		{Name: network.KeyReservations, On: both, For: OneNetwork, Default: "none", Example: "02:00:00:00:00:01=192.168.100.20",
			Meaning: "Fixed IP addresses for MAC addresses.",
			value:   into(listOf(reservations()), func(s *Values) *[]network.Reservation { return &s.Reservations })},
		{Name: network.KeyLeaseTime, On: both, For: EachNetwork, Default: network.DefaultLeaseTime.String(), Example: "30m", value: into(leaseTimes(), func(s *Values) *network.Duration { return &s.LeaseTime }),
			Meaning: "The DHCP lease time, from one minute to one week.",
			means:   func(s Values) any { return cmp.Or(s.LeaseTime, network.DefaultLeaseTime) }},
		{Name: network.KeyMTU, On: both, For: FirstNetworks, Default: "the MTU of the NetworkAttachmentDefinition", Example: "9000", value: into(mtus(), func(s *Values) *int { return &s.MTU }),
			Meaning: "The MTU in bytes that DHCP sends to VMs (option 26), from 576 to 65535. A node keeps the MTU with which it booted. If a smaller MTU does not fit the pod network, nodes that boot later do not become Ready."},
		{Name: network.KeyNTPServers, On: both, For: FirstNetworks, Default: "the service VIP if `services` has `ntp`, else none", Example: "192.168.100.1",
			Meaning: "The NTP servers that DHCP sends to VMs (option 42), at most 64.",
			value:   into(limitedListOf(addresses()), func(s *Values) *[]netip.Addr { return &s.NTPServers })},
		{Name: network.KeyDHCPRelays, On: both, For: FirstNetworks, Default: "none", Example: "192.168.100.1",
			Meaning: "Addresses (`giaddr`) of the DHCP relays that edges answer, at most 64. The addresses must be in the network's CIDR. Edges drop packets from other relays.",
			value:   into(limitedListOf(addresses()), func(s *Values) *[]netip.Addr { return &s.DHCPRelays })},
		{Name: network.KeySearchDomains, On: both, For: FirstNetworks, Ordered: true, Default: "the domain of the hosted cluster", Example: "blue.example.com",
			Meaning: "The DNS search domains that DHCP sends to VMs (option 119), at most 64. If the domain is below the ingress domain of the management cluster, and other DNS servers resolve its names for VMs, the default is none.",
			value:   into(limitedListOf(domainNames()), func(s *Values) *[]string { return &s.SearchDomains })},
		{Name: network.KeyUpstreams, On: both, For: FirstNetworks, Default: "`none` without a gateway, else `management`", Example: "192.168.100.1:53",
			Meaning: "The DNS servers for names that edges do not know: `none`, `management`, or at most 64 addresses, with port 53 (the default) or 853. `none`: edges answer that such names do not exist (NXDOMAIN). `management`: edges ask the management cluster's resolver. Edges reach DNS servers in the CIDR over the network, and all others through the pod network. Edges never forward queries for names of the management cluster. If `services` leaves out `dns`, DHCP sends the listed addresses to VMs.",
			value:   into(upstreamLists(), func(s *Values) **network.Upstreams { return &s.Upstreams })},
		{Name: network.KeyRecords, On: cluster, For: FirstNetworks, Default: "none", Example: "registry.example.com=192.168.100.1",
			Meaning: "Additional DNS records, at most 64. A first label `*` is a wildcard, which must not cover a search domain. DHCP does not assign the addresses of these records to new VMs.",
			value:   into(limitedListOf(records()), func(s *Values) *[]network.Record { return &s.Records })},
		{Name: network.KeyPodDNS, On: cluster, Default: "refuse", Example: "serve", value: into(oneOf("refuse", "serve"), func(s *Values) *bool { return &s.ManagementDNS }),
			Meaning: "Whether edges resolve published names for pods of the management cluster: `serve` or `refuse`. With `serve`, oooi creates Service `oooi-dns`, which pods of `kube-system` and `openshift-dns` can use. Configure the management cluster's DNS to forward the names to this Service."},
		{Name: network.KeyAppsAddress, On: cluster, Default: "none", Example: "192.168.100.6", value: into(addresses(), func(s *Values) *netip.Addr { return &s.AppsAddress }),
			Meaning: "The address of `*.apps` of the hosted cluster. DHCP does not assign it to new VMs."},
		{Name: network.KeyAllowedHosts, On: cluster, Default: "`auto` without a gateway, else `none`", Example: "auto,registry.example.com",
			Meaning: "External hosts that VMs can reach without a gateway. Edges select the host by TLS server name. `auto`: the registries of the release image and its mirrors. At most 64 further hosts can follow `auto`. The default port of a host is 443. `none`: no external hosts are allowed. The operator's flags `--permit-hosts` and `--permit-ports` limit these hosts.",
			value:   into(allowedHostLists(), func(s *Values) **AllowedHosts { return &s.AllowedHosts })},
		{Name: network.KeyUnknownClients, On: cluster, For: EachNetwork, Default: "serve", Example: "ignore", value: into(oneOf("serve", "ignore"), func(s *Values) *bool { return &s.IgnoreUnknownClients }),
			Meaning: "Whether DHCP serves clients whose MAC address is not that of a VM of the cluster: `serve` or `ignore`."},
		{Name: network.KeyAccessLog, On: cluster, Default: string(network.DefaultAccessLog), Example: "all", value: into(accessLogs(), func(s *Values) *network.AccessLog { return &s.AccessLog }),
			Meaning: "Which proxied connections the edges log: `none`, `failures` or `all` ([the access log](metrics.md#the-access-log))."},
		{Name: network.KeyInfra, On: cluster, Default: "external", Example: "here", value: into(oneOf("external", "here"), func(s *Values) *bool { return &s.VMsHere }),
			Meaning: "Only for a HostedCluster with spec.platform.kubevirt.credentials: where its VMs run. `external`: on another cluster. `here`: on this management cluster. Set `here` if the kubeconfig in these credentials points to this management cluster, for example through [oooi-apiproxy](clients.md#kubevirt-under-another-name). With `here`, `infraNamespace` must be the control plane namespace."},
		{Name: network.KeyPaused, On: cluster, Default: "spec.pausedUntil", Example: "true",
			Meaning: "Pauses oooi for this hosted cluster: oooi then updates only the condition. The value is `true`, or an RFC 3339 time at which the pause ends.",
			value:   into(pauses(), func(s *Values) *string { return &s.Paused })},
	}, slices.Concat(keysOfOthers(), accessKeys())...)
}

func keysOfOthers() []Key {
	return []Key{
		{Name: network.KeyNamespaces, On: Places{OnNetworkAttachmentDefinition}, Default: "the namespace of the NetworkAttachmentDefinition. If that is `default` or a global namespace of OpenShift's Multus: all namespaces", Example: "clusters-blue",
			Meaning: "Control plane namespaces. Edges in these namespaces can join this network. A NetworkAttachmentDefinition in `default` or in a global namespace cannot be restricted: all hosted clusters can use it.",
			value:   into(listOf(namespaces()), func(s *Values) *[]string { return &s.Namespaces })},
		{Name: network.KeyPublish, On: Places{OnService}, Default: "not published", Example: "git.example.com:443",
			Meaning: "Names and ports at which VMs reach the Service: at most 64. All Services of a cluster together can have at most 256. On port 443, edges select the Service by TLS server name. On any other port, all connections go to this Service.",
			value:   into(limitedListOf(publishedHosts()), func(s *Values) *[]HostPort { return &s.Publish })},
	}
}
