// This file decides the problems of hosts that act as an edge: they run a DHCP server, or use the address of an edge.
// No edge acts on these reports, because VMs can forge what edges observe.

package reported

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// MaxDHCPServers limits the other DHCP servers in a report, which a VM can make up.
const MaxDHCPServers = 4

// RogueDHCPServers returns a Warning for each DHCP server on n other than the edges, which serve everything. nameOf
// returns the VM with a MAC, or "".
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
			ps = append(ps, withOwner(n, problem.DHCPServerOfHost, s, nameOf, problem.Args{}))
		}
	}
	return ps
}

// SharedVIPs returns a Warning for each host that answers for an address that the edges of n share: any VM can forge
// ARP. nameOf is as in RogueDHCPServers.
func SharedVIPs(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range SharedByOthers(n, all, nil) {
		role := "published address"
		if !slices.Contains(n.PublishedAddresses, u.Address) {
			role = n.RoleOf(u.Address)
		}
		ps = append(ps, withOwner(n, problem.VIPOfHost, u, nameOf, problem.Args{"role": {role}}))
	}
	return ps
}

// ForgedPeers returns a Warning for each host that, as one edge reports, answers for the address of the other edge: any
// VM can forge ARP. nameOf is as in RogueDHCPServers.
func ForgedPeers(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range sortedInUse(all) {
		if !slices.ContainsFunc(n.Edges, func(e network.Edge) bool { return e.Address == u.Address }) {
			continue
		}
		ps = append(ps, withOwner(n, problem.PeerAddressOfHost, u, nameOf, problem.Args{}))
	}
	return ps
}

// YieldedTo returns a Warning for each host to which edges of n yield: any VM can forge heartbeats. nameOf is as in
// RogueDHCPServers.
func YieldedTo(n network.Network, all []UsedAddress, nameOf func(mac string) string) problem.Problems {
	var ps problem.Problems
	for _, u := range sortedInUse(all) {
		ps = append(ps, withOwner(n, problem.EdgeYieldsToHost, u, nameOf, problem.Args{}))
	}
	return ps
}

// withOwner returns the problem that a host uses the address u. It adds the arguments about u to args.
func withOwner(n network.Network, c problem.Cause, u UsedAddress, nameOf func(mac string) string, args problem.Args) problem.Problem {
	args["address"], args["mac"], args["owner"] = []string{u.Address.String()}, []string{u.MAC}, []string{owner(u.MAC, nameOf)}
	return n.Problem(c, args)
}

func owner(mac string, nameOf func(mac string) string) string {
	if vm := nameOf(mac); vm != "" {
		return "VM " + vm
	}
	return "no VM of the cluster"
}
