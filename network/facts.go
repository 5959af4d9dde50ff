// This file holds Facts: what is seen of a hosted cluster and of the management
// cluster now. It decides nothing; hcp fills it in, and Derive reads it.

package network

import "net/netip"

// Facts are what is seen now. Order has no meaning.
type Facts struct {
	// Endpoints that VMs must reach.
	Endpoints []Endpoint `json:"endpoints"`
	// Waiting are the names of endpoints that will exist, and whose address or Service
	// is not known now; one that ends with "/" is every endpoint whose name begins
	// with it. The last known good of them is served.
	Waiting []string `json:"waiting,omitempty"`
	// Announced are bare IPs that something will be published at, known before it
	// is published, and final.
	Announced []netip.Addr `json:"announced,omitempty"`
	// Reserved is what edges must reach through the pod network.
	Reserved []ReservedDestination `json:"reserved,omitempty"`
	// Guest is what the hosted cluster uses inside itself (pods, Services), where its
	// nodes look for nothing else.
	Guest []ReservedDestination `json:"guest,omitempty"`
	// InUse are the Names of the networks that VMs are on now. Sorted.
	InUse []string `json:"inUse,omitempty"`
	// VMAddresses are the addresses that VMs were seen to have.
	VMAddresses []VMAddress `json:"vmAddresses,omitempty"`
	// Problems that were found while the objects were read: a value that can't be
	// read, an endpoint that is not published yet.
	Problems Problems `json:"problems,omitempty"`
}

// A ReservedDestination is an address or a CIDR that lies outside of the cluster's
// networks. It can't be reached where a network has the same addresses.
type ReservedDestination struct {
	// What it is, as a problem says it: "the resolver", "node worker-1".
	What   string       `json:"what"`
	Prefix netip.Prefix `json:"prefix"`
	// Node: it is a management node's own address, which HyperShift may publish.
	Node bool `json:"node,omitempty"`
}

// A VMAddress is an address that a VM was seen to have on a network.
type VMAddress struct {
	VM string `json:"vm"`
	// Network is the Name of the network.
	Network string     `json:"network"`
	Address netip.Addr `json:"address"`
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
