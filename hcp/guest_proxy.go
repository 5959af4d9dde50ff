// This file says what follows where the hosted cluster itself uses an HTTP proxy:
// its nodes then dial that for their ignition and their images, not the registry.
// It never blocks, and never says a proxy's password.

package hcp

import (
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
			return network.Problems{networkProblem(network.GuestProxyUnreachable, s.Attachment, network.Args{"proxy": host},
				"spec.configuration.proxy", "dns-records", settings.KeyGateway)}
		}
	}
	return nil
}
