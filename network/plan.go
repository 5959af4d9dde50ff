// This file holds Plan: what is served, as data.

package network

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
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
	// Endpoints from which the names and listeners of the networks were made. They are
	// the last known good state while one is missing.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// withEach is p with a copy of each network, which change may change.
func (p Plan) withEach(change func(n *Network)) Plan {
	out := p
	out.Networks = slices.Clone(p.Networks)
	for i := range out.Networks {
		change(&out.Networks[i])
	}
	return out
}

// A Network is what is served on one layer-2 network.
type Network struct {
	// Name is "<namespace>.<name>" of the NetworkAttachmentDefinition. It is unique in a
	// plan, never changes, and is part of object names.
	Name       string     `json:"name"`
	Attachment Attachment `json:"attachment"`
	NodePools  []string   `json:"nodePools,omitempty"`
	Primary    bool       `json:"primary"`
	// Services are the servers that each edge runs, sorted.
	Services []Service    `json:"services"`
	CIDR     netip.Prefix `json:"cidr"`
	// NextHopVIP is the address that VMs route through. Every edge holds it, and no
	// server listens on it.
	NextHopVIP netip.Addr `json:"nextHopVIP"`
	// ServiceVIP is the address of DNS and of the endpoints with host names. Every edge
	// holds it. It is also the DHCP server identifier.
	ServiceVIP netip.Addr `json:"serviceVIP"`
	// Edges that run. They use their own addresses to reach each other.
	Edges []Edge `json:"edges"`
	// ReservedAddresses are reserved for an edge that does not run now, so that adding it
	// changes no address.
	ReservedAddresses []netip.Addr `json:"reservedAddresses,omitempty"`
	// PublishedAddresses are the bare IPs that HyperShift published. Every edge holds
	// each of them as a /32.
	PublishedAddresses []netip.Addr `json:"publishedAddresses,omitempty"`
	// ClientNetworks are behind the gateway, DHCP.Router. Edges reach hosts there through it, on
	// the network's device. Sorted. Empty: edges answer hosts in the CIDR only.
	ClientNetworks []netip.Prefix `json:"clientNetworks,omitempty"`
	// Placement of the edges' pods.
	Placement Placement  `json:"placement,omitzero"`
	DHCP      DHCP       `json:"dhcp"`
	DNS       DNS        `json:"dns"`
	Listeners []Listener `json:"listeners,omitempty"`
	Backends  []Backend  `json:"backends,omitempty"`
	AccessLog AccessLog  `json:"accessLog,omitempty"`
	// Access is what pods of the management cluster reach on the network. Zero: nothing.
	Access Access `json:"access,omitzero"`
	// MetricsPort is where edges serve metrics on the pod network. 0: nowhere.
	MetricsPort uint16 `json:"metricsPort,omitempty"`
	// ReservedDestinations are in the management cluster: its Services, pods and nodes.
	// Edges never dial them for an external host or as upstream DNS server, unless
	// PermittedDestinations has the address. Both are merged and sorted, and empty if the
	// network has neither external hosts nor upstream servers.
	ReservedDestinations []netip.Prefix `json:"reservedDestinations,omitempty"`
	// PermittedDestinations are those that the administrator of the management cluster
	// permits.
	PermittedDestinations []netip.Prefix `json:"permittedDestinations,omitempty"`
}

// A Service is one of the servers of an edge.
type Service string

// The servers of an edge, in the order in which a network lists them.
const (
	ServiceDHCP  Service = "dhcp"
	ServiceDNS   Service = "dns"
	ServiceNTP   Service = "ntp"
	ServiceProxy Service = "proxy"
)

// An Edge is one pod of oooi on a network.
type Edge struct {
	// Number is 1 or 2.
	Number  int        `json:"number"`
	Address netip.Addr `json:"address"`
}

