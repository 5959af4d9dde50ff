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
	// Endpoints are what VMs connect to.
	Endpoints []Endpoint `json:"endpoints"`
	// Waiting are the names of expected endpoints whose address or Service is not known now. A name that ends with
	// "/" is a prefix. The last known good state of these endpoints is served. A name that is in Endpoints, too,
	// waits only for the address of its load balancer.
	Waiting []string `json:"waiting,omitempty"`
	// Announced are bare IPs at which an endpoint will be published. They are known in advance, and will not change.
	Announced []netip.Addr `json:"announced,omitempty"`
	// Reserved are destinations in the management cluster. Edges reach some of them through the pod network, and dial
	// none of them for VMs.
	Reserved []ReservedDestination `json:"reserved,omitempty"`
	// InHostedCluster are the pods and Services of the hosted cluster. Nodes do not use the network to reach them.
	InHostedCluster []ReservedDestination `json:"inHostedCluster,omitempty"`
	// NodeAPI is the address at which each node of the hosted cluster reaches its API server.
	// The node has it on its loopback interface. Zero: unknown.
	NodeAPI netip.Addr `json:"nodeAPI,omitzero"`
	// ImageHosts are addresses that nodes dial for images: registries, and the HTTP proxy of the hosted cluster. Sorted.
	ImageHosts []netip.AddrPort `json:"imageHosts,omitempty"`
	// ProviderHosts are addresses that the hosted control plane dials from nodes for identity providers. Sorted.
	ProviderHosts []netip.AddrPort `json:"providerHosts,omitempty"`
	// InUse are the Names of the networks that VMs are on now. A network of the plan in force counts if VMs are on
	// another NAD of its layer-2 network. Sorted.
	InUse []string `json:"inUse,omitempty"`
	// BootedFrom are the networks of InUse from which some VM boots: the network is its first one, before the pod
	// network. Sorted.
	BootedFrom  []string    `json:"bootedFrom,omitempty"`
	VMAddresses []VMAddress `json:"vmAddresses,omitempty"`
	// Refused are the Names of primary networks with a confined Error in Problems. The Request does not have them.
	Refused []string `json:"refused,omitempty"`
	// LoadBalancers are the Services of the control plane namespace that stand for Services of the
	// hosted cluster.
	LoadBalancers []LoadBalancer `json:"loadBalancers,omitempty"`
	// Balanced are the addresses on the networks that load balancers of other Services there have. Sorted.
	Balanced []ServiceAddress `json:"balanced,omitempty"`
	// Problems were found while the objects were read, such as an invalid value or an endpoint that is not published yet.
	Problems problem.Problems `json:"problems,omitempty"`
}

// A ServiceAddress is an address of a Service's load balancer.
type ServiceAddress struct {
	Service string     `json:"service"`
	Address netip.Addr `json:"address"`
}

// A ReservedDestination is an address or CIDR that edges never dial for VMs. If a network has the same addresses, the
// destination is unreachable there.
type ReservedDestination struct {
	// What describes the destination in messages: "the resolver", "node worker-1".
	What   string       `json:"what"`
	Prefix netip.Prefix `json:"prefix"`
	// OfServices is true for a network of Services.
	OfServices bool `json:"-"`
	// OfIngress is true for a virtual IP of the management cluster's ingress.
	OfIngress bool `json:"-"`
	// Domain is the ingress domain behind a virtual IP of the ingress, in lower case, or empty.
	Domain string `json:"-"`
	// Node is true for the address of a management node, which HyperShift may publish.
	Node bool `json:"node,omitempty"`
	// Required is true if edges or nodes must reach it, so that no network may have the same
	// addresses.
	Required bool `json:"required,omitempty"`
	// Possible is true for a network that only some releases have. The release of the hosted cluster is not known well
	// enough.
	Possible bool `json:"possible,omitempty"`
	// Observed is true for an address or a block that is reserved only because a pod or a Service of a tenant has it
	// now. It must not change how edges route.
	Observed bool `json:"observed,omitempty"`
}

// A VMAddress is an address that a VM reports on a network.
type VMAddress struct {
	VM string `json:"vm"`
	// Network is the Name of the network.
	Network string     `json:"network"`
	Address netip.Addr `json:"address"`
	// MAC is that of the VM's interface on Network, in lower case with colons. Empty: unknown.
	MAC string `json:"mac,omitempty"`
}

