// This file decides the problems of addresses that the user set and that VMs or edges of a
// network do not reach. The address is served as it was set, since a host that oooi does not
// know may forward to it.

package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// The annotation keys that problems of this file name.
const (
	keyNTPServers = "ntp-servers"
	keyRecords    = "dns-records"
	keyDHCPRelays = "dhcp-relays"
)

// maxNamed is how many records a problem names.
const maxNamed = 5

// unreached returns the problems of n, the network of s.
func unreached(n Network, s NetworkRequest, in input) Problems {
	if !n.ServiceVIP.IsValid() {
		return nil // Its CIDR is too small, which is a problem of its own.
	}
	var ps Problems
	reach := in.reach(n, s)
	note := func(c Cause, args Args, keys ...string) {
		args["cidr"] = n.CIDR.String()
		ps = append(ps, n.problem(c, args, keys...))
	}
	if relays := without(n.DHCP.Relays, func(a netip.Addr) bool { return reach.FromEdge(a) == OnNetwork }); len(relays) > 0 {
		note(RelaysUnreachable, Args{"servers": AddressList(relays)}, keyDHCPRelays)
	}
	serves := func(a netip.Addr) bool { // Edges serve the time at the service VIP only.
		way := reach.FromVM(a)
		return way != Unreachable && way != AtEdges || a == n.ServiceVIP && n.runs(ServiceNTP)
	}
	if servers := without(n.TimeServers(), serves); len(servers) > 0 {
		cause, keys := OnlyTimeServersUnreachable, []string{keyNTPServers, keyGateway, keyServices}
		if n.runs(ServiceNTP) {
			cause, keys = TimeServersUnreachable, keys[:2]
		}
		note(cause, Args{"servers": AddressList(servers)}, keys...)
	}
	if !n.Primary {
		return ps
	}
	if servers := n.DHCP.DNSServers; n.runs(ServiceDHCP) && len(servers) > 0 && len(reach.missing(servers)) == len(servers) {
		note(NameServersUnreachable, Args{"servers": AddressList(servers)}, keyUpstreams, keyServices, keyGateway)
	}
	if !n.runs(ServiceDNS) {
		return ps
	}
	for _, a := range reach.missing(in.Apps.Addresses) {
		note(AppsAddressUnreachable, Args{"name": in.Apps.Name, "address": a.String()}, keyAppsAddress, keyGateway)
	}
	if records := reach.missingRecords(s.Settings.Records); len(records) > 0 {
		note(RecordsUnreachable, Args{"records": strings.Join(records, ", ")}, keyRecords, keyGateway)
	}
	return ps
}

// missing returns those of all that VMs do not reach, in their order.
func (r Reach) missing(all []netip.Addr) []netip.Addr {
	return without(all, func(a netip.Addr) bool { return r.FromVM(a) != Unreachable })
}

// missingRecords returns the records, as "name=address", of which VMs reach no address. Sorted, at
// most maxNamed of them, and then how many more there are. An address that no host has, 0.0.0.0 or
// 127.0.0.1, is meant to block a name.
func (r Reach) missingRecords(records []Record) []string {
	var out []string
	for _, x := range records {
		blocks := func(a netip.Addr) bool { return a.IsUnspecified() || a.IsLoopback() }
		if len(x.Addresses) > 0 && len(r.missing(x.Addresses)) == len(x.Addresses) && !slices.ContainsFunc(x.Addresses, blocks) {
			out = append(out, x.Name+"="+x.Addresses[0].String())
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if more := len(out) - maxNamed; more > 0 {
		out = append(out[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return out
}
