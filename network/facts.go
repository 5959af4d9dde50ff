// This file holds Facts: the observed state of a hosted cluster and of the management
// cluster. Package hcp fills it in, and Derive reads it.

package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network/problem"
)

// Facts are the observed state. Order has no meaning.
type Facts struct {
	// Endpoints that VMs connect to.
	Endpoints []Endpoint `json:"endpoints"`
	// Waiting are the names of expected endpoints whose address or Service is not known
	// now. A name that ends with "/" is a prefix. Their last known good state is served.
	// An endpoint that is in Endpoints, too, waits for the address of its load balancer.
	Waiting []string `json:"waiting,omitempty"`
	// Announced are bare IPs at which an endpoint will be published. They are known
	// before it is published, and final.
	Announced []netip.Addr `json:"announced,omitempty"`
	// Reserved destinations are in the management cluster: those that edges reach through
	// the pod network, and all others that they must not dial for VMs.
	Reserved []ReservedDestination `json:"reserved,omitempty"`
	// InHostedCluster are its pods and Services. Its
	// nodes never use the network for them.
	InHostedCluster []ReservedDestination `json:"inHostedCluster,omitempty"`
	// NodeAPI is the address at which each node of the hosted cluster reaches its API server.
	// The node has it on its loopback interface. Zero: unknown.
	NodeAPI netip.Addr `json:"nodeAPI,omitzero"`
	// ImageHosts are addresses that nodes dial for images: registries, and the HTTP proxy of the hosted cluster. Sorted.
	ImageHosts []netip.AddrPort `json:"imageHosts,omitempty"`
	// InUse are the Names of the networks that VMs are on now. A network of the plan in force counts if VMs are on
	// another NAD of its layer-2 network. Sorted.
	InUse []string `json:"inUse,omitempty"`
	// BootedFrom are those of InUse that is the first network of some VM, before the pod
	// network. Sorted.
	BootedFrom []string `json:"bootedFrom,omitempty"`
	// VMAddresses are the addresses that VMs report.
	VMAddresses []VMAddress `json:"vmAddresses,omitempty"`
	// Refused are the Names of networks that VMs boot from and that have a confined Error in
	// Problems. None of them is requested.
	Refused []string `json:"refused,omitempty"`
	// LoadBalancers are the Services of the control plane namespace that stand for Services of the
	// hosted cluster.
	LoadBalancers []LoadBalancer `json:"loadBalancers,omitempty"`
	// Problems found while the objects were read, such as an invalid value or an
	// endpoint that is not published yet.
	Problems problem.Problems `json:"problems,omitempty"`
}

// A ReservedDestination is an address or CIDR outside the cluster's networks. It is
// unreachable if a network has the same addresses. Edges never dial it for VMs.
type ReservedDestination struct {
	// What it is, for messages: "the resolver", "node worker-1".
	What   string       `json:"what"`
	Prefix netip.Prefix `json:"prefix"`
	// OfServices is true for the network of the management cluster's Services.
	OfServices bool `json:"-"`
	// Node is true for the address of a management node, which HyperShift may publish.
	Node bool `json:"node,omitempty"`
	// Required is true if edges or nodes must reach it, so that no network may have the same
	// addresses.
	Required bool `json:"required,omitempty"`
	// Observed is true for addresses that are reserved only because a pod or a Service of any tenant
	// has them now, and for blocks of these. They may change nothing that edges route.
	Observed bool `json:"observed,omitempty"`
}

// A VMAddress is an address that a VM reports on a network.
type VMAddress struct {
	VM string `json:"vm"`
	// Network is the Name of the network.
	Network string     `json:"network"`
	Address netip.Addr `json:"address"`
	// MAC of that interface in lower case with colons. Empty: unknown.
	MAC string `json:"mac,omitempty"`
}

// A LoadBalancer is a Service of the control plane namespace that stands for one of the hosted cluster.
type LoadBalancer struct {
	Service string `json:"service"`
	// HostedService is the Service of the hosted cluster, "namespace/name". Empty: its ingress, by base domain passthrough.
	HostedService string             `json:"hostedService,omitempty"`
	Ports         []LoadBalancerPort `json:"ports,omitempty"`
	// NoIPv4: its addresses are IPv6 only. IPv6: it has an IPv6 address.
	NoIPv4 bool `json:"noIPv4,omitempty"`
	IPv6   bool `json:"ipv6,omitempty"`
	// Addresses at which clients reach it. Empty: none is known.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Leads is where it leads now.
	Leads Lead `json:"leads,omitempty"`
	// Endpoints: HyperShift has written the addresses of VMs behind it.
	Endpoints bool `json:"endpoints,omitempty"`
	// Sources are the ranges of clients that it admits, sorted, at most MaxLoadBalancerSources. Empty: all.
	Sources []netip.Prefix `json:"sources,omitempty"`
	// SourcesHidden: it has ranges that edges cannot enforce, because they see the addresses of nodes, or because there are too many.
	SourcesHidden bool `json:"sourcesHidden,omitempty"`
}

// MaxLoadBalancerSources is the most ranges of clients that one LoadBalancer can have.
const MaxLoadBalancerSources = 32

