// This file says what machines will miss: the parts of a cluster that work on a
// routed network and not on this one. It never blocks.

package hcp

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"

	"github.com/cldmnky/oooi/network"
)

// notServed is what machines on the networks of in will miss. Applications and
// images have files of their own.
func notServed(o Objects, in network.Request, endpoints []network.Endpoint) network.Problems {
	return slices.Concat(oauth(in, endpoints), clocks(in), ipv6(o.HostedCluster), guestProxy(o.HostedCluster, in))
}

// oauth at a bare IP is routed to the next hop by option 121, which pods of the
// hosted cluster don't have: OVN-Kubernetes sends what leaves them to the node's
// default gateway.
func oauth(in network.Request, endpoints []network.Endpoint) network.Problems {
	i := slices.IndexFunc(endpoints, func(e network.Endpoint) bool { return e.Name == "oauth" && len(e.Addresses) > 0 })
	for _, s := range in.Networks {
		if i >= 0 && s.Primary && s.Gateway.IsValid() {
			args := network.Args{"address": endpoints[i].Addresses[0].String(), "gateway": s.Gateway.String()}
			return network.Problems{networkProblem(network.OAuthBehindGateway, s.Attachment, args, keyServices)}
		}
	}
	return nil
}

// clocks that nobody sets drift, until no certificate holds.
func clocks(in network.Request) network.Problems {
	var alone []string
	for _, s := range in.Networks {
		if s.Primary && !s.Gateway.IsValid() && len(s.Settings.NTPServers) == 0 {
			alone = append(alone, s.Attachment.String())
		}
	}
	if len(alone) == 0 {
		return nil
	}
	return network.Problems{network.NewProblem(network.TimeServersMissing, network.Subject{}, network.Args{"networks": strings.Join(alone, ", ")}, "ntp-servers")}
}

func ipv6(hc *hyperv1.HostedCluster) network.Problems {
	var said []string
	add := func(n ipnet.IPNet) {
		if p, err := netip.ParsePrefix(n.String()); err == nil && p.Addr().Is6() {
			said = append(said, p.String())
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
	if len(said) == 0 {
		return nil
	}
	return network.Problems{network.NewProblem(network.IPv6Networks, network.Subject{}, network.Args{"networks": strings.Join(said, ", ")}, "spec.networking")}
}

// networkProblem is a problem of the network of a, which it names in its arguments.
func networkProblem(c network.Cause, a network.Attachment, args network.Args, keys ...string) network.Problem {
	all := network.Args{"network": a.String()}
	maps.Copy(all, args)
	return network.NewProblem(c, network.Subject{Kind: "Network", Namespace: a.Namespace, Name: a.Name}, all, keys...)
}

func hasPrimary(in network.Request) bool {
	return slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary })
}
