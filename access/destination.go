// This file decides which destination of a plan a caller reaches, and which addresses are dialed, from the plan and from
// leases.

package access

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// The destinations that are neither a host name nor an address. A VM may have such a name, too.
const (
	nodes = "nodes"
	apps  = "apps"
)

// A Policy is what one edge opens to callers. It is immutable.
type Policy struct {
	// Network is the network of the plan. If its Access has no port, only load balancers have access.
	Network network.Network
	// Edge is the address of this edge, from which it dials.
	Edge netip.Addr
	// Domains are the domains in which VMs have names, in lower case.
	Domains []string
}

// VMs are the VMs of the cluster that hold an unexpired lease.
type VMs interface {
	// VMAt returns the name of the VM at an address. Empty: none.
	VMAt(address netip.Addr) string
	// VMNamed returns the addresses of the VM of this name, in lower case. This package does not use exists.
	VMNamed(name string) (addresses []netip.Addr, exists bool)
	// Leased returns the addresses of all VMs, in order.
	Leased() []netip.Addr
}

// A Target is what a caller reaches.
type Target struct {
	// Name, Port and Listen are those of the destination in the plan.
	Name         string
	Port, Listen uint16
	// Host is the name of "apps" that the caller named. Empty: another destination, or a plain TCP port.
	Host string
	// VMs: Addresses come from leases, so only the VM with the lease may answer. Otherwise they come from the plan.
	VMs bool
	// Addresses are the addresses that may be dialed. A connection to any one of them suffices. Empty: no VM has an address
	// now.
	Addresses []netip.AddrPort
}

// Find returns the target that authority a refers to, if the plan opens it: a destination in the annotation, else a VM,
// else "apps".
func Find(p Policy, vms VMs, a Authority) (Target, bool) {
	for _, find := range []func(Policy, VMs, Authority, network.AccessDestination) (Target, bool){findNamed, findNode, findApp} {
		for _, d := range p.Network.Access.Destinations {
			if d.Port != a.Port {
				continue
			}
			if t, ok := find(p, vms, a, d); ok {
				return t, true
			}
		}
	}
	return Target{}, false
}

// whyNot returns why Find finds nothing for authority a.
func whyNot(p Policy, vms VMs, a Authority) Reason {
	isNode := func(d network.AccessDestination) bool { return d.Name == nodes && d.Port == a.Port }
	if !slices.ContainsFunc(p.Network.Access.Destinations, isNode) {
		return NotOpen
	}
	if a.Name == "" {
		if p.Dials(a.Address) {
			return NoVM
		}
		return NotOpen
	}
	for _, name := range p.vmNames(a) {
		if addresses, _ := vms.VMNamed(name); len(addresses) > 0 {
			return NotOpen // The VM exists, but edges may not dial its address.
		}
	}
	return NoVM
}

// FindListen returns the target of the plain TCP port listen, which may be a port of a load balancer.
func FindListen(p Policy, vms VMs, listen uint16) (Target, bool) {
	if balances(p.Network.Access, listen) {
		// The port is a node port, so each VM answers on it.
		return p.leased(network.AccessDestination{Name: loadBalancers, Port: listen, Listen: listen}, vms.Leased(), listen), true
	}
	for _, d := range p.Network.Access.Destinations {
		if listen == 0 || d.Listen != listen || !opensPorts(p.Network.Access) {
			continue
		}
		switch d.Name {
		case nodes:
			return p.leased(d, vms.Leased(), d.Port), true
		case apps:
			return p.app(d, vms), true
		}
		return p.target(d, d.Addresses, d.Port), true
	}
	return Target{}, false
}

// Ports returns the plain TCP ports of a, sorted and without duplicates. A plain TCP connection carries no token, so if
// callers must be ServiceAccounts, only load balancers have ports.
func Ports(a network.Access) []uint16 {
	out := append(a.Balanced(), a.PlainPorts()...)
	slices.Sort(out)
	return slices.Compact(out)
}

func opensPorts(a network.Access) bool { return a.Port != 0 && len(a.Accounts) == 0 }

// findNamed finds a destination of the annotation.
func findNamed(p Policy, _ VMs, a Authority, d network.AccessDestination) (Target, bool) {
	switch {
	case d.Name == nodes, d.Name == apps:
		return Target{}, false
	case a.Name == "" && d.Name != a.Address.String(), a.Name != "" && !matches(d.Name, a.Name):
		return Target{}, false
	}
	return p.target(d, d.Addresses, d.Port), true
}

