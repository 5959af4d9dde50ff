// This file holds Plan: what is served, as data.

package network

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cldmnky/oooi/network/problem"
)

// A Plan is everything that is served to one hosted cluster.
//
// Derive makes it whole, and it never changes afterwards. Slices are sorted, so equal plans are equal bytes. It holds
// no secret and no Kubernetes type.
type Plan struct {
	// Version is the version of the format.
	Version  PlanVersion `json:"version"`
	Cluster  Cluster     `json:"cluster"`
	Networks []Network   `json:"networks"`
	// Endpoints are those from which the names and listeners of the networks were made. While one is missing from the
	// hosted cluster, edges serve it as it is here.
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// LostPlaces are former places of endpoints that edges no longer serve, because there are too many. VMs may have
	// stored them. Only the latest are kept.
	LostPlaces []Endpoint `json:"lostPlaces,omitempty"`
}

// WithEach returns p with copies of its networks, each changed by change.
func (p Plan) WithEach(change func(n *Network)) Plan {
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
	// NextHopVIP is the next hop of the routes to ServiceVIP and PublishedAddresses that VMs get by DHCP. Every edge
	// holds it, and no server listens on it.
	NextHopVIP netip.Addr `json:"nextHopVIP"`
	// ServiceVIP is the address of DNS and of the endpoints with host names. Every edge holds it. It is also the DHCP
	// server identifier.
	ServiceVIP netip.Addr `json:"serviceVIP"`
	// Edges are the edges that run. They reach each other at their own addresses.
	Edges []Edge `json:"edges"`
	// ReservedAddresses are kept free for an edge that does not run now, so that its addition changes no address.
	ReservedAddresses []netip.Addr `json:"reservedAddresses,omitempty"`
	// PublishedAddresses are the bare IPs that HyperShift published. Every edge holds
	// each of them as a /32.
	PublishedAddresses []netip.Addr `json:"publishedAddresses,omitempty"`
	// ClientNetworks are the networks behind the gateway, DHCP.Router, whose hosts edges answer through that gateway.
	// Sorted. Empty: edges answer only hosts in the CIDR.
	ClientNetworks []netip.Prefix `json:"clientNetworks,omitempty"`
	Placement      Placement      `json:"placement,omitzero"`
	DHCP           DHCP           `json:"dhcp"`
	DNS            DNS            `json:"dns"`
	Listeners      []Listener     `json:"listeners,omitempty"`
	Backends       []Backend      `json:"backends,omitempty"`
	AccessLog      AccessLog      `json:"accessLog,omitempty"`
	// Access is what pods of the management cluster reach on the network. Zero: nothing.
	Access Access `json:"access,omitzero"`
	// MetricsPort is where edges serve metrics on the pod network. 0: nowhere.
	MetricsPort uint16 `json:"metricsPort,omitempty"`
	// ReservedDestinations are the management cluster's Services, pods and nodes. Edges never dial them for an external
	// host or as upstream DNS server, except for PermittedDestinations. Both lists are merged and sorted. They are
	// empty if the network has neither external hosts nor upstream servers.
	ReservedDestinations []netip.Prefix `json:"reservedDestinations,omitempty"`
	// PermittedDestinations are the exceptions that the administrator of the management cluster permits.
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

// DNS is what the DNS server of a network answers.
type DNS struct {
	Views []View `json:"views,omitempty"`
	// Pods is the view for pods of the management cluster: published names with their ClusterIPs. Only the pod network
	// gets it, and only this network gets Views. Zero: pods get no answer.
	Pods View `json:"pods,omitzero"`
	// Upstreams answer the names that no view has.
	Upstreams Upstreams `json:"upstreams"`
}

// A View is the records for one group of clients. A client that is in no view gets REFUSED.
type View struct {
	Name string `json:"name"`
	// Clients are the prefixes of the source addresses that get this view.
	Clients []netip.Prefix `json:"clients"`
	// Zones are the domains for which the server is authoritative: a name in one of them that has no record gets
	// NXDOMAIN, and is not forwarded.
	Zones   []string `json:"zones,omitempty"`
	Records []Record `json:"records,omitempty"`
	// OwnNamesOnly is true if no query is forwarded, whatever the upstreams are. A name that the edge does not know
	// gets REFUSED.
	OwnNamesOnly bool `json:"ownNamesOnly,omitempty"`
}

// A Record is one name and its A records.
type Record struct {
	// Name is in lower case, without a trailing dot. A first label "*" is a wildcard (RFC 4592).
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
}

// UpstreamMode selects the servers for names that are not in the plan.
type UpstreamMode string

const (
	// UpstreamNone asks no server. The view has the zone ".", so these names do not exist.
	UpstreamNone UpstreamMode = "none"
	// UpstreamManagement forwards to the management cluster's resolver, except for names of its Services and pods.
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
	// Forwards select a backend by TLS server name. Empty: the TLS ClientHello is not read.
	Forwards []Forward `json:"forwards,omitempty"`
	// Default is the backend of every other connection. Empty: other connections are closed.
	Default string `json:"default,omitempty"`
}

// Name returns "address:port".
func (l Listener) Name() string { return netip.AddrPortFrom(l.Address, l.Port).String() }

// A Forward sends connections with one of ServerNames to Backend.
type Forward struct {
	// ServerNames are in lower case. In "*.example.com", the "*" matches one or more labels.
	ServerNames []string `json:"serverNames"`
	Backend     string   `json:"backend"`
}

// BackendKind is the type of a backend's target, and how it is dialed.
type BackendKind string

const (
	// BackendPods are the pods of a Service in the control plane namespace, dialed
	// through the pod network.
	BackendPods BackendKind = ""
	// BackendVMs are VMs of the cluster, dialed on the network itself: the VMs in the EndpointSlices of Service. If
	// Service is empty, they are all VMs with a lease, at Port.
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
	// Port is the port of the Service, or the port to dial. PortName is the name of the Service's port, which selects
	// the port in EndpointSlices. Empty: the Service has one unnamed port.
	Port     uint16 `json:"port"`
	PortName string `json:"portName,omitempty"`
	// TargetPort is the node port at which VMs behind Service listen. An edge outside a cluster dials it, because it
	// cannot read EndpointSlices. Zero: unknown, or another kind of backend.
	TargetPort uint16 `json:"targetPort,omitempty"`
	// ClusterIP is dialed until an EndpointSlice is found. Zero: a headless Service, an
	// unknown ClusterIP, or another kind of backend.
	ClusterIP netip.Addr `json:"clusterIP,omitzero"`
	// ByLease is true if the backend is all VMs with a lease, at TargetPort, because the EndpointSlices of Service have
	// edges in place of VMs.
	ByLease bool `json:"byLease,omitempty"`
	// HTTPProxy is the "host:port" of a proxy that gets a CONNECT request for an external host. Empty: the host is
	// dialed directly.
	HTTPProxy string `json:"httpProxy,omitempty"`
}

// VMPort returns the port at which VMs answer for b. It returns 0 if VMs do not answer for b, or if the port is unknown.
func (b Backend) VMPort() uint16 {
	switch {
	case b.Kind != BackendVMs:
		return 0
	case b.Service != "":
		return b.TargetPort
	}
	return b.Port
}

// IsAPI reports whether b is the hosted API server.
func (b Backend) IsAPI() bool { return b.Kind == BackendPods && b.Service == APIService }

// APIBackend returns the backend for the hosted API server. ok is false if the network does not publish the API
// server.
func (n Network) APIBackend() (b Backend, ok bool) { return n.podsOf(APIService) }

// ReachBackend returns the backend with which an edge checks that it reaches the hosted control plane: the API server
// if the network publishes it, else another one that answers TLS. ok is false if there is none.
func (n Network) ReachBackend() (b Backend, ok bool) {
	return n.podsOf(APIService, KonnectivityService, OAuthService, IgnitionService)
}

// podsOf returns the backend for the first of these services that the network has.
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

// String returns d as users write it: "1h" where Go writes "1h0m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, end) {
			s = s[:len(s)-len("0s")]
		}
	}
	return s
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(v)
	return nil
}

