// This file holds Plan: what is served, as data. It decides nothing.

package network

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"
)

// A Plan is everything that is served to one hosted cluster.
//
// It is built whole by Derive and never changed afterwards. Slices are sorted,
// so equal plans are equal bytes. It holds no secret and no Kubernetes type.
type Plan struct {
	// Version of the format.
	Version  PlanVersion `json:"version"`
	Cluster  Cluster     `json:"cluster"`
	Networks []Network   `json:"networks"`
	// Endpoints that the networks' names and connections were made from: what a
	// later look at the cluster can't make out is kept from here.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// A Network is what is served on one segment.
type Network struct {
	// Name is the segment's "<namespace>.<name>": unique in a plan, stable, and
	// part of object names.
	Name       string     `json:"name"`
	Attachment Attachment `json:"attachment"`
	NodePools  []string   `json:"nodePools,omitempty"`
	Primary    bool       `json:"primary"`
	// Services are the servers that each edge runs here, sorted.
	Services []Service    `json:"services"`
	CIDR     netip.Prefix `json:"cidr"`
	// NextHopVIP is the address machines route by, held by every edge. Nothing
	// serves on it.
	NextHopVIP netip.Addr `json:"nextHop"`
	// ServiceVIP is where DNS and the named endpoints answer, held by every
	// edge. It is also the DHCP server identifier.
	ServiceVIP netip.Addr `json:"serviceAddress"`
	// Edges that run. Their addresses are for what edges say to each other.
	Edges []Edge `json:"edges"`
	// ReservedAddresses are kept for an edge that does not run today, so that
	// adding it moves nobody.
	ReservedAddresses []netip.Addr `json:"reservedAddresses,omitempty"`
	// PublishedAddresses are the bare IPs that HyperShift published; every edge
	// holds each as a /32.
	PublishedAddresses []netip.Addr `json:"publishedAddresses,omitempty"`
	// Placement of the edges' pods.
	Placement Placement  `json:"placement,omitzero"`
	DHCP      DHCP       `json:"dhcp"`
	DNS       DNS        `json:"dns"`
	Listeners []Listener `json:"listeners,omitempty"`
	Backends  []Backend  `json:"backends,omitempty"`
	// ReservedDestinations are inside the management cluster, and never dialed for an
	// external host; ReservedNodes are its nodes' addresses, of which the ports that
	// nodes themselves listen at are not. Both sorted, and only where a backend is
	// outside.
	ReservedDestinations []netip.Prefix `json:"elsewhere,omitempty"`
	ReservedNodes        []netip.Prefix `json:"elsewhereNodes,omitempty"`
}

// A Service is one of the servers of an edge.
type Service string

// The servers of an edge, in the order in which a network lists them.
const (
	ServiceDHCP  Service = "dhcp"
	ServiceDNS   Service = "dns"
	ServiceProxy Service = "proxy"
)

// An Edge is one pod of ours on a network.
type Edge struct {
	// Number is 1 or 2.
	Number  int        `json:"number"`
	Address netip.Addr `json:"address"`
}

// DHCP is what machines are told (RFC 2131, RFC 2132). Where DHCP is not ours it
// is what somebody else's server must tell them, and has no addresses to give.
type DHCP struct {
	// Range that addresses are given from, first and last included.
	Range Range `json:"range"`
	// Exclude is never given out.
	Exclude []Range `json:"exclude,omitempty"`
	// Reservations are given to their MAC only, in or outside of Range.
	Reservations []Reservation `json:"reservations,omitempty"`
	LeaseTime    Duration      `json:"leaseTime"`
	// ServerID is option 54, the service address: every edge is the same server
	// to a client.
	ServerID netip.Addr `json:"serverID"`
	// Router is option 3. Zero on a secondary network.
	Router netip.Addr `json:"router,omitzero"`
	// Routes are option 121 (RFC 3442), the default route included, since clients
	// that know 121 ignore option 3. Empty on a secondary network.
	Routes []Route `json:"routes,omitempty"`
	// DNSServers is option 6.
	DNSServers []netip.Addr `json:"dnsServers,omitempty"`
	// DomainName is option 15, SearchDomains option 119 (RFC 3397).
	DomainName    string   `json:"domainName,omitempty"`
	SearchDomains []string `json:"searchDomains,omitempty"`
	// MTU is option 26 in bytes, 0: not sent.
	MTU int `json:"mtu,omitempty"`
	// NTPServers is option 42.
	NTPServers []netip.Addr `json:"ntpServers,omitempty"`
	// Relays whose packets are answered, by the address they put in giaddr. What
	// others relay is dropped.
	Relays []netip.Addr `json:"relays,omitempty"`
	// IgnoreUnknownClients answers only machines of the cluster.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
	// ReservedForVMs is how many addresses of Range clients that are not the
	// cluster's machines never get: as many as its NodePools may ever need.
	ReservedForVMs int `json:"keptForMachines,omitempty"`
}

// A Reservation gives one address to one MAC.
type Reservation struct {
	// MAC in lower case with colons.
	MAC     string     `json:"mac"`
	Address netip.Addr `json:"address"`
}

// A Route is one entry of option 121.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Via         netip.Addr   `json:"via"`
}

