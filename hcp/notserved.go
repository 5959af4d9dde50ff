// This file says what machines will miss: the parts of a cluster that work on a
// routed network and not on this one. It never blocks.

package hcp

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"

	"github.com/cldmnky/oooi/hcp/settings"
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
			return network.Problems{{Reason: network.OAuthUnreachable, Field: field(hyperv1.OAuthServer, "nodePort.address"), Detail: fmt.Sprintf(
				"OAuth is published at the bare address %s, and network %s has the gateway %s: pods of the hosted cluster, the console among them, send to that gateway and not by their node's route, so nobody logs in to the console. Create the cluster with a host name for OAuth, let the gateway route %s to the network's next hop, or set routingViaHost in the hosted cluster's OVN-Kubernetes.",
				endpoints[i].Addresses[0], s.Attachment, s.Gateway, endpoints[i].Addresses[0])}}
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
	return network.Problems{{Reason: network.NTPMissing, Field: settings.Prefix + "ntp-servers", Detail: fmt.Sprintf(
		"on %s, without a gateway, machines reach no public time server, and nobody named another: their clocks drift, and TLS fails in the end. Set %sntp-servers to a time server on the network, unless the machines keep their hosts' time.",
		strings.Join(alone, ", "), settings.Prefix)}}
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
	return network.Problems{{Reason: network.IPv6NotServed, Field: "spec.networking", Detail: fmt.Sprintf(
		"the cluster has IPv6 networks (%s), and machines get IPv4 addresses only from here. What works by IPv4 works.", strings.Join(said, ", "))}}
}

func hasPrimary(in network.Request) bool {
	return slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary })
}
