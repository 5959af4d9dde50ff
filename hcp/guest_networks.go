// This file says which addresses the hosted cluster uses inside itself: there its
// own nodes look for them, so no network of its machines may have them, and
// nothing is published at them. HyperShift holds machineNetwork alone against
// them; what annotations and definitions say it does not see.

package hcp

import (
	"cmp"
	"net/netip"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// What OVN-Kubernetes has for itself where nobody says otherwise. The join
// network is HyperShift's own choice for KubeVirt, apart from the management
// cluster's: api/hypershift/v1beta1, KubevirtDefaultV4InternalSubnet. The others
// are OVN-Kubernetes' defaults: go-controller/pkg/config.
const (
	ovnJoin       = "100.66.0.0/16"
	ovnTransit    = "100.88.0.0/16"
	ovnMasquerade = "169.254.0.0/17"
)

// guestNetworks are the IPv4 networks that hc has inside itself.
func guestNetworks(hc *hyperv1.HostedCluster) []network.ReservedDestination {
	var out []network.ReservedDestination
	add := func(what, cidr string) {
		if p, err := netip.ParsePrefix(cidr); err == nil && p.Addr().Is4() {
			out = append(out, network.ReservedDestination{What: what, Prefix: p.Masked()})
		}
	}
	n := hc.Spec.Networking
	for _, e := range n.ClusterNetwork {
		add("the pod network (spec.networking.clusterNetwork)", e.CIDR.String())
	}
	for _, e := range n.ServiceNetwork {
		add("the Service network (spec.networking.serviceNetwork)", e.CIDR.String())
	}
	if n.NetworkType != hyperv1.OVNKubernetes && n.NetworkType != "" {
		return out
	}
	said := ovnSaid(hc)
	add("the OVN-Kubernetes join switch", cmp.Or(said.InternalJoinSubnet, ovnJoin))
	add("the OVN-Kubernetes transit switch", cmp.Or(said.InternalTransitSwitchSubnet, ovnTransit))
	add("the OVN-Kubernetes masquerade network", ovnMasquerade)
	return out
}

// ovnSaid is what hc says of OVN-Kubernetes' own networks.
func ovnSaid(hc *hyperv1.HostedCluster) hyperv1.OVNIPv4Config {
	o := hc.Spec.OperatorConfiguration
	if o == nil || o.ClusterNetworkOperator == nil || o.ClusterNetworkOperator.OVNKubernetesConfig == nil || o.ClusterNetworkOperator.OVNKubernetesConfig.IPv4 == nil {
		return hyperv1.OVNIPv4Config{}
	}
	return *o.ClusterNetworkOperator.OVNKubernetesConfig.IPv4
}

// announcedAddresses are the bare IPs at which hc says that something will be
// published, known before it is.
func announcedAddresses(hc *hyperv1.HostedCluster) []netip.Addr {
	var out []netip.Addr
	for _, p := range publishedServices(hc) {
		s := strategyOf(hc, p.service)
		if s.Type != hyperv1.NodePort || s.NodePort == nil {
			continue
		}
		if a := parsed(s.NodePort.Address); a.Is4() {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
