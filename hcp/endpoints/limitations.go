// This file finds the parts of a cluster that work on a routed network, but not on
// the networks of VMs. None of them is an error.

package endpoints

import (
	"net/netip"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// limitations returns the problems that VMs on the networks of in will have. *.apps
// and images are checked in other files.
func limitations(o objects.Objects, in network.Request, endpoints []network.Endpoint) problem.Problems {
	return slices.Concat(oauth(in, endpoints), timeServers(in), ipv6(o.HostedCluster), hostedProxy(o.HostedCluster, in, endpoints))
}

// oauth returns a problem if OAuth is published at an IP address and the network has a
// gateway. VMs route that address to the next-hop VIP (DHCP option 121), but
// OVN-Kubernetes sends the traffic of pods to the node's default gateway.
func oauth(in network.Request, endpoints []network.Endpoint) problem.Problems {
	i := slices.IndexFunc(endpoints, func(e network.Endpoint) bool { return e.Name == "oauth" && len(e.Addresses) > 0 })
	for _, s := range in.Networks {
		if i >= 0 && s.Primary && s.Gateway.IsValid() {
			args := problem.Args{"address": {endpoints[i].Addresses[0].String()}, "gateway": {s.Gateway.String()}}
			return problem.Problems{s.Attachment.Problem(problem.OAuthBehindGateway, args, network.KeyPublishing)}
		}
	}
	return nil
}

// timeServers returns a problem for the networks without a gateway on which neither edges nor
// others serve the time. Clocks drift there until TLS certificates are rejected.
func timeServers(in network.Request) problem.Problems {
	var alone []string
	for _, s := range in.Networks {
		if s.Primary && !s.Gateway.IsValid() && len(s.Settings.NTPServers) == 0 && !s.Settings.Selects(network.ServiceNTP) {
			alone = append(alone, s.Attachment.String())
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return problem.Problems{problem.New(problem.TimeServersMissing, problem.Subject{}, problem.Args{"networks": alone}, network.KeyServices, network.KeyNTPServers)}
}

// ipv6 returns a problem if spec.networking has IPv6 networks.
func ipv6(hc *hyperv1.HostedCluster) problem.Problems {
	var networks []string
	add := func(n ipnet.IPNet) {
		if p, err := netip.ParsePrefix(n.String()); err == nil && p.Addr().Is6() {
			networks = append(networks, p.String())
		}
	}
	for _, m := range hc.Spec.Networking.MachineNetwork {
		add(m.CIDR)
	}
	for _, m := range hc.Spec.Networking.ClusterNetwork {
		add(m.CIDR)
	}
	for _, m := range hc.Spec.Networking.ServiceNetwork {
		add(m.CIDR)
	}
	if len(networks) == 0 {
		return nil
	}
	return problem.Problems{problem.New(problem.IPv6Networks, problem.Subject{}, problem.Args{"networks": networks}, "spec.networking")}
}
