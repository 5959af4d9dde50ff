// This file finds values of spec.networking, and subnets of OVN-Kubernetes, that prevent nodes from becoming Ready. Which
// subnets it has depends on the release, whose hosted-cluster-config-operator sets them
// (controllers/resources/network/reconcile.go in HyperShift's branches release-4.x).

package hcp

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// The default internal networks of OVN-Kubernetes. The join network is HyperShift's
// default for KubeVirt, KubevirtDefaultV4InternalSubnet in api/hypershift/v1beta1. It
// differs from the default of the management cluster. Up to release 4.19, and in early
// patches of 4.20, it was ovnFormerJoin. The others are defaults in OVN-Kubernetes'
// go-controller/pkg/config.
const (
	ovnJoin       = "100.66.0.0/16"
	ovnFormerJoin = "100.65.0.0/16"
	ovnTransit    = "100.88.0.0/16"
	ovnMasquerade = "169.254.0.0/17"
)

// ovnJoinIPv6 is HyperShift's KubevirtDefaultV6InternalJoinSubnet. HyperShift sets this subnet if pods, Services or
// machines have IPv6 (hasIPv6Network).
const ovnJoinIPv6 = "fd99::/64"

// refusedNetworks returns problems if the network type or the networks of o prevent nodes from becoming Ready.
// HyperShift refuses OpenShiftSDN for all releases that it supports (IsValidReleaseVersion in
// support/supportedversion). The bootstrap of the machine config operator uses the tenth address of the first Service
// network for DNS (pkg/operator/render.go). The cluster network operator requires one Service network for each family
// that pods have (pkg/network/cluster_config.go). It accepts IPv6 subnets of OVN-Kubernetes, which HyperShift sets since
// release 4.23, only if pods have IPv6. It refuses a v6InternalSubnet that differs from the join subnet
// (validateOVNKubernetesSubnets).
func refusedNetworks(o objects.Objects) (ps problem.Problems) {
	hc, ovn := o.HostedCluster, o.OVNIPv6
	_, now := objects.Releases(hc)
	if now.Before(23) {
		ovn = lenient.OVNIPv6{}
	}
	add := func(c problem.Cause, args problem.Args) {
		ps = append(ps, problem.New(c, problem.Subject{}, args, "spec.networking"))
	}
	if _, skips := hc.Annotations[hyperv1.SkipReleaseImageValidation]; hc.Spec.Networking.NetworkType == hyperv1.OpenShiftSDN && !skips {
		add(problem.NetworkTypeRefused, problem.Args{"networkType": {string(hyperv1.OpenShiftSDN)}})
	}
	pods, of := objects.PodNetworks(hc), objects.ServiceNetworks(hc)
	if len(of) > 0 && of[0].Addr().BitLen()-of[0].Bits() < 4 {
		add(problem.ServiceNetworkTooSmall, problem.Args{"cidr": {of[0].String()}})
	}
	// Existing VMs with another network plugin may run without the cluster network operator.
	if len(pods) == 0 || len(of) == 0 || !objects.UsesOVN(hc) && len(o.VMs) > 0 {
		return ps
	}
	isIPv6 := func(p netip.Prefix) bool { return !p.Addr().Is4() }
	six, four := slices.ContainsFunc(pods, isIPv6), slices.ContainsFunc(pods, func(p netip.Prefix) bool { return !isIPv6(p) })
	services6 := len(of) - len(slices.DeleteFunc(slices.Clone(of), isIPv6))
	services4 := len(of) - services6
	if services6 > 1 || services4 > 1 || (services6 > 0) != six || (services4 > 0) != four {
		add(problem.ServiceFamiliesDiffer, problem.Args{"networks": network.Texts(of), "pods": network.Texts(pods)})
	}
	if !objects.UsesOVN(hc) {
		return ps
	}
	const config = "ovnKubernetesConfig."
	if join := cmp.Or(ovn.Join, ovnJoinIPv6); six && ovn.Internal != "" && ovn.Internal != join {
		add(problem.IPv6JoinSubnetsDiffer, problem.Args{"cidr": {ovn.Internal}, "otherCIDR": {join}})
	}
	for _, s := range []struct{ field, cidr string }{{"v6InternalSubnet", ovn.Internal}, {"ipv6.internalJoinSubnet", ovn.Join}, {"ipv6.internalTransitSwitchSubnet", ovn.Transit}} {
		if s.cidr != "" && !six {
			add(problem.OVNIPv6WithoutPods, problem.Args{"field": {config + s.field}, "cidr": {s.cidr}})
		}
	}
	for _, p := range objects.MachineNetworks(hc) {
		if isIPv6(p) && !six && ovn.Join == "" && len(o.VMs) == 0 && !now.Before(23) {
			add(problem.MachineIPv6WithoutPods, problem.Args{"cidr": {p.String()}})
		}
	}
	return ps
}