// Attachments returns the attachments of p's networks, in their order.
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

// Problem returns a problem about n. Argument network has the name of n.
func (n Network) Problem(c problem.Cause, args problem.Args, keys ...string) problem.Problem {
	return n.Attachment.Problem(c, args, keys...)
}

// A Placement is the nodes that the edges of one network may run on.
type Placement struct {
	// NodeSelectors are alternatives: a node must have all labels of one of them.
	// Empty: every node.
	NodeSelectors []map[string]string `json:"nodeSelectors,omitempty"`
	// WithoutLabels are keys of labels that a node must not have.
	WithoutLabels []string     `json:"withoutLabels,omitempty"`
	Tolerations   []Toleration `json:"tolerations,omitempty"`
	// PriorityClass of the edges' pods. Empty: the management cluster's default.
	PriorityClass string `json:"priorityClass,omitempty"`
}

// A Toleration allows a pod on nodes with a taint. Its fields have the meaning that they have in a Kubernetes
// toleration, also if they are empty.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
	// Seconds is how long a pod stays on a node that gets the taint. Nil: forever.
	Seconds *int64 `json:"seconds,omitempty"`
}

// OfControlPlane reports whether pods with t may run on nodes with a taint of the control plane.
func (t Toleration) OfControlPlane() bool {
	return t.Key == "" || slices.Contains(ControlPlaneRoles(), t.Key)
}

// AnswersPods reports whether the edges of n answer DNS queries from pods of the management cluster.
func (n Network) AnswersPods() bool { return n.DNS.Pods.Name != "" }

// AnswersPods reports whether edges of p answer DNS queries from pods of the management cluster.
func (p Plan) AnswersPods() bool { return slices.ContainsFunc(p.Networks, Network.AnswersPods) }

// AllServices returns the servers of an edge, in the order in which a network lists them.
func AllServices() []Service { return []Service{ServiceDHCP, ServiceDNS, ServiceNTP, ServiceProxy} }

// Runs reports whether edges of n run this server.
func (n Network) Runs(s Service) bool { return slices.Contains(n.Services, s) }
