// This file finds hosts outside the cluster that its control plane dials through konnectivity, so from the nodes: identity
// providers, and registries of image imports. They are no images that nodes need, so edges do not allow them by themselves.
// The sources are HyperShift's konnectivity-https-proxy and support/konnectivityproxy.
//
// A name of LDAP that the hosted cluster does not know is dialed from the management cluster, and so are hosts of clouds.

package endpoints

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// dialedFromNodes returns a problem for each identity provider, and one for the registries of imports, that nodes on a network of in without
// a gateway do not reach. forwarded are the hosts that edges forward to.
func dialedFromNodes(o objects.Objects, in network.Request, s settings.Values, forwarded []network.Endpoint) problem.Problems {
	c := o.HostedCluster.Spec.Configuration
	if c == nil || c.Proxy != nil && c.Proxy.HTTPSProxy != "" {
		return nil // With a proxy, its host alone is dialed.
	}
	reached := func(at string) bool {
		h, _ := byServerName(at)
		return at == "" || ofCloud(h.Host) || reaches(in, s, forwarded, at)
	}
	var ps problem.Problems
	for _, p := range identityProviders(c) {
		if hosts := network.Without(p.hosts, reached); len(hosts) > 0 {
			ps = append(ps, problem.New(problem.IdentityProviderUnreachable, problem.Subject{},
				problem.Args{"provider": {p.name}, "hosts": hosts}, network.KeyAllowedHosts))
		}
	}
	if hosts := network.Without(importRegistries(c), reached); len(hosts) > 0 {
		ps = append(ps, problem.New(problem.ImportsUnreachable, problem.Subject{},
			problem.Args{"hosts": hosts}, network.KeyAllowedHosts))
	}
	return ps
}

// ofCloud reports whether the control plane dials a host itself, because it is a cloud's (konnectivityproxy/dialer.go).
func ofCloud(host string) bool {
	return slices.ContainsFunc([]string{".amazonaws.com", ".microsoftonline.com", ".azure.com", ".cloud.ibm.com"}, func(end string) bool { return strings.HasSuffix(host, end) })
}

// An identityProvider has the hosts that the control plane or the console dials for it: "host" or "host:port".
type identityProvider struct {
	name  string
	hosts []string
}

// identityProviders returns those of OAuth, or those of OIDC if that replaces it. The console dials the latter.
func identityProviders(c *hyperv1.ClusterConfiguration) []identityProvider {
	var out []identityProvider
	if a := c.Authentication; a != nil && a.Type == configv1.AuthenticationTypeOIDC {
		for _, p := range a.OIDCProviders {
			out = append(out, identityProvider{p.Name, hostsOf(p.Issuer.URL)})
		}
		return out
	}
	if c.OAuth == nil {
		return nil
	}
	for _, p := range c.OAuth.IdentityProviders {
		out = append(out, identityProvider{p.Name, providerHosts(p.IdentityProviderConfig)})
	}
	return out
}

// providerHosts returns the hosts that the OAuth server dials for p. The browser of a user dials others.
func providerHosts(p configv1.IdentityProviderConfig) []string {
	switch {
	case p.BasicAuth != nil:
		return hostsOf(p.BasicAuth.URL)
	case p.GitHub != nil && p.GitHub.Hostname != "":
		return []string{p.GitHub.Hostname}
	case p.GitHub != nil:
		return []string{"github.com", "api.github.com"}
	case p.GitLab != nil:
		return hostsOf(p.GitLab.URL)
	case p.Google != nil:
		return []string{"www.googleapis.com"}
	case p.Keystone != nil:
		return hostsOf(p.Keystone.URL)
	case p.OpenID != nil:
		return hostsOf(p.OpenID.Issuer)
	}
	return nil
}

// hostsOf returns the host of a URL, with its port unless that is 443. An invalid one has none.
func hostsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	if a := services.Address(host); a.Is6() {
		host = "[" + host + "]"
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80"}[u.Scheme], "443")
	if port == "443" {
		return []string{host}
	}
	return []string{host + ":" + port}
}

// importRegistries returns the registries that ImageStreams may import from. The API server of OpenShift reads images there.
func importRegistries(c *hyperv1.ClusterConfiguration) []string {
	if c.Image == nil {
		return nil
	}
	var out []string
	for _, r := range c.Image.AllowedRegistriesForImport {
		if !r.Insecure && !strings.HasPrefix(r.DomainName, "*") {
			out = append(out, strings.ToLower(r.DomainName))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
