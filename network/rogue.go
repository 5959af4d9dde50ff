// This file decides the problems of hosts that act as an edge: with another DHCP server, or with
// the address of an edge. It never decides what an edge does, since VMs are not trusted in what
// they say.

package network

import (
	"net/netip"
	"slices"
)

// MaxDHCPServers is how many other DHCP servers a report has. A VM can make them up.
const MaxDHCPServers = 4

// RogueDHCPServers returns a problem for each DHCP server on n other than the edges. nameOf
// returns the VM that has a MAC, empty if none has. They are Warnings: edges serve everything.
func (n Network) RogueDHCPServers(all []UsedAddress, nameOf func(mac string) string) Problems {
	known := map[netip.Addr]bool{}
	for _, s := range all {
		known[s.Address] = known[s.Address] || s.MAC != ""
	}
	var ps Problems
	for _, s := range sortedInUse(all) {
		vm := nameOf(s.MAC)
		args := Args{"address": s.Address.String()}
		switch {
		case s.Address == n.DHCP.ServerID || s.MAC == "" && known[s.Address]:
			// The plan has changed since, or the other edge knows more.
		case s.MAC == "":
			ps = append(ps, n.problem(DHCPServerUnlocated, args))
		case vm == "":
			args["mac"] = s.MAC
			ps = append(ps, n.problem(DHCPServerOfHost, args))
		default:
			args["mac"], args["vm"] = s.MAC, vm
			ps = append(ps, n.problem(DHCPServerOfVM, args))
		}
	}
	return ps
}

// SharedVIPs returns a problem for each other host that answers for an address that the edges of n share, as they
// report. nameOf is that of RogueDHCPServers. They are Warnings: any VM can forge ARP.
func (n Network) SharedVIPs(all []UsedAddress, nameOf func(mac string) string) Problems {
	var ps Problems
	for _, u := range n.SharedByOthers(all, nil) {
		role := "published address"
		if !slices.Contains(n.PublishedAddresses, u.Address) {
			role = n.roleOf(u.Address)
		}
		cause, args := VIPOfHost, Args{"role": role, "address": u.Address.String(), "mac": u.MAC}
		if vm := nameOf(u.MAC); vm != "" {
			cause, args["vm"] = VIPOfVM, vm
		}
		ps = append(ps, n.problem(cause, args))
	}
	return ps
}

// ForgedPeers returns a problem for each host that answers for an edge address of n, as the
// other edge reports. nameOf is that of RogueDHCPServers. They are Warnings: any VM can forge ARP.
func (n Network) ForgedPeers(all []UsedAddress, nameOf func(mac string) string) Problems {
	var ps Problems
	for _, u := range sortedInUse(all) {
		if !slices.ContainsFunc(n.Edges, func(e Edge) bool { return e.Address == u.Address }) {
			continue
		}
		cause, args := PeerAddressOfHost, Args{"address": u.Address.String(), "mac": u.MAC}
		if vm := nameOf(u.MAC); vm != "" {
			cause, args["vm"] = PeerAddressOfVM, vm
		}
		ps = append(ps, n.problem(cause, args))
	}
	return ps
}
