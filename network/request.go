// This file holds Request: what the user asks for. Package hcp fills it in, and Derive
// reads it.

package network

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network/problem"
)

// A Cluster identifies a hosted cluster.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ControlPlaneNamespace is the namespace of the control plane's Services, and of all
	// objects that oooi creates.
	ControlPlaneNamespace string `json:"controlPlaneNamespace"`
	// Domain is the hosted cluster's DNS domain (blue.example.com). Empty until HyperShift
	// has chosen it (base domain passthrough).
	Domain string `json:"domain,omitempty"`
	// UID of the HostedCluster. It differs between two management clusters. Empty: unknown.
	UID string `json:"uid,omitempty"`
}

// String is "namespace/name".
func (c Cluster) String() string { return c.Namespace + "/" + c.Name }

// A Request is what the user asks for one hosted cluster: on its HostedCluster,
// NodePools and NetworkAttachmentDefinitions. Order has no meaning.
type Request struct {
	Cluster Cluster `json:"cluster"`
	// Edges is the number of edges of each network, 1 or 2.
	Edges int `json:"edges"`
	// Networks are those that are requested and whose NADs could be read.
	Networks []NetworkRequest `json:"networks"`
	// Wanted are the Names of all networks that a NodePool or a VM refers to, sorted. Their edges stay, even if the
	// network is invalid.
	Wanted []string `json:"wanted,omitempty"`
	// Unselected are the Names of networks with VMs that annotation network does not select, sorted.
	Unselected []string `json:"unselected,omitempty"`
	// Apps is the record of the hosted cluster's ingress. No name: not set.
	Apps Record `json:"apps,omitzero"`
	// ManagementDomain is the ingress domain of the management cluster, if the domain of the hosted cluster is that domain
	// or below it. A wildcard resolves all its names. Empty: the domain is another one, or no Route shows it.
	ManagementDomain string `json:"managementDomain,omitempty"`
	// Passthrough is true if HyperShift chose ManagementDomain as the base domain. Then others have only names of the
	// ingress in the domain of the hosted cluster. If the user chose it, closer DNS records of the user may end the wildcard.
	Passthrough bool `json:"passthrough,omitempty"`
	// FurtherApps are other names of the ingress. They resolve to the addresses of Apps, or to those of an Endpoint.
	FurtherApps []string `json:"furtherApps,omitempty"`
	// ManagementDNS is true if edges also answer DNS queries from pods of the management cluster.
	ManagementDNS bool      `json:"managementDNS,omitempty"`
	AccessLog     AccessLog `json:"accessLog,omitempty"`
	// Access is what the user opens to the management cluster.
	Access    AccessRequest    `json:"access,omitzero"`
	Placement PlacementRequest `json:"placement,omitzero"`
	// Permissions are those of the management cluster's administrator: the only part of a Request that the user does not set.
	Permissions Permissions `json:"permissions,omitzero"`
}

// A NetworkRequest is one network as the NodePools and annotations describe it.
type NetworkRequest struct {
	Attachment Attachment `json:"attachment"`
	// NodePools are the names of those that use the network, sorted.
	NodePools []string `json:"nodePools,omitempty"`
	// OlderTwins are other NADs ("namespace/name") of the same layer-2 network that an older NodePool names, or that
	// the same NodePool names first.
	OlderTwins []string `json:"olderTwins,omitempty"`
	// Primary is true if VMs get their default route, DNS and everything else that they need to boot from the network.
	// Other networks give them an address only.
	Primary bool `json:"primary"`
	// CIDR of the network. Zero: not set.
	CIDR netip.Prefix `json:"cidr,omitzero"`
	// CIDRField is where CIDR is or can be set, for messages: "annotation cidr on NodePool b". CIDRKeys are its Keys
	// for a Problem.
	CIDRField string   `json:"cidrField,omitempty"`
	CIDRKeys  []string `json:"cidrKeys,omitempty"`
	// Gateway is a router that the user set. Zero: the next-hop VIP is the router of an isolated network.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// VMs is the largest number of VMs at a time: the maximum sizes of the NodePools, and
	// their surge during an update. 0: unknown.
	VMs int `json:"vms,omitempty"`
	// UnservedNetworks is true if all VMs are also on networks whose addresses are unknown.
	UnservedNetworks bool `json:"unservedNetworks,omitempty"`
	// Settings of the user. Zero values mean the defaults.
	Settings Settings `json:"settings,omitzero"`
}

