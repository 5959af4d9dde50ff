// This file holds DHCP, the pool and the options of a network, and well-known ports.

package network

import (
	"net/netip"
	"slices"
	"strings"
)

// DHCP holds the pool and the options of a network (RFC 2131, RFC 2132). If edges do not run DHCP, there is no pool, and
// another server must send the options.
type DHCP struct {
	// Range is the pool, first and last included. Zero if edges do not run DHCP.
	Range Range `json:"range"`
	// Exclude are addresses in Range that are never assigned. A VM that has one keeps it while it runs.
	Exclude []Range `json:"exclude,omitempty"`
	// Named are addresses in Range that the user gave to a host, by a name or as a server, sorted. No new client gets
	// them. A client that has one keeps it, because the user may have named this client.
	Named []netip.Addr `json:"named,omitempty"`
	// Reservations are assigned to their MAC only, in or outside Range.
	Reservations []Reservation `json:"reservations,omitempty"`
	LeaseTime    Duration      `json:"leaseTime"`
	// ServerID is option 54. It is the service VIP, so that clients see all edges as one server.
	ServerID netip.Addr `json:"serverID"`
	// Router is option 3. Zero on a secondary network.
	Router netip.Addr `json:"router,omitzero"`
	// Routes are option 121 (RFC 3442), with the default route, since clients that support 121 ignore option 3. Empty
	// on a secondary network.
	Routes []Route `json:"routes,omitempty"`
	// DNSServers is option 6.
	DNSServers []netip.Addr `json:"dnsServers,omitempty"`
	// DomainName is the domain of VMs' names, SearchDomains option 119 (RFC 3397). DomainName is also option 15, unless
	// SearchDomains is empty: clients that get no option 119 search option 15.
	DomainName    string   `json:"domainName,omitempty"`
	SearchDomains []string `json:"searchDomains,omitempty"`
	// MTU is option 26 in bytes. 0: it is not sent.
	MTU int `json:"mtu,omitempty"`
	// NTPServers are those that the user set. [Network.TimeServers] is option 42.
	NTPServers []netip.Addr `json:"ntpServers,omitempty"`
	// Relays are the giaddr addresses of the relay agents that are answered. Packets of
	// other relay agents are dropped.
	Relays []netip.Addr `json:"relays,omitempty"`
	// IgnoreUnknownClients is true if edges answer only VMs of the cluster.
	IgnoreUnknownClients bool `json:"ignoreUnknownClients,omitempty"`
	// ReservedForVMs is the number of addresses in Range that unknown clients never get, for the NodePools' VMs.
	ReservedForVMs int `json:"reservedForVMs,omitempty"`
}

// A Reservation assigns one address to one MAC.
type Reservation struct {
	// MAC is in lower case with colons.
	MAC     string     `json:"mac"`
	Address netip.Addr `json:"address"`
}

// A Route is one entry of option 121.
type Route struct {
	Destination netip.Prefix `json:"destination"`
	Via         netip.Addr   `json:"via"`
}

// String returns "destination via router".
func (r Route) String() string { return r.Destination.String() + " via " + r.Via.String() }

// RouteList returns routes for messages: in the given order, separated by commas.
func RouteList(routes []Route) string {
	return strings.Join(Texts(routes), ", ")
}

// Addresses returns the number of addresses that DHCP can assign. It does not count reservations outside Range.
func (d DHCP) Addresses() int { return d.Range.sizeWithout(d.Exclude) }

// Unassigned returns the number of addresses in Range that a VM without a reservation can get.
func (d DHCP) Unassigned() int {
	n := 0
	for _, r := range d.Free() {
		n += r.Size()
	}
	return n
}

// Free returns the parts of Range that a VM without a reservation can get, sorted.
func (d DHCP) Free() []Range {
	taken := slices.Clone(d.Exclude)
	for _, a := range d.Named {
		taken = append(taken, Range{First: a, Last: a})
	}
	for _, r := range d.Reservations {
		taken = append(taken, Range{First: r.Address, Last: r.Address})
	}
	return d.Range.Without(taken)
}

// Assignable returns addresses that VMs can have, at most as many as most: those of reservations first, then those in Range.
func (d DHCP) Assignable(most int) []netip.Addr {
	var out []netip.Addr
	for _, r := range d.Reservations {
		out = append(out, r.Address)
	}
	for _, r := range d.Range.Without(d.Exclude) {
		for a := r.First; len(out) < most && r.Contains(a); a = a.Next() {
			if !slices.Contains(out[:min(len(out), len(d.Reservations))], a) {
				out = append(out, a)
			}
		}
	}
	return out[:min(len(out), most)]
}

// PortDNS is the port of the DNS server, for UDP and TCP.
const PortDNS = 53

// PortHTTPS is the port on which endpoints are selected by server name.
const PortHTTPS = 443

// PortHTTP is the port of the hosted cluster's ingress for clients without TLS.
const PortHTTP = 80

// MetricsPort is the TCP port of the metrics of an edge, on the pod network's device.
const MetricsPort = 9753

// HeartbeatPort is the UDP port of heartbeats between edges. PodDNSPort is where edges answer pods of the management cluster,
// on the pod network.
const (
	HeartbeatPort = 7788
	PodDNSPort    = 8053
)

// TimeServers returns the servers of option 42: those that the user set, else the service VIP if edges run NTP. The
// plan does not have this default, because edges of a release without NTP read the same plan.
func (n Network) TimeServers() []netip.Addr {
	if len(n.DHCP.NTPServers) == 0 && n.Runs(ServiceNTP) && n.ServiceVIP.IsValid() {
		return []netip.Addr{n.ServiceVIP}
	}
	return n.DHCP.NTPServers
}