// A Range is a run of addresses, both ends included.
type Range struct {
	First netip.Addr `json:"first"`
	Last  netip.Addr `json:"last"`
}

// Contains says whether a is in r. An empty range contains nothing.
func (r Range) Contains(a netip.Addr) bool {
	return r.First.IsValid() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// String is "first-last".
func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }

// DNS is what is answered on the network.
type DNS struct {
	Views []View `json:"views,omitempty"`
	// Upstreams answer what no view knows.
	Upstreams Upstreams `json:"upstreams"`
}

// A View is what one group of clients is told. A client in no view is refused.
type View struct {
	Name string `json:"name"`
	// Clients whose source address is in one of these.
	Clients []netip.Prefix `json:"clients"`
	// Zones that nobody else answers for: what is not in Records does not exist
	// (NXDOMAIN) instead of being asked upstream.
	Zones   []string `json:"zones,omitempty"`
	Records []Record `json:"records,omitempty"`
}

// A Record is one name and its A records.
type Record struct {
	// Name in lower case without trailing dot; a first label "*" is a wildcard
	// (RFC 4592).
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
}

// UpstreamMode says who answers what the plan does not know.
type UpstreamMode string

const (
	// UpstreamNone refuses (REFUSED).
	UpstreamNone UpstreamMode = "none"
	// UpstreamManagement asks the management cluster's resolver, except for names
	// inside that cluster.
	UpstreamManagement UpstreamMode = "management"
	// UpstreamServers asks Servers.
	UpstreamServers UpstreamMode = "servers"
)

// Upstreams answer what the plan does not know.
type Upstreams struct {
	Mode    UpstreamMode     `json:"mode"`
	Servers []netip.AddrPort `json:"servers,omitempty"`
}

// A Listener is one address and TCP port that machines dial.
type Listener struct {
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"`
	// Forwards by TLS server name. Empty: the TLS hello is not looked at.
	Forwards []Forward `json:"forwards,omitempty"`
	// Default is the backend of every other connection. Empty: it is closed.
	Default string `json:"default,omitempty"`
}

// Name is "address:port".
func (l Listener) Name() string { return netip.AddrPortFrom(l.Address, l.Port).String() }

// A Forward sends connections with one of ServerNames to Backend.
type Forward struct {
	// ServerNames in lower case; "*.example.com" matches one or more labels.
	ServerNames []string `json:"serverNames"`
	Backend     string   `json:"backend"`
}

// BackendKind says what stands behind a backend, and by which way it is dialled.
type BackendKind string

const (
	// BackendPods are the pods of a Service in the control plane namespace,
	// dialled by the pod network.
	BackendPods BackendKind = ""
	// BackendVMs are machines of the cluster, dialled on the network itself:
	// those that the EndpointSlices of Service name, or, where it is empty, every
	// machine with a lease, at Port.
	BackendVMs BackendKind = "machines"
	// BackendExternal is Host, a DNS name that the management cluster's resolver
	// knows, at Port, dialled by the pod network.
	BackendExternal BackendKind = "outside"
)

// A Backend is where connections end.
type Backend struct {
	Kind BackendKind `json:"kind,omitempty"`
	// Name is unique in a network: "<service>:<port>", "machines:<port>" or
	// "<host>:<port>".
	Name    string `json:"name"`
	Service string `json:"service,omitempty"`
	// Host of what is outside, in lower case.
	Host string `json:"host,omitempty"`
	// Port is the Service's port, or the one to dial. PortName is the Service
	// port's name, by which EndpointSlices give the pods' own port; empty where
	// the Service's only port has none.
	Port     uint16 `json:"port"`
	PortName string `json:"portName,omitempty"`
	// ClusterIP is dialled while no EndpointSlice has been seen. Zero: headless
	// or not known, or machines, which no ClusterIP leads to.
	ClusterIP netip.Addr `json:"clusterIP,omitzero"`
	// HTTPProxy, "host:port", is asked to CONNECT to what is outside. Empty: it is
	// dialled directly.
	HTTPProxy string `json:"httpProxy,omitempty"`
}

// A Duration is written as Go writes it ("1h0m0s").
type Duration time.Duration

// MarshalText writes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(v)
	return nil
}

// JSON is the plan as it is stored and mounted: indented, equal for equal plans.
func (p Plan) JSON() []byte {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic("network: a plan is always JSON: " + err.Error())
	}
	return append(b, '\n')
}