// An Attachment is how pods and VMs are attached to a network.
type Attachment struct {
	// Namespace and Name of the NetworkAttachmentDefinition that the VMs use.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is the CNI plugin's type ("bridge", "cnv-bridge", "ovn-k8s-cni-overlay",
	// ...). Empty if the NetworkAttachmentDefinition was not found.
	Kind string `json:"kind,omitempty"`
	// VLAN is the 802.1Q id, for display. 0: untagged or not set.
	VLAN int `json:"vlan,omitempty"`
	// MTU in bytes. 0: not set in the NetworkAttachmentDefinition.
	MTU int `json:"mtu,omitempty"`
	// ResourceName is the device plugin resource, copied to the edge NAD.
	ResourceName string `json:"resourceName,omitempty"`
	// Layer2 is equal for two NADs of one layer-2 network, as with the same bridge and VLAN. Empty: unknown.
	Layer2 string `json:"layer2,omitempty"`
	// ConfigHash is "<version>-<hash>" of the fields that edges use of the NetworkAttachmentDefinition. Other edits
	// do not change it. Empty: unknown.
	ConfigHash string `json:"configHash,omitempty"`
	// EdgeNADConfig is the CNI configuration of the edge NAD, which assigns the edges'
	// addresses. Empty: the edges use the NAD of the VMs (OVN localnet on nodes with CRI-O).
	EdgeNADConfig string `json:"edgeNADConfig,omitempty"`
	// AboveNAD is true if edges join the NAD of the VMs without addresses. The interface of EdgeNADConfig is on top of
	// that interface (OVN layer2, and localnet on nodes without CRI-O).
	AboveNAD bool `json:"aboveNAD,omitempty"`
	// VIPNADConfig is the CNI configuration of a second NAD for the edges. Its interface holds the VIPs and the
	// published addresses, and is not connected to any link. Empty: the interface on the network holds them.
	VIPNADConfig string `json:"vipNADConfig,omitempty"`
}

// InterfaceMTU returns the MTU in bytes of the interfaces of VMs and pods on a. It returns 0 if the MTU depends on the
// device below, or on OVN-Kubernetes. If a bridge has no MTU, its plugin leaves the MTU to the kernel, whose veth
// devices have 1500.
func (a Attachment) InterfaceMTU() int {
	if a.MTU == 0 && (a.Kind == "bridge" || a.Kind == "cnv-bridge") {
		return 1500
	}
	return a.MTU
}

// String is "namespace/name".
func (a Attachment) String() string { return a.Namespace + "/" + a.Name }

// NetworkName returns the Name of the Network on this attachment.
func (a Attachment) NetworkName() string { return a.Namespace + "." + a.Name }

// Settings are the user's settings for one network. Zero means the default, which Derive sets.
type Settings struct {
	// Services are the servers that edges run on the network. Nil: all.
	Services []Service `json:"services,omitempty"`
	// EdgeAddresses in this order: next-hop VIP, service VIP, edge 1, edge 2. Nil: default.
	EdgeAddresses []netip.Addr  `json:"edgeAddresses,omitempty"`
	DHCPRange     Range         `json:"dhcpRange,omitzero"`
	DHCPExclude   []Range       `json:"dhcpExclude,omitempty"`
	Reservations  []Reservation `json:"reservations,omitempty"`
	LeaseTime     Duration      `json:"leaseTime,omitempty"`
	// MTU in bytes for DHCP option 26.
	MTU        int          `json:"mtu,omitempty"`
	NTPServers []netip.Addr `json:"ntpServers,omitempty"`
	// ClientNetworks are networks behind the gateway whose hosts edges answer.
	ClientNetworks []netip.Prefix `json:"clientNetworks,omitempty"`
	// DHCPRelays are the giaddr addresses of relay agents that edges answer.
	DHCPRelays    []netip.Addr `json:"dhcpRelays,omitempty"`
	SearchDomains []string     `json:"searchDomains,omitempty"`
	Upstreams     *Upstreams   `json:"upstreams,omitempty"`
	// Records are additional names to answer, as the user wrote them.
	Records []Record `json:"records,omitempty"`
	// IgnoreUnknownClients is true if DHCP answers only the cluster's own VMs.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
}

// Problem returns a problem about s's network. Argument network has the name of the network.
func (s NetworkRequest) Problem(c problem.Cause, args problem.Args, keys ...string) problem.Problem {
	return s.Attachment.Problem(c, args, keys...)
}

// Problem returns a problem about the network of a. Argument network has the name of the network.
func (a Attachment) Problem(c problem.Cause, args problem.Args, keys ...string) problem.Problem {
	all := problem.Args{"network": {a.String()}}
	maps.Copy(all, args)
	return problem.New(c, problem.Subject{Kind: "Network", Namespace: a.Namespace, Name: a.Name}, all, keys...)
}

const DefaultLeaseTime = Duration(time.Hour)

// MinMTU and MaxMTU are the smallest and the largest MTU of a network, in bytes. Each IPv4 host
// takes packets of MinMTU (RFC 1122).
const (
	MinMTU = 576
	MaxMTU = 65535
)

// A PlacementRequest holds the placement settings in the objects of a hosted cluster.
// Nodes are those of the management cluster.
type PlacementRequest struct {
	// NodeSelector is the user's selector for edges. Nil: the selectors of NodePools apply.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// NodePools holds the node selector of each KubeVirt NodePool by the name of the
	// NodePool. An empty selector allows every node.
	NodePools map[string]map[string]string `json:"nodePools,omitempty"`
	// Tolerations of the control plane's own pods.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// PriorityClass of the control plane's most important pods. Empty: the
	// management cluster does not have it.
	PriorityClass string `json:"priorityClass,omitempty"`
}

// Selects reports whether the user wants server x. Edges of a secondary network run only DHCP, whatever Selects returns.
func (s Settings) Selects(x Service) bool { return s.Services == nil || slices.Contains(s.Services, x) }

// SameNetwork reports whether a and b are the same layer-2 network.
func (a Attachment) SameNetwork(b Attachment) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name || a.Layer2 != "" && a.Layer2 == b.Layer2
}