// A Lead is where a LoadBalancer leads.
type Lead string

const (
	// LeadsToVMs: it has no selector, so its endpoints are the addresses that HyperShift writes.
	LeadsToVMs Lead = ""
	// LeadsToEdges: it selects edges.
	LeadsToEdges Lead = "edges"
	// LeadsElsewhere: neither HyperShift nor oooi set its selector.
	LeadsElsewhere Lead = "others"
)

// A LoadBalancerPort is one port of a LoadBalancer.
type LoadBalancerPort struct {
	// Protocol is "TCP", "UDP" or "SCTP".
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	// Target is the node port in the hosted cluster. 0: it has no number from 1 to 65535.
	Target uint16 `json:"target"`
}

// A Match selects the connections to a port that an endpoint receives.
type Match string

const (
	// MatchAny: every connection to the port whose TLS server name belongs to no other
	// endpoint. Examples are the API server and node ports.
	MatchAny Match = "any"
	// MatchServerName: connections whose TLS server name (RFC 6066, section 3) is one of
	// the endpoint's hosts.
	MatchServerName Match = "server-name"
)

// An Origin is what requested an endpoint.
type Origin string

// The origins in order of precedence, where two endpoints request the same listener.
const (
	// OriginHyperShift: HyperShift publishes it.
	OriginHyperShift Origin = ""
	// OriginService: an annotation on a Service publishes it.
	OriginService Origin = "service"
	// OriginApps: it is the hosted cluster's own ingress.
	OriginApps Origin = "apps"
	// OriginRegistry: VMs pull images from it.
	OriginRegistry Origin = "registry"
)

// An Endpoint is a target that VMs connect to: the address they dial, and the backend
// that answers.
type Endpoint struct {
	// Name of the endpoint: "kube-apiserver", or the name of the Route.
	Name string `json:"name"`
	// Origin decides precedence where two endpoints request the same listener.
	Origin Origin `json:"origin,omitempty"`
	// Hosts are the DNS names that VMs dial, without trailing dot.
	Hosts []string `json:"hosts,omitempty"`
	// Addresses are the bare IPs that VMs dial.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	Port      uint16       `json:"port"`
	Match     Match        `json:"match"`
	Backend   Backend      `json:"backend"`
	// Former: HyperShift published it there before, and VMs may have stored that.
	Former bool `json:"former,omitempty"`
	// LoadBalancer is the address of a load balancer that answers at Port, too. On a network
	// that has the address, Hosts resolve to it. Zero: none.
	LoadBalancer netip.Addr `json:"loadBalancer,omitzero"`
}

// NeededByNodes reports whether no node becomes a working part of its cluster without e: the API
// server, Ignition and konnectivity, as HyperShift publishes them.
func (e Endpoint) NeededByNodes() bool {
	return e.Origin == OriginHyperShift && PublishedAt(e.Name).Need != NeedNone
}

// VmPort is the port at which VMs answer for e. 0: they do not, or it is unknown.
func (e Endpoint) VmPort() uint16 {
	switch {
	case e.Backend.Kind != BackendVMs:
		return 0
	case e.Backend.Service != "":
		return e.Backend.TargetPort
	}
	return e.Backend.Port
}

// Place is what VMs dial, for messages: "api.example.com:6443". Several are separated by commas.
func (e Endpoint) Place() string {
	all := append(Lowered(e.Hosts), Texts(e.Addresses)...)
	for i, host := range all {
		all[i] = fmt.Sprintf("%s:%d", host, e.Port)
	}
	return strings.Join(all, ", ")
}

// Subject is the subject of problems about e.
func (e Endpoint) Subject() problem.Subject { return problem.Subject{Kind: "Endpoint", Name: e.Name} }

// ClusterIP is the address at which e's Service has e's own port. Zero: it has none, or another port.
func (e Endpoint) ClusterIP() netip.Addr {
	if e.Backend.Kind != BackendPods || e.Backend.Port != e.Port {
		return netip.Addr{}
	}
	return e.Backend.ClusterIP
}

// SortedEndpoints orders by origin and name. The order in which objects were listed has
// no effect.
func SortedEndpoints(in []Endpoint) []Endpoint {
	order := []Origin{OriginHyperShift, OriginService, OriginApps, OriginRegistry}
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Endpoint) int {
		by := cmp.Or(
			cmp.Compare(slices.Index(order, a.Origin), slices.Index(order, b.Origin)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Backend.Name, b.Backend.Name), TrueFirst(b.Former, a.Former))
		if by != 0 {
			return by // Most do not need the text of their places.
		}
		return cmp.Or(cmp.Compare(a.Place(), b.Place()), cmp.Compare(a.Match, b.Match))
	})
	return out
}

// Lowered returns host names in lower case without trailing dot, sorted, each once.
func Lowered(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, strings.ToLower(strings.TrimSuffix(h, ".")))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TrueFirst compares a and b so that true comes before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Without returns the elements of all that drop does not select. None: nil.
func Without[T any](all []T, drop func(T) bool) []T {
	var out []T
	for _, x := range all {
		if !drop(x) {
			out = append(out, x)
		}
	}
	return out
}
