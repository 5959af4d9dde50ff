// This file holds the annotation keys and the fields of objects that problems name. The user changes their values to
// solve a problem.

package network

// Annotation keys, without prefix. hcp/settings has the table of all annotations.
const (
	KeyAccessLog        = "access-log"
	KeyAllowedHosts     = "allowed-hosts"
	KeyNamespaces       = "allowed-namespaces"
	KeyAppsAddress      = "apps-address"
	KeyCIDR             = "cidr"
	KeyClientNetworks   = "client-networks"
	KeyDHCPExclude      = "dhcp-exclude"
	KeyDHCPRange        = "dhcp-range"
	KeyDHCPRelays       = "dhcp-relays"
	KeyRecords          = "dns-records"
	KeyUpstreams        = "dns-upstreams"
	KeyEdges            = "edges"
	KeyEdgeAddresses    = "edge-addresses"
	KeyEdgeNodeSelector = "edge-node-selector"
	KeyLeaseTime        = "lease-time"
	KeySearchDomains    = "search-domains"
	KeyUnknownClients   = "unknown-clients"
	KeyGateway          = "gateway"
	KeyInfra            = "infrastructure"
	KeyAccess           = "management-access"
	KeyAccessBy         = "management-access-accounts"
	KeyAccessFrom       = "management-access-from"
	KeyPodDNS           = "management-dns"
	KeyMTU              = "mtu"
	KeyNetwork          = "network"
	KeyNTPServers       = "ntp-servers"
	KeyPaused           = "paused"
	KeyPublish          = "publish"
	KeyReservations     = "reservations"
	KeyServices         = "services"
)

// Fields of the HostedCluster and its NodePools.
const (
	FieldAdditionalNetworks   = "spec.platform.kubevirt.additionalNetworks"
	FieldAttachDefaultNetwork = "spec.platform.kubevirt.attachDefaultNetwork"
	FieldClusterName          = "spec.clusterName"
	// KeyPublishing sets the addresses that HyperShift publishes.
	KeyPublishing = "spec.services"
)