// v4InternalSubnets returns the v4InternalSubnet that HyperShift sets in the hosted cluster. Releases before 4.23 ignore
// the field of the HostedCluster. A cluster keeps the default with which it was created. It may be one of two if that
// release is unknown, or is 4.20, of which later patches have another default.
func v4InternalSubnets(o objects.Objects) []string {
	first, now := objects.Releases(o.HostedCluster)
	switch {
	case o.JoinSubnet != "" && !now.Before(23):
		return []string{o.JoinSubnet}
	case first.Before(20):
		return []string{ovnFormerJoin}
	case first.Since(21):
		return []string{ovnJoin}
	}
	return []string{ovnJoin, ovnFormerJoin}
}

// joinSubnetsDiffer returns a problem if two fields set different join subnets. The cluster network operator refuses an
// internalJoinSubnet that differs from v4InternalSubnet (pkg/network/ovn_kubernetes.go, validateOVNKubernetesSubnets).
func joinSubnetsDiffer(o objects.Objects) problem.Problems {
	set, others := appliedOVN(o.HostedCluster).InternalJoinSubnet, v4InternalSubnets(o)
	if set == "" || slices.Contains(others, set) || !objects.UsesOVN(o.HostedCluster) {
		return nil
	}
	return problem.Problems{problem.New(problem.JoinSubnetsDiffer, problem.Subject{}, problem.Args{"cidr": {set}, "otherCIDR": others[:1]}, "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig")}
}

// smallJoinSubnets returns a problem if the join or the transit subnet is too small. The cluster network operator
// requires an address for each subnet of ipv4 and three more (isV4NodeSubnetLargeEnough in
// pkg/network/ovn_kubernetes.go).
func smallJoinSubnets(o objects.Objects, ipv4 family) (ps problem.Problems) {
	for _, s := range []struct{ field, cidr string }{
		{"v4InternalSubnet", v4InternalSubnets(o)[0]}, {"ipv4.internalTransitSwitchSubnet", appliedOVN(o.HostedCluster).InternalTransitSwitchSubnet},
	} {
		if p, err := netip.ParsePrefix(s.cidr); err == nil && p.Addr().Is4() && len(ipv4.cidrs) > 0 && ipv4.subnets >= 1<<(32-p.Bits())-3 {
			args := problem.Args{"cidr": {s.cidr}, "count": {strconv.Itoa(ipv4.subnets)}, "field": {s.field}}
			ps = append(ps, problem.New(problem.JoinSubnetTooSmall, problem.Subject{}, args, "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig."+s.field, podNetworksField))
		}
	}
	return ps
}

// appliedOVN returns what the release of hc reads of ovnConfig: nothing before 4.20.
func appliedOVN(hc *hyperv1.HostedCluster) hyperv1.OVNIPv4Config {
	if _, now := objects.Releases(hc); now.Before(20) {
		return hyperv1.OVNIPv4Config{}
	}
	return ovnConfig(hc)
}

// ovnConfig returns the internal IPv4 networks of OVN-Kubernetes that hc sets. An empty field means the default.
func ovnConfig(hc *hyperv1.HostedCluster) hyperv1.OVNIPv4Config {
	o := hc.Spec.OperatorConfiguration
	if o == nil || o.ClusterNetworkOperator == nil || o.ClusterNetworkOperator.OVNKubernetesConfig == nil || o.ClusterNetworkOperator.OVNKubernetesConfig.IPv4 == nil {
		return hyperv1.OVNIPv4Config{}
	}
	return *o.ClusterNetworkOperator.OVNKubernetesConfig.IPv4
}

// ovnOverhead is how much smaller, in bytes, the MTU of the pod network must be than the MTU of the nodes' network.
// HyperShift's API documents this and does not check it. ovnNeeded is the difference that OVN-Kubernetes itself
// requires (go-controller/pkg/node, validateVTEPInterfaceMTU).
const (
	ovnOverhead = 100
	ovnNeeded   = 58
	mtuField    = "spec.operatorConfiguration.clusterNetworkOperator.ovnKubernetesConfig.mtu"
)