// DHCP holds the pool and the options of a network (RFC 2131, RFC 2132). If edges do not
// run DHCP, it holds the options that another server must send, and no pool.
type DHCP struct {
	// Range is the pool, first and last included. Zero if edges do not run DHCP.
	Range Range `json:"range"`
	// Exclude are addresses in Range that are never assigned.
	Exclude []Range `json:"exclude,omitempty"`
	// Named are addresses in Range that the user gave to a host, by a name or as a server,
	// sorted. No new client gets them. One that has such an address keeps it: the name may be
	// its own.
	Named []netip.Addr `json:"named,omitempty"`
	// Reservations are assigned to their MAC only, in or outside Range.
	Reservations []Reservation `json:"reservations,omitempty"`
	LeaseTime    Duration      `json:"leaseTime"`
	// ServerID is option 54, the service VIP: to a client, every edge is the same
	// server.
	ServerID netip.Addr `json:"serverID"`
	// Router is option 3. Zero on a secondary network.
	Router netip.Addr `json:"router,omitzero"`
	// Routes are option 121 (RFC 3442). They include the default route, since clients
	// that support 121 ignore option 3. Empty on a secondary network.
	Routes []Route `json:"routes,omitempty"`
	// DNSServers is option 6.
	DNSServers []netip.Addr `json:"dnsServers,omitempty"`
	// DomainName is option 15, SearchDomains option 119 (RFC 3397).
	DomainName    string   `json:"domainName,omitempty"`
	SearchDomains []string `json:"searchDomains,omitempty"`
	// MTU is option 26 in bytes, 0: not sent.
	MTU int `json:"mtu,omitempty"`
	// NTPServers are those that the user set. [Network.TimeServers] is option 42.
	NTPServers []netip.Addr `json:"ntpServers,omitempty"`
	// Relays are the giaddr addresses of the relay agents that are answered. Packets of
	// other relay agents are dropped.
	Relays []netip.Addr `json:"relays,omitempty"`
	// IgnoreUnknownClients: only VMs of the cluster are answered.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
	// ReservedForVMs is the number of addresses in Range that unknown clients never get:
	// as many as the cluster's NodePools can need.
	ReservedForVMs int `json:"reservedForVMs,omitempty"`
}

// A Reservation assigns one address to one MAC.
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

// String is "destination via router".
func (r Route) String() string { return r.Destination.String() + " via " + r.Via.String() }

// RouteList returns routes for messages: in their order, with commas.
func RouteList(routes []Route) string {
	var out []string
	for _, r := range routes {
		out = append(out, r.String())
	}
	return strings.Join(out, ", ")
}

// A Range is a sequence of addresses, first and last included.
type Range struct {
	First netip.Addr `json:"first"`
	Last  netip.Addr `json:"last"`
}

// Contains reports whether a is in r. An empty range contains nothing.
func (r Range) Contains(a netip.Addr) bool {
	return r.First.IsValid() && r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// String is "first-last".
func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }

// DNS is the names that the DNS server answers on a network.
type DNS struct {
	Views []View `json:"views,omitempty"`
	// Pods is the view of pods of the management cluster: the ClusterIPs of published names. Edges
	// answer it on the pod network only, and Views on this network only. Zero: pods get no answer.
	Pods View `json:"pods,omitzero"`
	// Upstreams answer names that are in no view.
	Upstreams Upstreams `json:"upstreams"`
}

// A View is the records for one group of clients. A client in no view gets REFUSED.
type View struct {
	Name string `json:"name"`
	// Clients whose source address is in one of these.
	Clients []netip.Prefix `json:"clients"`
	// Zones for which the server is authoritative: a name that is not in Records gets
	// NXDOMAIN instead of being forwarded.
	Zones   []string `json:"zones,omitempty"`
	Records []Record `json:"records,omitempty"`
	// OwnNamesOnly: a name in neither Zones nor Records gets REFUSED, whatever the upstreams are.
	OwnNamesOnly bool `json:"ownNamesOnly,omitempty"`
}

// A Record is one name and its A records.
type Record struct {
	// Name in lower case without trailing dot; a first label "*" is a wildcard
	// (RFC 4592).
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
}

// UpstreamMode selects the servers for names that are not in the plan.
type UpstreamMode string

const (
	// UpstreamNone answers REFUSED.
	UpstreamNone UpstreamMode = "none"
	// UpstreamManagement forwards to the management cluster's resolver, except for names
	// of that cluster's Services and pods.
	UpstreamManagement UpstreamMode = "management"
	// UpstreamServers forwards to Servers.
	UpstreamServers UpstreamMode = "servers"
)

// Upstreams are the servers for names that are not in the plan.
type Upstreams struct {
	Mode    UpstreamMode     `json:"mode"`
	Servers []netip.AddrPort `json:"servers,omitempty"`
}

