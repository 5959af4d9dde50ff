// This file finds what works on a routed network, but not on the networks of VMs. None of its problems is an Error.

package endpoints

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/hcp/external"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// limitations returns the problems of this file, with those of refused images and HTTP proxies. *.apps and external
// hosts have files of their own.
func limitations(o objects.Objects, in network.Request, endpoints []network.Endpoint) problem.Problems {
	return slices.Concat(oauth(in, endpoints), timeServers(in), ipv6(o, in), unreadConfig(o, in), external.RefusedImages(o, in, reach.Set{Endpoints: endpoints}), proxyInvalid(o.HostedCluster), hostedProxy(o.HostedCluster, in, endpoints))
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

// timeServers returns a problem for the networks without a gateway on which neither edges nor other servers provide
// the time. Clocks drift there until TLS certificates are rejected.
func timeServers(in network.Request) problem.Problems {
	var alone []string
	for _, s := range in.Networks {
		if reach.IsIsolated(s) && len(s.Settings.NTPServers) == 0 && !s.Settings.Selects(network.ServiceNTP) {
			alone = append(alone, s.Attachment.String())
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return problem.Problems{problem.New(problem.TimeServersMissing, problem.Subject{}, problem.Args{"networks": alone}, network.KeyServices, network.KeyNTPServers)}
}

// unreadConfig returns a problem if NodePools on networks without a gateway have ConfigMaps with node configuration.
// The operator does not read them, because this would need the right to read all ConfigMaps.
func unreadConfig(o objects.Objects, in network.Request) problem.Problems {
	var names []string
	for _, np := range o.NodePools {
		isolated := slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool {
			return reach.IsIsolated(s) && slices.Contains(s.NodePools, np.Name)
		})
		for _, c := range np.Spec.Config {
			if isolated {
				names = append(names, c.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return problem.Problems{problem.New(problem.NodePoolConfigUnread, problem.Subject{}, problem.Args{"configMaps": slices.Compact(names)}, network.KeyAllowedHosts, "spec.config")}
}

// ipv6 returns a problem if spec.networking has IPv6 networks. If pods or Services have IPv6, OVN-Kubernetes starts
// only on a node whose interface has an IPv6 address and route (go-controller/pkg/node/gateway_init.go,
// getNetworkInterfaceIPAddresses). So no node becomes Ready unless a router on the network advertises them. A VM that
// reports such an address shows that there is a router.
func ipv6(o objects.Objects, in network.Request) problem.Problems {
	only4 := func(p netip.Prefix) bool { return !p.Addr().Is6() }
	pods := network.Texts(network.Without(objects.PodAndServiceNetworks(o.HostedCluster), only4))
	machines := network.Texts(network.Without(objects.MachineNetworks(o.HostedCluster), only4))
	switch {
	case len(pods) > 0 && objects.UsesOVN(o.HostedCluster) && reach.HasPrimary(in) && !hasIPv6(o):
		return problem.Problems{problem.New(problem.RouterMustAdvertiseIPv6, problem.Subject{}, problem.Args{"networks": pods}, "spec.networking")}
	case len(pods)+len(machines) > 0:
		return problem.Problems{problem.New(problem.IPv6Networks, problem.Subject{}, problem.Args{"networks": append(machines, pods...)}, "spec.networking")}
	}
	return nil
}

// hasIPv6 reports whether a VM of o has an IPv6 address that is not link-local, according to KubeVirt.
func hasIPv6(o objects.Objects) bool {
	for _, m := range o.VMs {
		for _, i := range m.Status.Interfaces {
			if slices.ContainsFunc(append([]string{i.IP}, i.IPs...), func(text string) bool {
				a := services.Address(text)
				return a.Is6() && a.IsGlobalUnicast()
			}) {
				return true
			}
		}
	}
	return false
}
