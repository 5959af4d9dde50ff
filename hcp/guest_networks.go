// This file lists the networks inside the hosted cluster. Nodes route addresses in these networks internally, so VM networks
// and published endpoints must not use them. HyperShift checks machineNetwork against them, but not annotations.

package hcp

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// hostedNetworks returns the IPv4 networks inside the hosted cluster.
func hostedNetworks(o objects.Objects) []network.ReservedDestination {
	hc := o.HostedCluster
	var out []network.ReservedDestination
	add := func(what string, all ...netip.Prefix) {
		for _, p := range all {
			if p.Addr().Is4() {
				out = append(out, network.ReservedDestination{What: what, Prefix: p.Masked(), Required: true})
			}
		}
	}
	field := func(name string, set int) string {
		if set == 0 {
			return "(default of spec.networking." + name + ")"
		}
		return "(spec.networking." + name + ")"
	}
	add("the pod network "+field("clusterNetwork", len(hc.Spec.Networking.ClusterNetwork)), objects.PodNetworks(hc)...)
	ofPods := len(out)
	add("the Service network "+field("serviceNetwork", len(hc.Spec.Networking.ServiceNetwork)), objects.ServiceNetworks(hc)...)
	for i := range out[ofPods:] {
		out[ofPods+i].OfServices = true
	}
	if !objects.UsesOVN(hc) {
		return out
	}
	internal := func(what, cidr string) {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			add(what, p)
		}
	}
	ovn, join, of := appliedOVN(hc), v4InternalSubnets(o), len(out)
	if ovn.InternalJoinSubnet != "" {
		join = []string{ovn.InternalJoinSubnet}
	}
	what, one := "the OVN-Kubernetes join switch", len(join) == 1
	if !one {
		what += " of some releases"
	}
	if _, now := objects.Releases(hc); o.JoinSubnet != "" && now.Before(23) {
		what += " (release " + now.String() + " ignores v4InternalSubnet)"
	}
	for _, cidr := range join {
		internal(what, cidr)
	}
	for i := range out[of:] {
		out[of+i].Possible = !one
	}
	internal("the OVN-Kubernetes transit switch", cmp.Or(ovn.InternalTransitSwitchSubnet, ovnTransit))
	internal("the OVN-Kubernetes masquerade network", ovnMasquerade)
	return out
}

// overlapping returns a problem if HyperShift refuses o because two of its networks overlap (validateSliceNetworkCIDRs
// in hostedcluster_controller.go). HyperShift compares the default join subnet unless internalJoinSubnet is set, even
// if v4InternalSubnet moves that subnet. If a machineNetwork is the CIDR of a request and overlaps a network inside the
// hosted cluster, overlapping leaves it out. Package derive reports this as an Error.
func overlapping(o objects.Objects, requests []network.NetworkRequest) problem.Problems {
	hc, ovn := o.HostedCluster, ovnConfig(o.HostedCluster)
	type entry struct {
		netip.Prefix
		field string
	}
	var all []entry
	add := func(field string, more ...netip.Prefix) {
		for _, p := range more {
			all = append(all, entry{p.Masked(), field})
		}
	}
	addText := func(field, cidr string) {
		if p, err := netip.ParsePrefix(cidr); err == nil {
			add(field, p)
		}
	}
	hosted := slices.DeleteFunc(hostedNetworks(o), func(r network.ReservedDestination) bool { return r.Possible })
	for _, m := range hc.Spec.Networking.MachineNetwork {
		cidr := m.CIDR.String()
		isError := slices.ContainsFunc(requests, func(s network.NetworkRequest) bool {
			return s.CIDR.String() == cidr && slices.ContainsFunc(hosted, func(r network.ReservedDestination) bool { return r.Prefix.Overlaps(s.CIDR) })
		})
		if !isError {
			addText("machineNetwork", cidr)
		}
	}
	add("serviceNetwork", objects.ServiceNetworks(hc)...)
	add("clusterNetwork", objects.PodNetworks(hc)...)
	overlap := func(a, b entry) problem.Problems {
		args := problem.Args{"field": {a.field}, "cidr": {a.String()}, "otherField": {b.field}, "otherCIDR": {b.String()}}
		return problem.Problems{problem.New(problem.HostedNetworksOverlap, problem.Subject{}, args, "spec.networking")}
	}
	for i, e := range all { // HyperShift's checkAdvertiseAddressOverlapping compares only the first network of each field.
		if a := nodeAPI(hc); (i == 0 || all[i-1].field != e.field) && e.Contains(a) {
			return overlap(e, entry{netip.PrefixFrom(a, a.BitLen()), "advertiseAddress"})
		}
	}
	if objects.UsesOVN(hc) {
		if ovn.InternalJoinSubnet == "" {
			addText("default join subnet", ovnJoin)
		}
		addText("internalJoinSubnet", ovn.InternalJoinSubnet)
		addText("internalTransitSwitchSubnet", ovn.InternalTransitSwitchSubnet)
		addText("v4InternalSubnet", o.JoinSubnet)
		addText("ipv6.internalJoinSubnet", cmp.Or(o.OVNIPv6.Join, ovnJoinIPv6))
		addText("ipv6.internalTransitSwitchSubnet", o.OVNIPv6.Transit)
		addText("v6InternalSubnet", o.OVNIPv6.Internal)
	}
	// Of sorted prefixes, two overlap only if two neighbors do.
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()), cmp.Compare(a.field, b.field))
	})
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.Overlaps(b.Prefix) {
			return overlap(a, b)
		}
	}
	return nil
}