// A LoadBalancer is a Service of the control plane namespace that stands for a Service of the hosted cluster.
type LoadBalancer struct {
	Service string `json:"service"`
	// HostedService is the Service of the hosted cluster, "namespace/name". Empty: HyperShift made the Service for
	// the ingress itself (base domain passthrough).
	HostedService string             `json:"hostedService,omitempty"`
	Ports         []LoadBalancerPort `json:"ports,omitempty"`
	// NoIPv4 is true if the Service has only IPv6 cluster IPs. IPv6 is true if it has at least one.
	NoIPv4 bool `json:"noIPv4,omitempty"`
	IPv6   bool `json:"ipv6,omitempty"`
	// Addresses are those at which clients reach the Service. Empty: none is known.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Leads says where the Service forwards connections now.
	Leads Lead `json:"leads,omitempty"`
	// Endpoints is true if HyperShift has written the addresses of VMs to its EndpointSlices.
	Endpoints bool `json:"endpoints,omitempty"`
	// Sources are the client ranges that the Service admits, sorted, at most MaxLoadBalancerSources. Empty: all clients.
	Sources []netip.Prefix `json:"sources,omitempty"`
	// SourcesHidden is true if edges cannot enforce the client ranges of the Service: they see only the addresses of
	// nodes, or there are too many ranges.
	SourcesHidden bool `json:"sourcesHidden,omitempty"`
}

// MaxLoadBalancerSources is the largest number of client ranges of one LoadBalancer.
const MaxLoadBalancerSources = 32

// A Lead is the kind of backend to which a LoadBalancer forwards.
type Lead string

const (
	// LeadsToVMs: the Service has no selector, so its endpoints are the addresses that HyperShift writes.
	LeadsToVMs Lead = ""
	// LeadsToEdges: the Service selects edges.
	LeadsToEdges Lead = "edges"
	// LeadsElsewhere: the Service has a selector that neither HyperShift nor oooi set.
	LeadsElsewhere Lead = "others"
)

// A LoadBalancerPort is one port of a LoadBalancer.
type LoadBalancerPort struct {
	// Protocol is "TCP", "UDP" or "SCTP".
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	// Target is the node port in the hosted cluster. 0: the Service has no target port as a number.
	Target uint16 `json:"target"`
}

// A Match selects the connections to a port that an endpoint receives.
type Match string

const (
	// MatchAny: all connections to the port, except those with the TLS server name of another endpoint. The API server
	// and node ports have it.
	MatchAny Match = "any"
	// MatchServerName: connections whose TLS server name (RFC 6066, section 3) is one of
	// the endpoint's hosts.
	MatchServerName Match = "server-name"
)

// An Origin is what requested an endpoint.
type Origin string

// The origins in order of precedence.
const (
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
	// Name is "kube-apiserver", or the name of the Route.
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
	// Former is true if Hosts and Addresses are those at which HyperShift published the endpoint before. VMs may have
	// stored them.
	Former bool `json:"former,omitempty"`
	// LoadBalancer is the address of a load balancer that also answers for the endpoint, at Port. On a network that
	// has the address, Hosts resolve to it. Zero: none.
	LoadBalancer netip.Addr `json:"loadBalancer,omitzero"`
}

// NeededByNodes reports whether e is one of HyperShift's endpoints without which no node becomes a working part of
// its cluster: the API server, Ignition and konnectivity.
func (e Endpoint) NeededByNodes() bool {
	return e.Origin == OriginHyperShift && PublishedAt(e.Name).Need != NeedNone
}

// Place returns what VMs dial, for messages: "api.example.com:6443". Several places are separated by commas.
func (e Endpoint) Place() string {
	all := append(Lowered(e.Hosts), Texts(e.Addresses)...)
	for i, host := range all {
		all[i] = fmt.Sprintf("%s:%d", host, e.Port)
	}
	return strings.Join(all, ", ")
}

// Subject returns the subject of problems about e.
func (e Endpoint) Subject() problem.Subject { return problem.Subject{Kind: "Endpoint", Name: e.Name} }

// ClusterIP returns the address at which e's Service has the port of e. It returns the zero Addr if there is no such
// address, or if the Service has another port.
func (e Endpoint) ClusterIP() netip.Addr {
	if e.Backend.Kind != BackendPods || e.Backend.Port != e.Port {
		return netip.Addr{}
	}
	return e.Backend.ClusterIP
}

// SortedEndpoints returns endpoints sorted by origin and name, so that the order in which objects were listed has no effect.
func SortedEndpoints(in []Endpoint) []Endpoint {
	order := []Origin{OriginHyperShift, OriginService, OriginApps, OriginRegistry}
	out := slices.Clone(in)
	slices.SortFunc(out, func(a, b Endpoint) int {
		by := cmp.Or(
			cmp.Compare(slices.Index(order, a.Origin), slices.Index(order, b.Origin)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Backend.Name, b.Backend.Name), TrueFirst(b.Former, a.Former))
		if by != 0 {
			return by // Few comparisons reach the costly texts.
		}
		return cmp.Or(cmp.Compare(a.Place(), b.Place()), cmp.Compare(a.Match, b.Match))
	})
	return out
}

// Lowered returns host names in lower case without trailing dot, sorted, without duplicates.
func Lowered(hosts []string) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, strings.ToLower(strings.TrimSuffix(h, ".")))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TrueFirst compares a and b for sorting: it returns a negative number if only a is true, and 0 if they are equal.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Without returns the elements for which function drop returns false, or nil if there are none.
func Without[T any](all []T, drop func(T) bool) []T {
	var out []T
	for _, x := range all {
		if !drop(x) {
			out = append(out, x)
		}
	}
	return out
}