// ovnMTU returns a problem for each request with an MTU that is unknown, or too small for the pod network. If OVNMTU is
// not set, or the release is older than 4.22, the cluster network operator measures the MTU on one node, uses it for all nodes, and never changes it
// (pkg/controller/operconfig/mtu_probe.go). Then ovnMTU returns problems if the MTUs of the networks differ too much, or,
// while VMs run, from those in last, the plan in force. Networks without VMs do not count.
func ovnMTU(o objects.Objects, requests []network.NetworkRequest, last network.Plan) problem.Problems {
	if first, _ := objects.Releases(o.HostedCluster); first.Before(22) {
		o.OVNMTU = 0
	}
	var ps problem.Problems
	least, most := 0, 0
	nodes := nodesMTU(o, last)
	for _, s := range requests {
		of := mtuOf(s.Attachment, s.Settings.MTU)
		if !s.Primary || s.VMs == 0 || !objects.UsesOVN(o.HostedCluster) {
			continue
		}
		if of > 0 {
			least, most = min(cmp.Or(least, of), of), max(most, of)
		}
		args := problem.Args{"mtu": {strconv.Itoa(o.OVNMTU)}, "least": {strconv.Itoa(o.OVNMTU + ovnOverhead)}}
		switch needs := nodes - ovnOverhead + ovnNeeded; {
		case o.OVNMTU == 0 && of > 0 && of < needs:
			args = problem.Args{"mtu": {strconv.Itoa(of)}, "otherMTU": {strconv.Itoa(nodes)}, "least": {strconv.Itoa(needs)}}
			ps = append(ps, s.Problem(problem.NodeMTUTooSmall, args, network.KeyMTU))
		case o.OVNMTU == 0 || o.OVNMTU+ovnOverhead <= of:
		case of > 0:
			args["networkMTU"] = problem.Values{strconv.Itoa(of)}
			ps = append(ps, s.Problem(problem.OVNMTUTooLarge, args, mtuField, network.KeyMTU))
		default:
			ps = append(ps, s.Problem(problem.OVNMTUUnknown, args, mtuField, network.KeyMTU))
		}
	}
	if o.OVNMTU == 0 && len(o.VMs) == 0 && most-ovnOverhead > least-ovnNeeded {
		args := problem.Args{"mtu": {strconv.Itoa(most)}, "otherMTU": {strconv.Itoa(least)}, "least": {strconv.Itoa(least - ovnOverhead)}}
		ps = append(ps, problem.New(problem.NetworkMTUsDiffer, problem.Subject{}, args, mtuField, network.KeyMTU))
	}
	return ps
}

// mtuOf returns the MTU of VMs on a, where DHCP sends the MTU set. It returns 0 if the MTU is unknown.
func mtuOf(a network.Attachment, set int) int {
	if of := a.InterfaceMTU(); of > 0 && (set == 0 || set > of) {
		return of
	}
	return set
}

// nodesMTU returns the MTU with which nodes of o run, or 0 if it is unknown. Of several networks of last that VMs boot
// from, that with the smallest MTU among those that have Ready nodes decides. A NodePool that moves between two of
// them does not show which one has the nodes. If no NodePool shows it, the largest MTU counts.
func nodesMTU(o objects.Objects, last network.Plan) int {
	booted, networksOf, ready := networks.BootedFrom(o, last), map[string]int{}, map[string]bool{}
	running := slices.DeleteFunc(slices.Clone(last.Networks), func(n network.Network) bool { return !n.Primary || !slices.Contains(booted, n.Name) })
	for _, n := range running {
		for _, name := range n.NodePools {
			networksOf[name]++
		}
	}
	for _, np := range o.NodePools {
		ready[np.Name] = np.Status.Replicas > 0 && networksOf[np.Name] == 1
	}
	least, most := 0, 0
	for _, n := range running {
		of := mtuOf(n.Attachment, n.DHCP.MTU)
		if of == 0 {
			return 0
		}
		most = max(most, of)
		if slices.ContainsFunc(n.NodePools, func(name string) bool { return ready[name] }) {
			least = min(cmp.Or(least, of), of)
		}
	}
	return cmp.Or(least, most)
}