// mixedFamilies returns a problem if HyperShift refuses hc for mixing IPv4 and IPv6 (validateNetworkStackAddresses):
// the first networks of pods, Services and machines, and the API's address, must be of one family. An API address that
// is not set is not compared, because HyperShift's default has the family of the pods. If refusedAdvertiseAddress
// reports the address, mixedFamilies returns nil.
func mixedFamilies(hc *hyperv1.HostedCluster) problem.Problems {
	if refusedAdvertiseAddress(hc) != nil {
		return nil
	}
	var firsts []string
	isIPv4 := map[bool]bool{}
	add := func(text string, a netip.Addr) {
		firsts, isIPv4[a.Is4()] = append(firsts, text), true
	}
	for _, all := range [][]netip.Prefix{objects.PodNetworks(hc), objects.ServiceNetworks(hc)} {
		if len(all) > 0 {
			add(all[0].String(), all[0].Addr())
		}
	}
	n := hc.Spec.Networking
	if len(n.MachineNetwork) > 0 {
		if p, err := netip.ParsePrefix(n.MachineNetwork[0].CIDR.String()); err == nil {
			add(p.String(), p.Addr())
		}
	}
	if n.APIServer != nil && n.APIServer.AdvertiseAddress != nil {
		if a, err := netip.ParseAddr(*n.APIServer.AdvertiseAddress); err == nil {
			add(a.String(), a)
		}
	}
	if len(isIPv4) < 2 {
		return nil
	}
	return problem.Problems{problem.New(problem.FamiliesMixed, problem.Subject{}, problem.Args{"networks": firsts}, "spec.networking")}
}

// refusedAdvertiseAddress returns a problem if HyperShift cannot parse the API's address, or if Kubernetes refuses the
// address in the endpoints of the Service kubernetes (ValidateNonSpecialIP).
func refusedAdvertiseAddress(hc *hyperv1.HostedCluster) problem.Problems {
	api := hc.Spec.Networking.APIServer
	if api == nil || api.AdvertiseAddress == nil {
		return nil
	}
	a, err := netip.ParseAddr(*api.AdvertiseAddress)
	if err == nil && !a.IsUnspecified() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsLinkLocalMulticast() {
		return nil
	}
	return problem.Problems{problem.New(problem.AdvertiseAddressUnusable, problem.Subject{}, problem.Args{"address": {*api.AdvertiseAddress}}, "spec.networking.apiServer.advertiseAddress")}
}

// defaultHostPrefix and defaultHostPrefixIPv6 are HyperShift's defaults (support/globalconfig/network.go).
// allocatedHostPrefix is the IPv4 default of kube-controller-manager, and its IPv6 default is 64, too.
const defaultHostPrefix, defaultHostPrefixIPv6, allocatedHostPrefix = 23, 64, 24

const podNetworksField = "spec.networking.clusterNetwork"

// hostPrefixOf returns the prefix length of the subnet that each node gets from the pod network p. set is the
// hostPrefix of p, or 0 if the user does not set it.
func hostPrefixOf(p netip.Prefix, set int32) int {
	if p.Addr().Is4() {
		return cmp.Or(int(set), defaultHostPrefix)
	}
	return cmp.Or(int(set), defaultHostPrefixIPv6)
}

