// This file decides what happens if another host already has an address that an edge or a VM would get.
//
// A new edge or gateway does not take the address of a VM. An address of a running edge stays with the edge, since VMs are not trusted,
// and a Warning names the VM. Other Warnings name VMs that keep addresses which settings would take from them, that have
// the same address, or whose addresses are not in the CIDR of their network.
//
// Other hosts are VMs of other hosted clusters on the network, hosts that these clusters name, and management nodes. DHCP
// leaves out their addresses as long as VMs have enough others, so that no cluster can empty the pool of another one.

package derive

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/derive/served"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// refuseInUse returns a copy of o. If a VM has an edge's address on a network, a secondary network is left out, and a
// primary one is refused. If edges already hold the address in last, the plan in force, there is only a Warning.
func (o outcome) refuseInUse(seen []network.VMAddress, last network.Plan) outcome {
	out := o.checked(func(n network.Network) problem.Problems {
		var ps problem.Problems
		for _, h := range claimsOf(n, seen) {
			if holds(last, n.Name, h.Address) {
				continue
			}
			args := problem.Args{"vm": {h.VM}, "role": {n.RoleOf(h.Address)}, "address": {h.Address.String()}}
			ps = append(ps, n.Problem(problem.VMHasEdgeAddress, args, network.KeyEdgeAddresses))
		}
		return ps
	})
	for _, n := range out.plan.Networks {
		for _, h := range claimsOf(n, seen) {
			if holds(last, n.Name, h.Address) {
				args := problem.Args{"vm": {h.VM}, "role": {n.RoleOf(h.Address)}, "address": {h.Address.String()}, "mac": {cmp.Or(h.MAC, "unknown")}}
				out.problems = append(out.problems, n.Problem(problem.AddressUsedByVM, args))
			}
		}
	}
	return out
}

// claimsOf returns the VMs that have an address of n's edges.
func claimsOf(n network.Network, seen []network.VMAddress) []network.VMAddress {
	held := n.HeldAddresses()
	return slices.DeleteFunc(slices.Clone(seen), func(h network.VMAddress) bool { return h.Network != n.Name || !slices.Contains(held, h.Address) })
}

func holds(p network.Plan, name string, a netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n network.Network) bool { return n.Name == name && slices.Contains(n.HeldAddresses(), a) })
}

// outsideCIDR returns a problem if VMs on n have addresses, but none in its CIDR. It is an Error if that is so for all VMs,
// and n is not in force: the CIDR is wrong. Link-local addresses do not count: OVN-Kubernetes in the VM adds one. While a VM
// moves from another network of last, the plan in force, its object has the address in that network.
func outsideCIDR(in served.Input, n network.Network, last network.Plan) problem.Problems {
	s, inside, some := requestOf(in.Request, n), map[string]bool{}, false
	of := network.Without(in.VMAddresses, func(h network.VMAddress) bool { return h.Network != n.Name || h.Address.IsLinkLocalUnicast() })
	for _, h := range of {
		moves := slices.ContainsFunc(last.Networks, func(x network.Network) bool { return x.Name != n.Name && x.CIDR.Contains(h.Address) })
		if moves || n.CIDR.Contains(h.Address) {
			inside[h.VM], some = true, true
		}
	}
	of = network.Without(of, func(h network.VMAddress) bool { return inside[h.VM] })
	if len(of) == 0 {
		return nil
	}
	vms, addresses := named(of)
	p := n.Problem(problem.VMsOutsideCIDR, problem.Args{"vms": vms, "addresses": addresses, "cidr": {n.CIDR.String()}, "where": {s.CIDRField}}, s.CIDRKeys...)
	if has(last, n) || some {
		p = p.Warning()
	}
	return problem.Problems{p}
}

// gatewayOfVM returns a problem if a VM has the gateway of n. It is a Warning if that gateway is in force, in last.
func gatewayOfVM(in served.Input, n network.Network, last network.Plan) problem.Problems {
	gateway := requestOf(in.Request, n).Gateway
	i := slices.IndexFunc(in.VMAddresses, func(h network.VMAddress) bool { return n.Primary && h.Network == n.Name && h.Address == gateway })
	if i < 0 {
		return nil
	}
	p := n.Problem(problem.GatewayIsVM, problem.Args{"vm": {in.VMAddresses[i].VM}, "gateway": {gateway.String()}}, network.KeyGateway)
	if slices.ContainsFunc(last.Networks, func(x network.Network) bool { return x.Name == n.Name && x.DHCP.Router == gateway }) {
		p = p.Warning()
	}
	return problem.Problems{p}
}

