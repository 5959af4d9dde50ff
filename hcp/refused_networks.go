// This file finds values of spec.networking, and IPv6 subnets of OVN-Kubernetes, that prevent nodes from becoming Ready.

package hcp

import (
	"cmp"
	"net/netip"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// ovnJoinIPv6 is HyperShift's KubevirtDefaultV6InternalJoinSubnet. HyperShift sets this subnet if pods, Services or
// machines have IPv6 (hasIPv6Network).
const ovnJoinIPv6 = "fd99::/64"

// refusedNetworks returns problems if the network type or the networks of o prevent nodes from becoming Ready.
// HyperShift refuses OpenShiftSDN for all releases that it supports (IsValidReleaseVersion in
// support/supportedversion). The bootstrap of the machine config operator uses the tenth address of the first Service
// network for DNS (pkg/operator/render.go). The cluster network operator requires one Service network for each family
// that pods have (pkg/network/cluster_config.go). It accepts IPv6 subnets of OVN-Kubernetes only if pods have IPv6, and
// refuses a v6InternalSubnet that differs from the join subnet (validateOVNKubernetesSubnets).
func refusedNetworks(o objects.Objects) (ps problem.Problems) {
	hc, ovn := o.HostedCluster, o.OVNIPv6
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
		if isIPv6(p) && !six && ovn.Join == "" && len(o.VMs) == 0 {
			add(problem.MachineIPv6WithoutPods, problem.Args{"cidr": {p.String()}})
		}
	}
	return ps
}