// A Listener is one address and TCP port that VMs dial.
type Listener struct {
	Address netip.Addr `json:"address"`
	Port    uint16     `json:"port"`
	// Forwards by TLS server name. Empty: the TLS ClientHello is not read.
	Forwards []Forward `json:"forwards,omitempty"`
	// Default is the backend of every other connection. Empty: others are closed.
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

// BackendKind is the type of a backend's target, and how it is dialed.
type BackendKind string

const (
	// BackendPods are the pods of a Service in the control plane namespace, dialed
	// through the pod network.
	BackendPods BackendKind = ""
	// BackendVMs are VMs of the cluster, dialed on the network itself. They are those in
	// the EndpointSlices of Service. If Service is empty, they are all VMs with a lease,
	// at Port.
	BackendVMs BackendKind = "vms"
	// BackendExternal is Host at Port, dialed through the pod network. The management
	// cluster's resolver resolves Host.
	BackendExternal BackendKind = "external"
)

// A Backend is the target of connections.
type Backend struct {
	Kind BackendKind `json:"kind,omitempty"`
	// Name is unique in a network: "<service>:<port>", "vms:<port>" or
	// "<host>:<port>".
	Name    string `json:"name"`
	Service string `json:"service,omitempty"`
	// Host is the DNS name of an external host, in lower case.
	Host string `json:"host,omitempty"`
	// Port is the port of the Service, or the port to dial. PortName is the name of the
	// Service port, which selects the pods' port in EndpointSlices. Empty: the Service has
	// one unnamed port.
	Port     uint16 `json:"port"`
	PortName string `json:"portName,omitempty"`
	// TargetPort is where VMs behind Service listen, its node port in the hosted cluster. An
	// edge outside of a cluster dials it, since there it reads no EndpointSlice. Zero: unknown,
	// or another kind of backend.
	TargetPort uint16 `json:"targetPort,omitempty"`
	// ClusterIP is dialed until an EndpointSlice is found. Zero: a headless Service, an
	// unknown ClusterIP, or another kind of backend.
	ClusterIP netip.Addr `json:"clusterIP,omitzero"`
	// ByLease: the VMs behind Service are all VMs with a lease, at TargetPort, because the EndpointSlices of
	// Service have edges instead.
	ByLease bool `json:"byLease,omitempty"`
	// HTTPProxy, "host:port", is sent a CONNECT request for an external host. Empty: the
	// host is dialed directly.
	HTTPProxy string `json:"httpProxy,omitempty"`
}

// The names of Services that HyperShift publishes. HyperShift decides them.
const (
	APIService          = "kube-apiserver"
	KonnectivityService = "konnectivity-server"
	OAuthService        = "oauth-openshift"
	IgnitionService     = "ignition-server-proxy"
)

// IsAPI reports whether b leads to the hosted API server.
func (b Backend) IsAPI() bool { return b.Kind == BackendPods && b.Service == APIService }

// APIBackend returns the backend that leads to the hosted API server. Not ok: the network
// does not publish the API server.
func (n Network) APIBackend() (b Backend, ok bool) { return n.podsOf(APIService) }

// ReachBackend returns the backend that shows an edge whether it reaches the hosted control plane:
// the API server's. If the network does not publish that, it is another one that answers TLS. Not
// ok: the network publishes none.
func (n Network) ReachBackend() (b Backend, ok bool) {
	return n.podsOf(APIService, KonnectivityService, OAuthService, IgnitionService)
}

// podsOf returns the backend that leads to the pods of the first of services that has one.
func (n Network) podsOf(services ...string) (b Backend, ok bool) {
	for _, service := range services {
		i := slices.IndexFunc(n.Backends, func(b Backend) bool { return b.Kind == BackendPods && b.Service == service })
		if i >= 0 {
			return n.Backends[i], true
		}
	}
	return Backend{}, false
}

// A Duration has the text form of time.Duration ("1h0m0s").
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

// Attachments returns what the networks of p are attached to, in their order.
func (p Plan) Attachments() []Attachment {
	var out []Attachment
	for _, n := range p.Networks {
		out = append(out, n.Attachment)
	}
	return out
}

// JSON returns the plan as it is stored and mounted. It is indented, and equal for equal
// plans.
func (p Plan) JSON() []byte {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic("network: a plan is always JSON: " + err.Error())
	}
	return append(b, '\n')
}
