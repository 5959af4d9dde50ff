// This file holds the annotation keys and fields that problems name as what to change.

package network

// Annotation keys, without prefix.
const (
	KeyAccess         = "management-access"
	KeyAccessFrom     = "management-access-from"
	KeyAccessBy       = "management-access-accounts"
	KeyAllowedHosts   = "allowed-hosts"
	KeyAppsAddress    = "apps-address"
	KeyCIDR           = "cidr"
	KeyClientNetworks = "client-networks"
	KeyDHCPExclude    = "dhcp-exclude"
	KeyDHCPRange      = "dhcp-range"
	KeyDHCPRelays     = "dhcp-relays"
	KeyEdgeAddresses  = "edge-addresses"
	KeyGateway        = "gateway"
	KeyMTU            = "mtu"
	KeyNetwork        = "network"
	KeyNTPServers     = "ntp-servers"
	KeyPublish        = "publish"
	KeyRecords        = "dns-records"
	KeyReservations   = "reservations"
	KeyServices       = "services"
	KeyUpstreams      = "dns-upstreams"
)

// Fields of the HostedCluster and its NodePools.
const (
	FieldAdditionalNetworks = "spec.platform.kubevirt.additionalNetworks"
	// KeyPublishing sets the addresses that HyperShift publishes.
	KeyPublishing = "spec.services"
)
