// This file holds Access: what callers in the management cluster may reach on a network, as data.

package network

import (
	"net/netip"
	"slices"
	"strconv"
)

// Access of a Network: the way in from the management cluster. Zero: none.
type Access struct {
	// Port at which edges answer HTTP CONNECT on the pod network. 0: nowhere.
	Port uint16 `json:"port"`
	// Destinations are what callers reach. Empty with a Port: no entry of the user can be opened now.
	Destinations []AccessDestination `json:"destinations"`
	// Namespaces that the NetworkPolicy admits, sorted. Empty: those of other policies only.
	Namespaces []string `json:"namespaces,omitempty"`
	// Accounts are the ServiceAccounts that callers must be, "namespace/name". Empty: edges ask for no token.
	Accounts []string `json:"accounts,omitempty"`
	// Audience of tokens, "oooi-access.<control plane namespace>". Empty without Accounts.
	Audience string `json:"audience,omitempty"`
	// LoadBalancers: edges may be the endpoints of the hosted cluster's load balancers. Nil: they are not.
	LoadBalancers *BalancedAccess `json:"loadBalancers,omitempty"`
}

// PlainPorts returns the plain TCP ports of Destinations, sorted, each once. They can carry no token, so there are none if callers must be
// ServiceAccounts.
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

// BalancedAccess has the load balancers of the hosted cluster that forward to edges. Anyone who reaches one
// gets in: neither Namespaces nor Accounts apply.
type BalancedAccess struct {
	// Here is true on the one network of a plan whose edges get the connections of the Services.
	Here bool `json:"here,omitempty"`
	// Services by name. Empty where Here is false.
	Services []BalancedService `json:"services,omitempty"`
}

// A BalancedService is one Service of the control plane namespace.
type BalancedService struct {
	Name string `json:"name"`
	// HostedService is the Service of the hosted cluster, "namespace/name". Empty: the ingress, by base domain passthrough.
	HostedService string `json:"hostedService,omitempty"`
	// Ports, sorted: edges listen there on the pod network, and dial the same ports of VMs.
	Ports []uint16 `json:"ports"`
	// Sources that the NetworkPolicy admits to Ports, sorted. Empty: anyone.
	Sources []netip.Prefix `json:"sources,omitempty"`
}

// An AccessDestination is what callers may reach at one port.
type AccessDestination struct {
	// Name is "nodes", "apps", an IPv4 address, or a name of dns-records.
	Name string `json:"name"`
	// Port that a caller names. For "apps" it is 443 or 80.
	Port uint16 `json:"port"`
	// Listen is a plain TCP port of the Service that forwards to this destination. 0: CONNECT only.
	Listen uint16 `json:"listen,omitempty"`
	// Addresses that are dialed for an address, a record or "apps".
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Names of "apps", such as "*.apps.blue.example.com".
	Names []string `json:"names,omitempty"`
	// TargetPort is dialed at VMs for "apps" without Addresses: a node port or a host port.
	TargetPort uint16 `json:"targetPort,omitempty"`
}

// AccessPort is the TCP port of HTTP CONNECT on the pod network's device.
const AccessPort = 3128

// AccessObject is the name of the NetworkPolicy of access, and of the Service of the first network.
const AccessObject = "oooi-access"

// longestService is the limit for the name of a Service, in characters.
const longestService = 63

// PortsOfEdges are the ports that a pod of an edge has on the pod network already.
func PortsOfEdges() map[uint16]string {
	return map[uint16]string{AccessPort: "HTTP CONNECT", MetricsPort: "metrics", PodDNSPort: "DNS for pods", HeartbeatPort: "heartbeats"}
}

// Opens reports whether callers of HTTP CONNECT or of ports of oooi's own Services reach anything through a.
func (a Access) Opens() bool { return len(a.Destinations) > 0 }

// AccessService is the name of the Service for management access on the network at i:
// "oooi-access" on the first network that VMs boot from, else the network's name follows.
func (p Plan) AccessService(i int) string {
	if i == 0 && p.Networks[0].Primary {
		return AccessObject
	}
	return AccessObject + "-" + p.Networks[i].Dashed(longestService-len(AccessObject)-1)
}

// String is what a caller names: "nodes:10250".
func (d AccessDestination) String() string {
	return AccessEntry{Listen: d.Listen, Destination: d.Name, Port: d.Port}.String()
}

// The most Services and ports of load balancers in a plan. A report of an edge has all ports, and an edge has a socket
// for each.
const (
	MaxBalancedServices = 256
	MaxBalancedPorts    = 512
)

// HasProxy reports whether edges run the access proxy. It depends on annotations and networks only, not on the Services that
// exist: a Service that appears in the hosted cluster must not recreate an edge.
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

// The values of an AccessLog.
const (
	AccessLogNone AccessLog = "none"
	// AccessLogFailures logs connections that reached no backend, that edges ended, or that were reset
	// before an answer.
	AccessLogFailures AccessLog = "failures"
	AccessLogAll      AccessLog = "all"
	// DefaultAccessLog is the value if the user sets none.
	DefaultAccessLog = AccessLogFailures
)

// AccessLogs returns the values of an AccessLog.
func AccessLogs() []AccessLog {
	return []AccessLog{AccessLogNone, AccessLogFailures, AccessLogAll}
}

// Level is l with the default in place of an empty or unknown value.
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
	// Namespaces whose pods are admitted. None: those that HyperShift's own policies admit.
	Namespaces []string `json:"namespaces,omitempty"`
	// Accounts are the ServiceAccounts, "namespace/name", that callers must be. None: no token is
	// asked for.
	Accounts []string `json:"accounts,omitempty"`
	// Apps is the wildcard name of the hosted cluster's ingress, with the addresses that the user
	// set for it. No name: it has none, or AccessApps is not in Entries. No addresses: endpoints
	// show them.
	Apps Record `json:"apps,omitzero"`
}

// An AccessEntry is one value of annotation management-access.
type AccessEntry struct {
	// Listen is a plain TCP port of its own, from 1 to 65535. 0: none.
	Listen uint16 `json:"listen,omitempty"`
	// Destination is AccessNodes, AccessApps, AccessLoadBalancers, an IPv4 address, or a DNS name in lower case.
	Destination string `json:"destination"`
	// Port from 1 to 65535; of AccessApps 443 or 80, of AccessLoadBalancers 0.
	Port uint16 `json:"port"`
	// Addresses are the IPv4 address itself, or those that dns-records has for the name. None: the
	// name is not there, or Destination is one of the words.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// Balances reports whether r opens the hosted cluster's load balancers.
func (r AccessRequest) Balances() bool { return r.Names(AccessLoadBalancers) }

// Opens reports whether r has an entry for callers of HTTP CONNECT, be it one that can be opened or not.
func (r AccessRequest) Opens() bool {
	return slices.ContainsFunc(r.Entries, func(e AccessEntry) bool { return e.Destination != AccessLoadBalancers })
}

// Names reports whether an entry of r has this destination.
func (r AccessRequest) Names(destination string) bool {
	return slices.ContainsFunc(r.Entries, func(e AccessEntry) bool { return e.Destination == destination })
}

// String is the entry as the user writes it: "5432=192.168.100.60:5432".
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
