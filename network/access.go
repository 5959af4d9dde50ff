// This file holds Access: what callers in the management cluster may reach on a network, as data.

package network

import (
	"net/netip"
	"slices"
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
	// LoadBalancers: edges may stand behind the hosted cluster's load balancers. Nil: they do not.
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

// BalancedAccess is the Services that stand for Services of the hosted cluster. Anyone who reaches one
// gets in: neither Namespaces nor Accounts apply.
type BalancedAccess struct {
	// Here is true on the one network of a plan whose edges the Services lead to.
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
	// Listen is a plain TCP port of the Service that leads here. 0: CONNECT only.
	Listen uint16 `json:"listen,omitempty"`
	// Addresses that are dialed for an address, a record or "apps".
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Names of "apps", such as "*.apps.blue.example.com".
	Names []string `json:"names,omitempty"`
	// TargetPort is dialed at VMs for "apps" without Addresses: a node port or a host port.
	TargetPort uint16 `json:"targetPort,omitempty"`
}
