// This file decides the problems of hosts that act as an edge: they run a DHCP server, or use
// the address of an edge. No edge acts on these reports, because VMs can forge what edges
// observe.

package reported

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// MaxDHCPServers is how many other DHCP servers a report has at most. A VM can make them up.
const MaxDHCPServers = 4

// RogueDHCPServers returns a problem for each DHCP server on n other than the edges. nameOf
// returns the VM with a MAC, empty if there is none. The problems are Warnings, since edges
// serve everything.
func RogueDHCPServers(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	known := map[netip.Addr]bool{}
	for _, s := range all {
		known[s.Address] = known[s.Address] || s.MAC != ""
	}
	var ps problem.Problems
	for _, s := range sortedInUse(all) {
		switch {
		case s.Address == n.DHCP.ServerID || s.MAC == "" && known[s.Address]:
			// By now the address belongs to the edges, or another edge reports its MAC.
		case s.MAC == "":
			ps = append(ps, n.Problem(problem.DHCPServerUnlocated, problem.Args{"address": {s.Address.String()}}))
		default:
			ps = append(ps, ofVMOrHost(n, problem.DHCPServerOfVM, problem.DHCPServerOfHost, s, nameOf, problem.Args{}))
		}
	}
	return ps
}

// SharedVIPs returns a problem for each host that, as edges report, answers for an address that the edges of n share.
// nameOf is as in RogueDHCPServers. The problems are Warnings, since any VM can forge ARP.
func SharedVIPs(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range SharedByOthers(n, all, nil) {
		role := "published address"
		if !slices.Contains(n.PublishedAddresses, u.Address) {
			role = n.RoleOf(u.Address)
		}
		ps = append(ps, ofVMOrHost(n, problem.VIPOfVM, problem.VIPOfHost, u, nameOf, problem.Args{"role": {role}}))
	}
	return ps
}

// ForgedPeers returns a problem for each host that, as one edge reports, answers for the address
// of the other edge. nameOf is as in RogueDHCPServers. The problems are Warnings, since any VM can
// forge ARP.
func ForgedPeers(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range sortedInUse(all) {
		if !slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return e.Address == u.Address }) {
			continue
		}
		ps = append(ps, ofVMOrHost(n, problem.PeerAddressOfVM, problem.PeerAddressOfHost, u, nameOf, problem.Args{}))
	}
	return ps
}

// YieldedTo returns a problem for each host to which edges of n yield. nameOf is as in RogueDHCPServers. The problems are
// Warnings, since any VM can forge heartbeats.
func YieldedTo(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range sortedInUse(all) {
		ps = append(ps, ofVMOrHost(n, problem.EdgeYieldsToVM, problem.EdgeYieldsToHost, u, nameOf, problem.Args{}))
	}
	return ps
}

// ofVMOrHost returns the problem that a host uses the address u. The cause is vm if a VM has the MAC of u, else host. It adds
// to args.
func ofVMOrHost(n network.Network, vm, host problem.Cause, u UsedAddress, nameOf func(mac string) string, args problem.Args) problem.Problem {
	cause := host
	args["address"], args["mac"] = []string{u.Address.String()}, []string{u.MAC}
	if name := nameOf(u.MAC); name != "" {
		cause, args["vm"] = vm, []string{name}
	}
	return n.Problem(cause, args)
}
