// This file holds AccessRequest: what the user opens to the management cluster.

package network

import (
	"net/netip"
	"slices"
	"strconv"
)

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
	// gave it. No name: it has none, or AccessApps is not in Entries. No addresses: endpoints
	// tell.
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

// balances reports whether r opens the hosted cluster's load balancers.
func (r AccessRequest) balances() bool { return r.names(AccessLoadBalancers) }

// opens reports whether r has an entry for callers of HTTP CONNECT, be it one that can be opened or not.
func (r AccessRequest) opens() bool {
	return slices.ContainsFunc(r.Entries, func(e AccessEntry) bool { return e.Destination != AccessLoadBalancers })
}

// names reports whether an entry of r has this destination.
func (r AccessRequest) names(destination string) bool {
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
