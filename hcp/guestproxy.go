// This file says what follows where the hosted cluster itself uses an HTTP proxy:
// its nodes then dial that for their ignition and their images, not the registry.
// It never blocks, and never says a proxy's password.

package hcp

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// guestProxy names the proxies that nodes on a network without a gateway can't
// reach, as far as that is known: neither on the network nor by a user's record.
func guestProxy(hc *hyperv1.HostedCluster, in network.Request) network.Problems {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return nil
	}
	var hosts []string
	for _, said := range []string{c.Proxy.HTTPProxy, c.Proxy.HTTPSProxy} {
		if u, err := url.Parse(said); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		for _, s := range in.Networks {
			if !s.Primary || s.Gateway.IsValid() || s.CIDR.Contains(parsed(host)) || answeredByUser(s.Settings, strings.ToLower(host)) {
				continue
			}
			return network.Problems{{Reason: network.ImagesUnreachable, Field: "spec.configuration.proxy", Detail: fmt.Sprintf(
				"the hosted cluster's nodes get their ignition and their images by the HTTP proxy %s, which must be reachable on network %s, and that has no gateway: they never become Ready unless it is. Give the proxy an address on the network (%sdns-records for its name), name a gateway by %s, or create the cluster without spec.configuration.proxy.",
				host, s.Attachment, settings.Prefix, settings.Prefix+settings.KeyGateway)}}
		}
	}
	return nil
}
