// This file holds Intent: what the objects of one hosted cluster ask for, in
// our words. It decides nothing; hcp fills it in, NewPlan reads it.

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

// An Intent is what one hosted cluster asks for. Order carries no meaning.
type Intent struct {
	Cluster Cluster `json:"cluster"`
	// Edges is how many edges each network gets, 1 or 2.
	Edges     int        `json:"edges"`
	Segments  []Segment  `json:"segments"`
	Endpoints []Endpoint `json:"endpoints"`
	// Waiting are the names of endpoints that there will be, and whose place or
	// Service is not known now; one that ends with "/" is every endpoint whose name
	// begins so. What the last plan has of them stays.
	Waiting []string `json:"waiting,omitempty"`
	// Runs are the networks in force that stay, as they are: no other network gets
	// an address of theirs.
	Runs []Network `json:"runs,omitempty"`
	// Elsewhere is what edges must reach by the pod network.
	Elsewhere []Place `json:"elsewhere,omitempty"`
	// Guest is what the hosted cluster has inside itself, where its nodes look for
	// nothing else.
	Guest []Place `json:"guest,omitempty"`
	// Apps is the record of the hosted cluster's ingress where the user said it. No
	// name: nobody did.
	Apps Record `json:"apps,omitzero"`
	// Announced are bare IPs that something will be published at, known before it
	// is and not to be changed after.
	Announced []netip.Addr `json:"announced,omitempty"`
	// Placement of edges' pods, as far as it was asked for.
	Placement PlacementRequest `json:"placement,omitzero"`
}

// A Place is an address or a network that lies elsewhere, and so can't be reached
// where it lies on a segment too.
type Place struct {
	// What it is, as a problem says it: "the resolver", "node worker-1".
	What   string       `json:"what"`
	Prefix netip.Prefix `json:"prefix"`
	// Node: it is a management node's own address, which HyperShift may publish.
	Node bool `json:"node,omitempty"`
}

// A Segment is one layer-2 network as the NodePools and annotations describe it.
type Segment struct {
	Attachment Attachment `json:"attachment"`
	// NodePools that name it, sorted.
	NodePools []string `json:"nodePools,omitempty"`
	// Primary segments carry a machine's default route, DNS and everything
	// else it needs to boot; others give an address only.
	Primary bool `json:"primary"`
	// CIDR is invalid (zero) while nobody has said it.
	CIDR netip.Prefix `json:"cidr,omitzero"`
	// CIDRField names where CIDR was read, or where it is missing.
	CIDRField string `json:"cidrField,omitempty"`
	// CIDRUnused says in words why something that was said is not its CIDR.
	CIDRUnused string `json:"cidrUnused,omitempty"`
	// Gateway is a router that the user named. Zero: none, the segment is
	// isolated and the next hop is handed out as router.
	Gateway netip.Addr `json:"gateway,omitzero"`
	// Machines is how many there may ever be at once: the NodePools' largest
	// sizes, and what an update adds for a while. 0: not known.
	Machines int `json:"machines,omitempty"`
	// Settings the user gave; zero values mean the defaults.
	Settings Settings `json:"settings,omitzero"`
}

// An Attachment is how a pod or a virtual machine gets onto a segment.
type Attachment struct {
	// Namespace and Name of the NetworkAttachmentDefinition that the machines use.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Kind is the CNI plugin's type ("bridge", "cnv-bridge", "ovn-k8s-cni-overlay",
	// ...). Empty where the definition has not been seen.
	Kind string `json:"kind,omitempty"`
	// VLAN is its 802.1Q id, 0 for untagged or not said. For display.
	VLAN int `json:"vlan,omitempty"`
	// MTU in bytes, 0 where the definition does not say.
	MTU int `json:"mtu,omitempty"`
	// ResourceName is the definition's device plugin resource, copied to the sibling.
	ResourceName string `json:"resourceName,omitempty"`
	// Layer2 tells segments apart on which different definitions may lie: equal
	// for two definitions of one bridge and VLAN. Empty where it can't be told.
	Layer2 string `json:"layer2,omitempty"`
	// SiblingConfig is the CNI configuration of the definition that is made for the
	// edges beside the machines' own, which carries no addresses. Empty: the edges
	// use the machines' own definition, which takes addresses as it is (OVN).
	SiblingConfig string `json:"siblingConfig,omitempty"`
}

// String is "namespace/name".
func (a Attachment) String() string { return a.Namespace + "/" + a.Name }

// NetworkName is the Name of the Network on this attachment.
func (a Attachment) NetworkName() string { return a.Namespace + "." + a.Name }

// Settings are what a user may choose for one segment. The zero value of each
// field means the default that NewPlan gives it.
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
	// IgnoreUnknownClients serves nobody but the cluster's own machines.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
}

// A Match says how a connection to an endpoint's port is recognised as meant for it.
type Match string

const (
	// MatchAny: every connection to the port that nobody else claims by name;
	// the TLS server name is not needed (the API server, node ports).
	MatchAny Match = "any"
	// MatchServerName: only connections whose TLS server name (RFC 6066, section
	// 3) is one of the endpoint's hosts.
	MatchServerName Match = "server-name"
)

// An Origin is who asked for an endpoint.
type Origin string

// The origins, in the order in which they win a place that two of them want.
const (
	// OriginHyperShift: HyperShift publishes it.
	OriginHyperShift Origin = ""
	// OriginService: an annotation on a Service publishes it.
	OriginService Origin = "service"
	// OriginApps: it is the hosted cluster's own ingress.
	OriginApps Origin = "apps"
	// OriginRegistry: machines pull their images from it.
	OriginRegistry Origin = "registry"
)

// An Endpoint is one thing machines must reach: where they dial, and the
// Service that answers.
type Endpoint struct {
	// Name tells endpoints apart: "kube-apiserver", or the Route's name.
	Name string `json:"name"`
	// Origin is who asked for it, which decides who is served where two want the
	// same place.
	Origin Origin `json:"origin,omitempty"`
	// Hosts are the DNS names machines dial, without trailing dot.
	Hosts []string `json:"hosts,omitempty"`
	// Addresses are the bare IPs machines dial.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Port      uint16       `json:"port"`
	Match     Match        `json:"match"`
	Backend   Backend      `json:"backend"`
}
