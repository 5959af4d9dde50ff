// This file holds Access: what callers in the management cluster may reach on a network, as data.

package network

import "net/netip"

// Access of a Network: the way in from the management cluster. Zero: none.
type Access struct {
	// Port at which edges answer HTTP CONNECT on the pod network. 0: nowhere.
	Port         uint16              `json:"port"`
	Destinations []AccessDestination `json:"destinations"`
	// Namespaces that the NetworkPolicy admits, sorted. Empty: those of other policies only.
	Namespaces []string `json:"namespaces,omitempty"`
	// Accounts are the ServiceAccounts that callers must be, "namespace/name". Empty: edges ask for no token.
	Accounts []string `json:"accounts,omitempty"`
	// Audience of tokens, "oooi-access.<control plane namespace>". Empty without Accounts.
	Audience string `json:"audience,omitempty"`
}

// An AccessDestination is what callers may reach at one port.
type AccessDestination struct {
	// Name is "nodes", "apps", an IPv4 address, or a name of dns-records.
	Name string `json:"name"`
	// Port that a caller names. For "apps" it is 443 or 80.
	Port uint16 `json:"port"`
	// Listen is a plain TCP port of the Service that leads here. 0: CONNECT only.
	Listen uint16 `json:"listen,omitempty"`
	// Addresses that are dialed for an address, a record or "apps".
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Names of "apps", such as "*.apps.blue.example.com".
	Names []string `json:"names,omitempty"`
	// TargetPort is dialed at VMs for "apps" without Addresses: a node port or a host port.
	TargetPort uint16 `json:"targetPort,omitempty"`
}