// keptByVMs returns a Warning for each annotation that would take addresses from VMs of p's networks. DHCP renews these
// addresses as long as KubeVirt reports them, so the annotation counts when the VMs are gone.
func keptByVMs(in served.Input, p network.Plan) problem.Problems {
	var ps problem.Problems
	for _, n := range p.Networks {
		if !n.Runs(network.ServiceDHCP) {
			continue
		}
		set := requestOf(in.Request, n).Settings
		on := network.Without(in.VMAddresses, func(h network.VMAddress) bool { return h.Network != n.Name || !n.CIDR.Contains(h.Address) })
		add := func(key string, takes func(network.VMAddress) []string) {
			kept, values := takenFrom(on, takes)
			if vms, addresses := named(kept); len(vms) > 0 {
				args := problem.Args{"key": {key}, "values": values[:min(len(values), maxNamed)], "vms": vms, "addresses": addresses}
				ps = append(ps, n.Problem(problem.AddressKeptByVM, args, key))
			}
		}
		add(network.KeyDHCPExclude, excluding(set.DHCPExclude))
		add(network.KeyReservations, reserving(set.Reservations, on))
	}
	return ps
}

// takenFrom returns those of on for which takes returns values, and the values. It leaves out VMs that would keep another
// address: a further address of a VM is not from DHCP.
func takenFrom(on []network.VMAddress, takes func(network.VMAddress) []string) (kept []network.VMAddress, values []string) {
	free := map[string]bool{}
	for _, h := range on {
		free[h.VM] = free[h.VM] || len(takes(h)) == 0
	}
	kept = network.Without(on, func(h network.VMAddress) bool { return free[h.VM] })
	for _, h := range kept {
		values = append(values, takes(h)...)
	}
	slices.Sort(values)
	return kept, slices.Compact(values)
}

func excluding(ranges []network.Range) func(network.VMAddress) []string {
	return func(h network.VMAddress) (values []string) {
		for _, r := range ranges {
			if r.Contains(h.Address) {
				values = append(values, r.Short())
			}
		}
		return values
	}
}

// reserving takes an address that is reserved for another MAC, and the address of a VM that has a reservation of another
// one. A VM that has its reserved address, too, keeps both. on has the addresses of all VMs of the network.
func reserving(all []network.Reservation, on []network.VMAddress) func(network.VMAddress) []string {
	of, has := map[string][]network.Reservation{}, map[network.Reservation]bool{}
	for _, r := range all {
		of[r.MAC], of[r.Address.String()] = append(of[r.MAC], r), append(of[r.Address.String()], r)
	}
	for _, h := range on {
		has[network.Reservation{MAC: h.MAC, Address: h.Address}] = true
	}
	return func(h network.VMAddress) (values []string) {
		for _, r := range slices.Concat(of[h.MAC], of[h.Address.String()]) {
			if h.MAC != "" && (r.MAC != h.MAC || r.Address != h.Address && !has[r]) {
				values = append(values, r.MAC+"="+r.Address.String())
			}
		}
		return values
	}
}

// sharedByVMs returns a Warning for each address that two VMs have on one of p's networks. VMs with several addresses do not
// count: one may move between them.
func sharedByVMs(in served.Input, p network.Plan) problem.Problems {
	var ps problem.Problems
	for _, n := range p.Networks {
		addresses, vms := map[string][]netip.Addr{}, map[netip.Addr][]string{}
		for _, h := range in.VMAddresses {
			if h.Network == n.Name && n.CIDR.Contains(h.Address) && !slices.Contains(addresses[h.VM], h.Address) {
				addresses[h.VM] = append(addresses[h.VM], h.Address)
			}
		}
		for vm, of := range addresses {
			if len(of) == 1 {
				vms[of[0]] = append(vms[of[0]], vm)
			}
		}
		for _, a := range slices.SortedFunc(maps.Keys(vms), netip.Addr.Compare) {
			if of := vms[a]; len(of) > 1 {
				slices.Sort(of)
				ps = append(ps, n.Problem(problem.AddressSharedByVMs, problem.Args{"vms": of[:min(len(of), maxNamed)], "address": {a.String()}}))
			}
		}
	}
	return ps
}