// refusedHostPrefix returns a problem for each pod network whose hostPrefix the cluster network operator refuses. It
// refuses one that is shorter than the CIDR, or that leaves a subnet less than four addresses
// (pkg/network/cluster_config.go). Existing VMs with another network plugin are not checked, because they may run
// without that operator.
func refusedHostPrefix(o objects.Objects) (ps problem.Problems) {
	if !objects.UsesOVN(o.HostedCluster) && len(o.VMs) > 0 {
		return nil
	}
	for _, n := range o.HostedCluster.Spec.Networking.ClusterNetwork {
		p, err := netip.ParsePrefix(n.CIDR.String())
		per := hostPrefixOf(p, n.HostPrefix)
		if least, most := p.Bits(), p.Addr().BitLen()-2; err == nil && (per < least || per > most) {
			args := problem.Args{"cidr": {p.String()}, "hostPrefix": {strconv.Itoa(per)}, "least": {strconv.Itoa(least)}, "most": {strconv.Itoa(most)}}
			ps = append(ps, problem.New(problem.HostPrefixRefused, problem.Subject{}, args, podNetworksField))
		}
	}
	return ps
}

// A family holds the pod networks of one IP family, and the number of nodes that can get a subnet of them.
type family struct {
	cidrs   []string
	subnets int
}

// nodeSubnets returns the pod networks of both IP families. OVN-Kubernetes gives each node one subnet of each family
// (pkg/clustermanager/subnetallocator). For another network plugin with allocateNodeCIDRs, kube-controller-manager gives
// each node a subnet of the first network. HyperShift passes no --node-cidr-mask-size to it (v2/kcm/deployment.go), so
// hostPrefix has no effect.
func nodeSubnets(hc *hyperv1.HostedCluster) (ipv4, ipv6 family) {
	pods, ovn := hc.Spec.Networking.ClusterNetwork, objects.UsesOVN(hc)
	if !ovn {
		pods = pods[:min(len(pods), 1)]
	}
	for _, n := range pods {
		p, err := netip.ParsePrefix(n.CIDR.String())
		if err != nil {
			continue
		}
		of, per := &ipv6, defaultHostPrefixIPv6
		if p.Addr().Is4() {
			of, per = &ipv4, allocatedHostPrefix
		}
		if ovn {
			per = hostPrefixOf(p, n.HostPrefix)
		}
		of.cidrs = append(of.cidrs, p.String())
		if per >= p.Bits() {
			of.subnets += 1 << min(per-p.Bits(), 30)
		}
	}
	return ipv4, ipv6
}

// podSubnets returns a problem for each family in which the pod networks have fewer subnets than o may have nodes. A
// node without a subnet stays NotReady. For OVN-Kubernetes, it adds those of smallJoinSubnets.
func podSubnets(o objects.Objects) (ps problem.Problems) {
	ovn := objects.UsesOVN(o.HostedCluster)
	if !ovn && o.AllocateNodeCIDRs != "Enabled" || refusedHostPrefix(o) != nil {
		return nil
	}
	if _, now := objects.Releases(o.HostedCluster); !ovn && now.Before(22) {
		if len(o.VMs) > 0 {
			return nil
		}
		return problem.Problems{problem.New(problem.AllocationIgnored, problem.Subject{}, problem.Args{"release": {now.String()}}, "spec.networking.allocateNodeCIDRs")}
	}
	ipv4, ipv6 := nodeSubnets(o.HostedCluster)
	nodes := networks.MaxNodes(o)
	for _, f := range []family{ipv4, ipv6} {
		if len(f.cidrs) > 0 && f.subnets < nodes {
			args := problem.Args{"cidrs": f.cidrs, "count": {strconv.Itoa(f.subnets)}, "vms": {strconv.Itoa(nodes)}}
			ps = append(ps, problem.New(problem.PodSubnetsTooFew, problem.Subject{}, args, podNetworksField, "spec.replicas"))
		}
	}
	if ovn {
		ps = append(ps, smallJoinSubnets(o, ipv4)...)
	}
	return ps
}

// defaultNodeAPI is HyperShift's DefaultAdvertiseIPv4Address.
const defaultNodeAPI = "172.20.0.1"

// nodeAPI returns the address at which nodes of hc reach their API server. HyperShift assigns it to the loopback
// interface of each node. It returns the zero Addr for an IPv6 address.
func nodeAPI(hc *hyperv1.HostedCluster) netip.Addr {
	n := hc.Spec.Networking
	if n.APIServer != nil && n.APIServer.AdvertiseAddress != nil {
		if a := services.Address(*n.APIServer.AdvertiseAddress); a.Is4() {
			return a
		}
		return netip.Addr{}
	}
	if len(n.ServiceNetwork) > 0 {
		if p, err := netip.ParsePrefix(n.ServiceNetwork[0].CIDR.String()); err == nil && p.Addr().Is6() {
			return netip.Addr{}
		}
	}
	return services.Address(defaultNodeAPI)
}
