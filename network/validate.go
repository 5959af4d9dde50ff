// This file validates plans. A violation is a bug in Derive. Mistakes of users are problems.

package network

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// Validate returns all violations in p, as joined errors, or nil.
func (p Plan) Validate() error {
	var errs []error
	names := map[string]bool{}
	for i, n := range p.Networks {
		if names[n.Name] {
			errs = append(errs, fmt.Errorf("network %s: duplicate name", n.Name))
		}
		names[n.Name] = true
		for _, other := range p.Networks[:i] {
			if n.CIDR.Overlaps(other.CIDR) {
				errs = append(errs, fmt.Errorf("network %s: CIDR overlaps that of network %s", n.Name, other.Name))
			}
		}
		if err := n.validate(); err != nil {
			errs = append(errs, fmt.Errorf("network %s: %w", n.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (n Network) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !n.CIDR.IsValid() || n.CIDR != n.CIDR.Masked() || !n.CIDR.Addr().Is4() {
		wrong("%s is not an IPv4 network", n.CIDR)
		return errors.Join(errs...)
	}
	if len(n.Edges) == 0 || len(n.Services) == 0 {
		wrong("no edges or no services")
	}
	held := map[netip.Addr]string{}
	hold := func(a netip.Addr, what string) {
		if other := held[a]; other != "" {
			wrong("%s is both %s and %s", a, other, what)
		}
		if !Inside(n.CIDR, a) {
			wrong("%s %s is not a host address of %s", what, a, n.CIDR)
		}
		if n.DHCP.Range.Contains(a) {
			wrong("%s %s is in the DHCP range", what, a)
		}
		held[a] = what
	}
	hold(n.NextHopVIP, "next-hop VIP")
	hold(n.ServiceVIP, "service VIP")
	for _, e := range n.Edges {
		hold(e.Address, fmt.Sprintf("edge %d", e.Number))
	}
	for _, a := range n.ReservedAddresses {
		hold(a, "reserved")
	}
	for _, a := range n.PublishedAddresses {
		if n.CIDR.Contains(a) {
			wrong("published address %s is inside %s", a, n.CIDR)
		}
	}
	for _, p := range n.ClientNetworks {
		if p != p.Masked() || p.Bits() < MinClientBits || p.Overlaps(n.CIDR) || !n.CIDR.Contains(n.DHCP.Router) {
			wrong("no route to client network %s through %s", p, n.DHCP.Router)
		}
	}
	errs = append(errs, n.validateServices()...)
	errs = append(errs, n.validateListeners()...)
	errs = append(errs, n.validateAccess()...)
	return errors.Join(errs...)
}

func (n Network) validateServices() []error {
	var errs []error
	if !n.Runs(ServiceProxy) && len(n.Listeners)+len(n.Backends)+len(n.PublishedAddresses) > 0 {
		errs = append(errs, errors.New("listeners without service proxy"))
	}
	if !n.Runs(ServiceDNS) && (len(n.DNS.Views) > 0 || n.AnswersPods() || slices.Contains(n.DHCP.DNSServers, n.ServiceVIP)) {
		errs = append(errs, errors.New("DNS views or DNS server address without service dns"))
	}
	if !n.Runs(ServiceDHCP) && (n.DHCP.Range.First.IsValid() || len(n.DHCP.Reservations) > 0) {
		errs = append(errs, errors.New("DHCP range or reservations without service dhcp"))
	}
	if kept, all := n.DHCP.ReservedForVMs, n.DHCP.Addresses(); kept < 0 || kept > all {
		errs = append(errs, fmt.Errorf("%d of %d addresses are reserved for VMs", kept, all))
	}
	return errs
}

func (n Network) validateListeners() []error {
	var errs []error
	serves := map[netip.Addr]bool{n.ServiceVIP: true}
	for _, a := range n.PublishedAddresses {
		serves[a] = true
	}
	backends := map[string]bool{}
	for _, b := range n.Backends {
		backends[b.Name] = true
	}
	for _, l := range n.Listeners {
		if !serves[l.Address] {
			errs = append(errs, fmt.Errorf("listener %s: address is neither the service VIP nor published", l.Name()))
		}
		if l.Default != "" && !backends[l.Default] {
			errs = append(errs, fmt.Errorf("listener %s: no backend %s", l.Name(), l.Default))
		}
		if l.Default == "" && len(l.Forwards) == 0 {
			errs = append(errs, fmt.Errorf("listener %s: no backend", l.Name()))
		}
		for _, f := range l.Forwards {
			if !backends[f.Backend] || len(f.ServerNames) == 0 {
				errs = append(errs, fmt.Errorf("listener %s: server names %v without backend", l.Name(), f.ServerNames))
			}
		}
	}
	return errs
}

// validateAccess returns an error for each opened destination that has no port, or whose address no host of n can
// have.
func (n Network) validateAccess() []error {
	var errs []error
	if n.Access.Opens() && n.Access.Port == 0 {
		errs = append(errs, errors.New("access has no port"))
	}
	if len(n.Access.Accounts) > 0 != (n.Access.Audience != "") {
		errs = append(errs, errors.New("access has accounts without an audience, or an audience without accounts"))
	}
	listens := map[uint16]bool{}
	for _, port := range n.Access.Balanced() {
		if listens[port] = true; port == 0 || PortsOfEdges()[port] != "" || !n.Access.LoadBalancers.Here {
			errs = append(errs, fmt.Errorf("a load balancer forwards to port %d", port))
		}
	}
	if n.Access.LoadBalancers != nil && !(n.Primary && n.Runs(ServiceDHCP)) {
		errs = append(errs, errors.New("load balancers forward to no VMs"))
	}
	for _, d := range n.Access.Destinations {
		if d.Listen != 0 && (listens[d.Listen] || PortsOfEdges()[d.Listen] != "") {
			errs = append(errs, fmt.Errorf("access to %s: port %d is in use", d, d.Listen))
		}
		if d.Listen != 0 && len(n.Access.Accounts) > 0 {
			errs = append(errs, fmt.Errorf("access to %s: port %d cannot carry the token that accounts need", d, d.Listen))
		}
		listens[d.Listen] = true
		for _, a := range d.Addresses {
			if n.Reach().FromEdge(a) != OnNetwork {
				errs = append(errs, fmt.Errorf("access to %s: %s is not a host of the network", d, a))
			}
		}
		if onVMs := len(d.Addresses) == 0; onVMs && (d.Name != AccessNodes && d.TargetPort == 0 || !n.Runs(ServiceDHCP)) {
			errs = append(errs, fmt.Errorf("access to %s has no destination", d))
		}
	}
	return errs
}