// named returns the first VMs and addresses of all, for a problem.
func named(all []network.VMAddress) (vms, addresses []string) {
	for _, h := range all {
		vms, addresses = append(vms, h.VM), append(addresses, h.Address.String())
	}
	slices.Sort(vms)
	vms = slices.Compact(vms)
	return vms[:min(len(vms), maxNamed)], addresses[:min(len(addresses), maxNamed)]
}

// maxNamed limits how many VMs or addresses a problem names.
const maxNamed = 10

// hostsOf returns the addresses that the user of n gave to hosts, by a DNS record, or as a DNS or NTP server. An
// excluded address is not one of them: it may be an address that the user left to other clusters.
func hostsOf(n network.Network) []netip.Addr {
	all := slices.Clone(n.DHCP.NTPServers)
	for _, s := range n.DNS.Upstreams.Servers {
		all = append(all, s.Addr())
	}
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			all = append(all, r.Addresses...)
		}
	}
	ofEdges := append(n.HeldAddresses(), n.PublishedAddresses...)
	return network.Without(all, func(a netip.Addr) bool { return slices.Contains(ofEdges, a) })
}

// maxHosts is the maximum number of hosts of another cluster on a network whose addresses no VM gets.
const maxHosts = 128

// hostsOn returns the hosts of u on the network of a, those of its plan in force first: at most maxHosts.
func (u OtherCluster) hostsOn(a network.Attachment) []netip.Addr {
	seen := map[netip.Addr]bool{}
	var out []netip.Addr
	for _, theirs := range slices.Concat(u.Serves.Networks, u.Wants.Networks) {
		if !theirs.Attachment.SameNetwork(a) {
			continue
		}
		for _, host := range hostsOf(theirs) {
			if !seen[host] && len(out) < maxHosts {
				seen[host], out = true, append(out, host)
			}
		}
	}
	return out
}

// takenByHosts returns the addresses of n's edges that a host has, according to a plan of u that has precedence. Edges
// that already hold an address in last, the plan in force, keep it.
func takenByHosts(n network.Network, u OtherCluster, last network.Plan) []netip.Addr {
	var hosts []netip.Addr
	for _, theirs := range u.ahead(n.Attachment) {
		hosts = append(hosts, hostsOf(theirs)...)
	}
	return network.Without(n.HeldAddresses(), func(a netip.Addr) bool { return !slices.Contains(hosts, a) || holds(last, n.Name, a) })
}

// sharedHosts returns Warnings about addresses that the user of n gave to hosts. One is for those that edges of another
// cluster have, one for the ingress if another cluster has the same address for its own.
func sharedHosts(n network.Network, r network.Request, others []OtherCluster) problem.Problems {
	var ps problem.Problems
	apps, named := namedBy(n, r)
	for _, u := range others {
		var edges, ingress []netip.Addr
		for _, theirs := range u.ahead(n.Attachment) {
			edges = append(edges, theirs.HeldAddresses()...)
		}
		for _, theirs := range slices.Concat(u.Serves.Networks, u.Wants.Networks) {
			if theirs.Attachment.SameNetwork(n.Attachment) {
				ingress = append(ingress, ingressOf(theirs)...)
			}
		}
		var keys []string
		var met []netip.Addr
		for _, x := range named {
			if slices.Contains(edges, x.First) {
				keys, met = append(keys, x.key), append(met, x.First)
			}
		}
		if len(met) > 0 {
			slices.Sort(keys)
			slices.SortFunc(met, netip.Addr.Compare)
			args := problem.Args{"hostedCluster": {u.Name}, "addresses": {network.List(slices.Compact(met))}}
			ps = append(ps, n.Problem(problem.SharedAddresses, args, slices.Compact(keys)...).Warning())
		}
		if i := slices.IndexFunc(apps, func(a netip.Addr) bool { return slices.Contains(ingress, a) }); i >= 0 {
			args := problem.Args{"hostedCluster": {u.Name}, "address": {apps[i].String()}}
			ps = append(ps, n.Problem(problem.AppsAddressShared, args, network.KeyAppsAddress))
		}
	}
	return ps
}