// findNode finds a VM by its name, its name in the domain, or its address.
func findNode(p Policy, vms VMs, a Authority, d network.AccessDestination) (Target, bool) {
	if d.Name != nodes {
		return Target{}, false
	}
	if a.Name == "" {
		if vms.VMAt(a.Address) == "" {
			return Target{}, false
		}
		t := p.leased(d, []netip.Addr{a.Address}, d.Port)
		return t, len(t.Addresses) > 0
	}
	for _, name := range p.vmNames(a) {
		addresses, _ := vms.VMNamed(name)
		if t := p.leased(d, addresses, d.Port); len(t.Addresses) > 0 {
			return t, true
		}
	}
	return Target{}, false
}

// vmNames returns the names of VMs that authority a may stand for.
func (p Policy) vmNames(a Authority) []string {
	names := []string{a.Name}
	for _, domain := range p.Domains {
		if short, ok := strings.CutSuffix(a.Name, "."+domain); ok && domain != "" {
			names = append(names, short)
		}
	}
	return names
}

// findApp finds the hosted cluster's ingress by one of its names.
func findApp(p Policy, vms VMs, a Authority, d network.AccessDestination) (Target, bool) {
	if d.Name != apps || a.Name == "" || !slices.ContainsFunc(d.Names, func(n string) bool { return matches(n, a.Name) }) {
		return Target{}, false
	}
	t := p.app(d, vms)
	t.Host = a.Name
	return t, true
}

// app returns the target of "apps": the addresses of the plan, or else all VMs.
func (p Policy) app(d network.AccessDestination, vms VMs) Target {
	if len(d.Addresses) > 0 {
		return p.target(d, d.Addresses, d.Port)
	}
	return p.leased(d, vms.Leased(), d.TargetPort)
}

// leased returns the target of d, as method target does, for addresses that come from leases.
func (p Policy) leased(d network.AccessDestination, addresses []netip.Addr, port uint16) Target {
	t := p.target(d, addresses, port)
	t.VMs = true
	return t
}

// target returns the target of d with those addresses that may be dialed.
func (p Policy) target(d network.AccessDestination, addresses []netip.Addr, port uint16) Target {
	t := Target{Name: d.Name, Port: d.Port, Listen: d.Listen}
	for _, a := range addresses {
		if port != 0 && p.Dials(a) {
			t.Addresses = append(t.Addresses, netip.AddrPortFrom(a, port))
		}
	}
	return t
}

// matches reports whether name matches planned, a name of the plan. A first label "*" stands for one or more labels.
func matches(planned, name string) bool {
	if suffix, ok := strings.CutPrefix(planned, "*"); ok {
		return strings.HasPrefix(suffix, ".") && len(name) > len(suffix) && strings.HasSuffix(name, suffix)
	}
	return planned == name
}

// Dials reports whether an edge may dial a for a caller, whatever name or lease has it. a must be the IPv4 address of a
// host in the network's CIDR. It must not be an address of an edge, a published address, or an address of a special
// block.
func (p Policy) Dials(a netip.Addr) bool {
	n := p.Network
	first, last := network.HostAddress(n.CIDR, 1), network.HostAddress(n.CIDR, -1)
	if !(network.Range{First: first, Last: last}).Contains(a) || !n.MayDial(a) {
		return false
	}
	return a != p.Edge && !slices.Contains(n.HeldAddresses(), a) && !slices.Contains(n.PublishedAddresses, a)
}

// StillOpen reports whether p still opens the target of a tunnel to address, by CONNECT or the plain TCP port listen. A VM
// whose lease ends keeps its tunnels.
func StillOpen(p Policy, t Target, address netip.AddrPort, listen uint16) bool {
	if !p.Dials(address.Addr()) || listen != 0 && !opensPorts(p.Network.Access) || p.Network.Access.Port == 0 {
		return false
	}
	return slices.ContainsFunc(p.Network.Access.Destinations, func(d network.AccessDestination) bool {
		if d.Name != t.Name || d.Port != t.Port || listen != 0 && d.Listen != listen {
			return false
		}
		switch {
		case d.Name == nodes:
			return address.Port() == d.Port
		case d.Name == apps && t.Host != "" && !slices.ContainsFunc(d.Names, func(n string) bool { return matches(n, t.Host) }):
			return false
		case d.Name == apps && len(d.Addresses) == 0:
			return address.Port() == d.TargetPort
		}
		return address.Port() == d.Port && slices.Contains(d.Addresses, address.Addr())
	})
}

// Admits reports whether p admits callers with this account, "namespace/name". Empty: without a token.
func (p Policy) Admits(account string) bool {
	a := p.Network.Access
	return a.Port != 0 && (len(a.Accounts) == 0 || slices.Contains(a.Accounts, account))
}
