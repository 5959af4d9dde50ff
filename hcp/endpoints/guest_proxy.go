// This file checks whether nodes can reach the HTTP proxy of the hosted cluster. Nodes
// that have a proxy fetch Ignition and images through it. The result is never an
// error, and never contains the proxy's password.

package endpoints

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// hostedProxy returns a problem for the first proxy that nodes cannot reach. A proxy is
// reachable on the network, through a gateway, through a record in dns-records, or as one of
// endpoints.
func hostedProxy(hc *hyperv1.HostedCluster, in network.Request, endpoints []network.Endpoint) problem.Problems {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return nil
	}
	var hosts []string
	for _, proxy := range []string{c.Proxy.HTTPProxy, c.Proxy.HTTPSProxy} {
		if u, err := url.Parse(proxy); err == nil && u.Hostname() != "" && !slices.ContainsFunc(endpoints, carries(u)) {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		for _, s := range in.Networks {
			if !s.Primary || s.Gateway.IsValid() || s.CIDR.Contains(services.Address(host)) || answeredByUser(s.Settings, strings.ToLower(host)) {
				continue
			}
			return problem.Problems{s.Attachment.Problem(problem.HostedProxyUnreachable, problem.Args{"proxy": {host}},
				"spec.configuration.proxy", network.KeyRecords, network.KeyGateway)}
		}
	}
	return nil
}

// carries reports whether an endpoint carries connections to proxy. Clients of an http://
// proxy send no TLS server name.
func carries(proxy *url.URL) func(network.Endpoint) bool {
	port := cmp.Or(proxy.Port(), map[string]string{"http": "80", "https": "443"}[proxy.Scheme])
	return func(e network.Endpoint) bool {
		byPort := e.Match == network.MatchAny || proxy.Scheme == "https"
		return byPort && strconv.Itoa(int(e.Port)) == port && slices.Contains(e.Hosts, strings.ToLower(proxy.Hostname()))
	}
}