// namedBy returns the addresses that r gives to hosts of n, with their keys, and among them those of the ingress.
func namedBy(n network.Network, r network.Request) (apps []netip.Addr, all []usedRange) {
	if !n.Primary {
		return nil, nil
	}
	add := func(key string, addresses ...netip.Addr) {
		for _, a := range addresses {
			all = append(all, usedRange{network.Range{First: a, Last: a}, key})
		}
	}
	set := requestOf(r, n).Settings
	add(network.KeyNTPServers, set.NTPServers...)
	if set.Upstreams != nil {
		for _, server := range set.Upstreams.Servers {
			add(network.KeyUpstreams, server.Addr())
		}
	}
	if n.Runs(network.ServiceDNS) {
		apps = r.Apps.Addresses
		add(network.KeyAppsAddress, apps...)
		for _, record := range set.Records {
			add(network.KeyRecords, record.Addresses...)
		}
	}
	return apps, all
}

// ingressOf returns the addresses of n's ingress that are not addresses of edges.
func ingressOf(n network.Network) []netip.Addr {
	var out []netip.Addr
	for _, v := range n.DNS.Views {
		for _, r := range v.Records {
			if strings.HasPrefix(r.Name, "*.apps.") {
				out = append(out, r.Addresses...)
			}
		}
	}
	return network.Without(out, func(a netip.Addr) bool { return slices.Contains(n.HeldAddresses(), a) })
}

// vmsOfOthers returns the addresses that VMs of other clusters have on p's networks.
func vmsOfOthers(p network.Plan, others []OtherCluster) []network.VMAddress {
	var out []network.VMAddress
	for _, u := range others {
		for _, n := range p.Networks {
			names := u.namesOf(n.Attachment)
			for _, v := range u.VMAddresses {
				if slices.Contains(names, v.Network) {
					out = append(out, network.VMAddress{VM: v.VM + " of hosted cluster " + u.Name, Network: n.Name, Address: v.Address, MAC: v.MAC})
				}
			}
		}
	}
	return out
}

// leaveOutHosts returns a copy of p whose DHCP servers give no new client the address of a host that is not of this cluster.
func leaveOutHosts(in served.Input, p network.Plan, others []OtherCluster) network.Plan {
	ofVMs := vmsOfOthers(p, others)
	return p.WithEach(func(n *network.Network) {
		var hosts []netip.Addr
		for _, r := range in.Reserved {
			if r.Node && r.Prefix.IsSingleIP() {
				hosts = append(hosts, r.Prefix.Addr())
			}
		}
		for _, v := range ofVMs {
			if v.Network == n.Name {
				hosts = append(hosts, v.Address)
			}
		}
		for _, u := range others {
			hosts = append(hosts, u.hostsOn(n.Attachment)...)
		}
		slices.SortFunc(hosts, netip.Addr.Compare)
		spare := n.DHCP.Unassigned() - max(1, requestOf(in.Request, *n).VMs)
		n.DHCP.Named = slices.Clone(n.DHCP.Named)
		free := n.DHCP.Free()
		for _, a := range slices.Compact(hosts) {
			for len(free) > 0 && free[0].Last.Less(a) {
				free = free[1:]
			}
			if spare > 0 && len(free) > 0 && free[0].Contains(a) {
				n.DHCP.Named = append(n.DHCP.Named, a)
				spare--
			}
		}
		slices.SortFunc(n.DHCP.Named, netip.Addr.Compare)
	})
}

// nodesAtEdges returns a Warning for each address of p's edges that a management node has on any of its interfaces. It is
// unknown which network such an interface is on. Package served refuses addresses that edges must reach.
func nodesAtEdges(in served.Input, p network.Plan) problem.Problems {
	var ps problem.Problems
	for _, n := range p.Networks {
		for _, r := range in.Reserved {
			if a := r.Prefix.Addr(); r.Node && !r.Required && r.Prefix.IsSingleIP() && slices.Contains(n.HeldAddresses(), a) {
				args := problem.Args{"node": {r.What}, "role": {n.RoleOf(a)}, "address": {a.String()}}
				ps = append(ps, n.Problem(problem.NodeHasEdgeAddress, args, network.KeyEdgeAddresses))
			}
		}
	}
	return ps
}

// requestOf returns the request for n, or the zero NetworkRequest if there is none.
func requestOf(r network.Request, n network.Network) network.NetworkRequest {
	i := slices.IndexFunc(r.Networks, func(s network.NetworkRequest) bool { return s.Attachment.NetworkName() == n.Name })
	if i < 0 {
		return network.NetworkRequest{}
	}
	return r.Networks[i]
}
