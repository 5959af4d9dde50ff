// This file holds Request: what the user asks for. It decides nothing; hcp fills
// it in, and Derive reads it.

package network

import (
	"net/netip"
)

// A Cluster says whose plan this is.
type Cluster struct {
	// Namespace and Name of the HostedCluster.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ControlPlaneNamespace is where the control plane's Services live, and
	// everything of ours.
	ControlPlaneNamespace string `json:"controlPlaneNamespace"`
	// Domain is the hosted cluster's own DNS domain (blue.example.com). Empty
	// where HyperShift has not chosen it yet (base domain passthrough).
	Domain string `json:"domain,omitempty"`
}

// String is "namespace/name".
func (c Cluster) String() string { return c.Namespace + "/" + c.Name }

// A Request is what the user asks for one hosted cluster: on its HostedCluster,
// NodePools and NetworkAttachmentDefinitions. Order has no meaning.
type Request struct {
	Cluster Cluster `json:"cluster"`
	// Edges is how many edges each network gets, 1 or 2.
	Edges int `json:"edges"`
	// Networks that are asked for, as far as their definitions could be read.
	Networks []NetworkRequest `json:"networks"`
	// Wanted are the Names of all networks that a NodePool or a VM names, in whatever
	// state they are: what runs there is not removed. Sorted.
	Wanted []string `json:"wanted,omitempty"`
	// Apps is the record of the hosted cluster's ingress. No name: not set.
	Apps Record `json:"apps,omitzero"`
	// Placement of the edges' pods.
	Placement PlacementRequest `json:"placement,omitzero"`
}

// A NetworkRequest is one network as the NodePools and annotations describe it.
type NetworkRequest struct {
	Attachment Attachment `json:"attachment"`
	// NodePools that name it, sorted.
	NodePools []string `json:"nodePools,omitempty"`
	// Primary networks carry a VM's default route, DNS and everything
	// else it needs to boot; others give an address only.
	Primary bool `json:"primary"`
	// CIDR is invalid (zero) while nobody has said it.
	CIDR netip.Prefix `json:"cidr,omitzero"`
	// CIDRField names where CIDR is set, or can be, for people: "annotation cidr on
	// NodePool b". CIDRKeys are the same as keys of a Problem.
	CIDRField string   `json:"cidrField,omitempty"`
	CIDRKeys  []string `json:"cidrKeys,omitempty"`
	// CIDRUnused is why CIDRFound, from spec.networking.machineNetwork, is not the
	// CIDR of a network that has none: NetworkCIDROnlyIPv6, NetworkCIDRForBootOnly
	// or NetworkCIDRAmbiguous. Empty: there is nothing of the kind.
	CIDRUnused Cause  `json:"cidrUnused,omitempty"`
	CIDRFound  string `json:"cidrFound,omitempty"`
	// Gateway is a router that the user named. Zero: none, the network is
	// isolated and the next hop is handed out as router.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// VMs is how many there may ever be at once: the NodePools' largest sizes, and
	// what an update adds for a while. 0: not known.
	VMs int `json:"vms,omitempty"`
	// Settings the user gave; zero values mean the defaults.
	Settings Settings `json:"settings,omitzero"`
}

// An Attachment is how a pod or a VM gets onto a network.
type Attachment struct {
	// Namespace and Name of the NetworkAttachmentDefinition that the VMs use.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is the CNI plugin's type ("bridge", "cnv-bridge", "ovn-k8s-cni-overlay",
	// ...). Empty where the definition has not been seen.
	Kind string `json:"kind,omitempty"`
	// VLAN is its 802.1Q id, 0 for untagged or not said. For display.
	VLAN int `json:"vlan,omitempty"`
	// MTU in bytes, 0 where the definition does not say.
	MTU int `json:"mtu,omitempty"`
	// ResourceName is the definition's device plugin resource, copied to the edge NAD.
	ResourceName string `json:"resourceName,omitempty"`
	// Layer2 is equal for two definitions of one network, such as the same bridge and
	// VLAN. Empty: not known.
	Layer2 string `json:"layer2,omitempty"`
	// EdgeNADConfig is the CNI configuration of the edge NAD, by which edges get their
	// addresses. Empty: the edges use the VMs' own definition (OVN).
	EdgeNADConfig string `json:"siblingConfig,omitempty"`
}

// String is "namespace/name".
func (a Attachment) String() string { return a.Namespace + "/" + a.Name }

// NetworkName is the Name of the Network on this attachment.
func (a Attachment) NetworkName() string { return a.Namespace + "." + a.Name }

// Settings are what a user may choose for one network. The zero value of each
// field means the default that Derive gives it.
type Settings struct {
	// Services that run here. Nil: all.
	Services []Service `json:"services,omitempty"`
	// EdgeAddresses in this order: next hop, service address, one per edge (two).
	EdgeAddresses []netip.Addr  `json:"edgeAddresses,omitempty"`
	DHCPRange     Range         `json:"dhcpRange,omitzero"`
	DHCPExclude   []Range       `json:"dhcpExclude,omitempty"`
	Reservations  []Reservation `json:"reservations,omitempty"`
	LeaseTime     Duration      `json:"leaseTime,omitempty"`
	// MTU in bytes for DHCP option 26.
	MTU        int          `json:"mtu,omitempty"`
	NTPServers []netip.Addr `json:"ntpServers,omitempty"`
	// DHCPRelays whose packets are answered, by the address they put in giaddr.
	DHCPRelays    []netip.Addr `json:"dhcpRelays,omitempty"`
	SearchDomains []string     `json:"searchDomains,omitempty"`
	Upstreams     *Upstreams   `json:"upstreams,omitempty"`
	// Records are further names to answer, as the user wrote them.
	Records []Record `json:"records,omitempty"`
	// IgnoreUnknownClients answers only the cluster's own VMs.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
}
