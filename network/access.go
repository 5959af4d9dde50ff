// This file holds Access: what callers in the management cluster may reach on a network, as data.

package network

import (
	"net/netip"
	"slices"
	"strconv"
)

// Access is what callers in the management cluster may reach on a Network, and which callers may. Zero: nothing.
type Access struct {
	// Port is the TCP port at which edges answer HTTP CONNECT on the pod network. 0: they do not.
	Port uint16 `json:"port"`
	// Destinations are what callers reach. Empty although Port is set: none of the user's entries can be opened now.
	Destinations []AccessDestination `json:"destinations"`
	// Namespaces are those whose pods the NetworkPolicy admits, sorted. Empty: only other policies admit pods.
	Namespaces []string `json:"namespaces,omitempty"`
	// Accounts are the ServiceAccounts whose tokens edges accept, "namespace/name". Empty: edges ask for no token.
	Accounts []string `json:"accounts,omitempty"`
	// Audience is the audience of the tokens, "oooi-access.<control plane namespace>". Empty without Accounts.
	Audience string `json:"audience,omitempty"`
	// LoadBalancers is set if edges may be the endpoints of the hosted cluster's load balancers.
	LoadBalancers *BalancedAccess `json:"loadBalancers,omitempty"`
}

// PlainPorts returns the plain TCP ports of Destinations, sorted, without duplicates. Connections to these ports carry
// no token, so there are no such ports if callers must be ServiceAccounts.
func (a Access) PlainPorts() []uint16 {
	if a.Port == 0 || len(a.Accounts) > 0 {
		return nil
	}
	var out []uint16
	for _, d := range a.Destinations {
		if d.Listen != 0 && d.Listen != a.Port {
			out = append(out, d.Listen)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// BalancedAccess lists the hosted cluster's load balancers that forward to edges. Namespaces and Accounts do not limit
// who may use them.
type BalancedAccess struct {
	// Here is true on the one network of a plan whose edges get the connections of the Services.
	Here bool `json:"here,omitempty"`
	// Services are sorted by name. Empty if Here is false.
	Services []BalancedService `json:"services,omitempty"`
}

// A BalancedService is a Service of the control plane namespace that forwards to edges.
type BalancedService struct {
	Name string `json:"name"`
	// HostedService is the Service of the hosted cluster, "namespace/name". Empty: HyperShift made the Service for
	// the ingress itself (base domain passthrough).
	HostedService string `json:"hostedService,omitempty"`
	// Ports are sorted. Edges listen on them on the pod network, and dial the same ports of VMs.
	Ports []uint16 `json:"ports"`
	// Sources are the client prefixes that the NetworkPolicy admits to Ports, sorted. Empty: anyone.
	Sources []netip.Prefix `json:"sources,omitempty"`
}

// An AccessDestination is what callers may reach at one port.
type AccessDestination struct {
	// Name is "nodes", "apps", an IPv4 address, or a name of dns-records.
	Name string `json:"name"`
	// Port is the port that a caller asks for. For "apps" it is 443 or 80.
	Port uint16 `json:"port"`
	// Listen is a plain TCP port of the Service that forwards to this destination. 0: CONNECT only.
	Listen uint16 `json:"listen,omitempty"`
	// Addresses are those to dial if Name is an address, a name of dns-records, or "apps".
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Names of the ingress, such as "*.apps.blue.example.com". Empty unless Name is "apps".
	Names []string `json:"names,omitempty"`
	// TargetPort is the port of VMs to dial for "apps" if Addresses is empty: a node port or a host port.
	TargetPort uint16 `json:"targetPort,omitempty"`
}

// AccessPort is the TCP port of HTTP CONNECT on the pod network.
const AccessPort = 3128

// AccessObject is the name of the NetworkPolicy for management access, and of the Service for the first network.
const AccessObject = "oooi-access"

// longestService is the limit for the name of a Service, in characters.
const longestService = 63

// PortsOfEdges returns the ports that edges already use on the pod network, each with its purpose.
func PortsOfEdges() map[uint16]string {
	return map[uint16]string{AccessPort: "HTTP CONNECT", MetricsPort: "metrics", PodDNSPort: "DNS for pods", HeartbeatPort: "heartbeats"}
}

// Opens reports whether a has a destination for callers of HTTP CONNECT, or of oooi's own Services.
func (a Access) Opens() bool { return len(a.Destinations) > 0 }

// AccessService returns the Service for management access on the network at index i: "oooi-access" for the first
// network if VMs boot from it, else "oooi-access-" and the network's name.
func (p Plan) AccessService(i int) string {
	if i == 0 && p.Networks[0].Primary {
		return AccessObject
	}
	return AccessObject + "-" + p.Networks[i].Dashed(longestService-len(AccessObject)-1)
}

// String returns what the user writes for d: "nodes:10250".
func (d AccessDestination) String() string {
	return AccessEntry{Listen: d.Listen, Destination: d.Name, Port: d.Port}.String()
}

// The limits of load balancers in a plan. An edge has a socket for each port, and reports all ports.
const (
	MaxBalancedServices = 256
	MaxBalancedPorts    = 512
)

// HasProxy reports whether edges run the access proxy. The result does not depend on which load balancers exist,
// because a new one must not recreate edges.
func (a Access) HasProxy() bool { return a.Port != 0 || a.LoadBalancers != nil }

// Balanced returns the ports of edges that load balancers forward to, sorted.
func (a Access) Balanced() []uint16 {
	if a.LoadBalancers == nil {
		return nil
	}
	var out []uint16
	for _, s := range a.LoadBalancers.Services {
		out = append(out, s.Ports...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// An AccessLog selects the connections that edges log when they end. Empty, and any value of a later
// format, means AccessLogFailures.
type AccessLog string

const (
	AccessLogNone AccessLog = "none"
	// AccessLogFailures logs connections that reached no backend, that edges ended, or that were reset
	// before an answer.
	AccessLogFailures AccessLog = "failures"
	AccessLogAll      AccessLog = "all"
	DefaultAccessLog            = AccessLogFailures
)

// AccessLogs returns all values.
func AccessLogs() []AccessLog {
	return []AccessLog{AccessLogNone, AccessLogFailures, AccessLogAll}
}

// Level returns l, or the default if l is empty or unknown.
func (l AccessLog) Level() AccessLog {
	if slices.Contains(AccessLogs(), l) {
		return l
	}
	return DefaultAccessLog
}

// The words of an AccessEntry that are neither an address nor a name of dns-records.
const (
	// AccessNodes: each VM of the cluster with a lease on the network.
	AccessNodes = "nodes"
	// AccessApps: every name of the hosted cluster's ingress.
	AccessApps = "apps"
	// AccessLoadBalancers: the hosted cluster's load balancers, for anyone who reaches them. It has no port.
	AccessLoadBalancers = "loadbalancers"
)

// An AccessRequest is what the user opens to the management cluster. Zero: nothing.
type AccessRequest struct {
	// Entries are the values of annotation management-access.
	Entries []AccessEntry `json:"entries,omitempty"`
	// Namespaces are those whose pods are admitted. None: those that HyperShift's own policies admit.
	Namespaces []string `json:"namespaces,omitempty"`
	// Accounts are the ServiceAccounts whose tokens are accepted, "namespace/name". None: callers need no token.
	Accounts []string `json:"accounts,omitempty"`
	// Apps is the wildcard name of the hosted cluster's ingress, with the addresses that the user set for it. No
	// name: the ingress has none, or AccessApps is not in Entries. No addresses: an endpoint has them.
	Apps Record `json:"apps,omitzero"`
}

// An AccessEntry is one value of annotation management-access.
type AccessEntry struct {
	// Listen is the TCP port, from 1 to 65535, at which callers reach Destination without HTTP CONNECT. 0: none.
	Listen uint16 `json:"listen,omitempty"`
	// Destination is AccessNodes, AccessApps, AccessLoadBalancers, an IPv4 address, or a DNS name in lower case.
	Destination string `json:"destination"`
	// Port is from 1 to 65535. For AccessApps it is 443 or 80, for AccessLoadBalancers 0.
	Port uint16 `json:"port"`
	// Addresses are the IPv4 address itself, or the addresses that dns-records has for the name. None: dns-records
	// does not have the name, or Destination is neither an address nor a name.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Balances reports whether r opens the hosted cluster's load balancers.
func (r AccessRequest) Balances() bool { return r.Names(AccessLoadBalancers) }

// Opens reports whether r has an entry for callers of HTTP CONNECT, even one that cannot be opened.
func (r AccessRequest) Opens() bool {
	return slices.ContainsFunc(r.Entries, func(e AccessEntry) bool { return e.Destination != AccessLoadBalancers })
}

// Names reports whether r has an entry for this destination.
func (r AccessRequest) Names(destination string) bool {
	return slices.ContainsFunc(r.Entries, func(e AccessEntry) bool { return e.Destination == destination })
}

// String returns the entry as the user writes it: "5432=192.168.100.60:5432".
func (e AccessEntry) String() string {
	if e.Port == 0 {
		return e.Destination
	}
	out := e.Destination + ":" + strconv.Itoa(int(e.Port))
	if e.Listen != 0 {
		out = strconv.Itoa(int(e.Listen)) + "=" + out
	}
	return out
}
