// This file finds hosts that the control plane of a cluster dials through konnectivity, so from the nodes: identity
// providers, and registries of image imports. Nodes do not pull images from these hosts, so edges forward to them only
// if annotation allowed-hosts lists them. The sources are HyperShift's konnectivity-https-proxy and
// support/konnectivityproxy:
//
//	dialed for              by                       a name is resolved by                    HTTP proxy of the hosted cluster
//	OAuth, with HTTP        the OAuth server         the hosted cluster                       yes
//	  the same, of a cloud  the OAuth server itself, except for OpenID, not from the nodes
//	OAuth, with LDAP        the OAuth server         the hosted cluster, if it knows it.      no
//	                                                 Else the OAuth server dials all LDAP
//	                                                 servers itself (resolver.go, markFailure)
//	OIDC                    the console, on nodes    the hosted cluster                       yes
//	  the same              the hosted API server    the management cluster, not from nodes   no
//	imports                 OpenShift's API server   the hosted cluster                       yes

package endpoints

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/external"
	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// dialedFromNodes returns problems for identity providers and registries of imports that nodes do not reach. If each
// network has a gateway, these are the ones whose names only edges could resolve. nodes says what nodes reach with
// external hosts.
func dialedFromNodes(o objects.Objects, nodes reach.Set) problem.Problems {
	c := o.HostedCluster.Spec.Configuration
	if c == nil || !nodes.Isolated() && len(nodes.OwnNamesOnly()) == 0 {
		return nil
	}
	nodes.Proxy = reach.ProxyOf(o.HostedCluster)
	inside := objects.PodAndServiceNetworks(o.HostedCluster)
	apps := strings.ToLower(ingress.Name(o.HostedCluster))
	// Hosts inside the hosted cluster count as reached. So does the ingress, which has a problem of its own if nodes do
	// not reach it.
	ofHosted := func(at string) bool {
		host, port := reach.HostPort(at)
		return settings.InCluster(host) || network.AnyContains(inside, services.Address(host)) ||
			network.MatchesHost(apps, host) && (port == network.PortHTTPS || port == network.PortHTTP)
	}
	reached := func(at string) bool { return ofHosted(at) || nodes.Reaches(at) }
	byLDAP := func(at string) bool { return ofHosted(at) || nodes.Directly(at) || nodes.Unresolved(at) }
	if !nodes.Isolated() {
		reached = func(at string) bool { return ofHosted(at) || nodes.Located(at) || nodes.Proxied(at) }
		byLDAP = func(string) bool { return true }
	}
	providers := identityProviders(o.HostedCluster)
	by, logins := "The hosted control plane", "logins with it"
	if objects.UsesOIDC(o.HostedCluster) {
		by, logins = "The console", "logins to the console"
	}
	var ps problem.Problems
	for _, p := range providers {
		hosts := network.Without(p.hosts, reached)
		if p.ldap {
			hosts = network.Without(p.hosts, byLDAP)
		}
		if len(hosts) == 0 {
			continue
		}
		cause := problem.IdentityProviderUnreachable
		if !external.AllNamed(hosts) {
			cause = problem.IdentityProviderWithoutName
		}
		args := problem.Args{"provider": {p.name}, "hosts": reach.WithoutScheme(hosts), "by": {by}, "logins": {logins}}
		found := problem.New(cause, problem.Subject{}, args, network.KeyAllowedHosts)
		if nodes.AsksNetwork() && !slices.ContainsFunc(hosts, reach.IsAddress) {
			found.Severity = problem.SeverityInfo
		}
		ps = append(ps, found)
	}
	if nodes.Isolated() {
		ours := func(at string) bool { return ofHosted(at) || nodes.Directly(at) }
		own := nodes // Other DNS servers know external hosts, too.
		own.Endpoints = network.Without(nodes.Endpoints, func(e network.Endpoint) bool { return e.Origin == network.OriginRegistry })
		proxied := func(at string) bool {
			return own.Proxied(at) && (ofHosted(at) || own.Recorded(at) || own.Published(at))
		}
		for _, p := range network.Without(providers, func(p identityProvider) bool { return p.ldap }) {
			ps = append(ps, namesThroughProxy(p.hosts, proxied, by, "logins with identity provider "+p.name, problem.SeverityWarning)...)
		}
		ps = slices.Concat(ps, namesThroughProxy(importRegistries(c), proxied, "The hosted control plane", "imports of ImageStreams", problem.SeverityInfo), ldapApart(providers, ours, nodes.Unresolved))
	}
	return append(ps, importsUnreachable(o, reached)...)
}

// importsUnreachable returns problems for registries of imports that nodes do not reach.
func importsUnreachable(o objects.Objects, reached func(at string) bool) (ps problem.Problems) {
	byCause := map[problem.Cause][]string{}
	for _, r := range network.Without(importRegistries(o.HostedCluster.Spec.Configuration), reached) {
		cause := problem.ImportsUnreachable
		if !external.AllNamed([]string{r}) {
			cause = problem.ImportsWithoutName
		}
		byCause[cause] = append(byCause[cause], r)
	}
	for _, cause := range slices.Sorted(maps.Keys(byCause)) {
		ps = append(ps, problem.New(cause, problem.Subject{}, problem.Args{"hosts": byCause[cause]}, network.KeyAllowedHosts))
	}
	return ps
}

// ldapApart returns a problem if nodes reach one LDAP server and edges do not know another. Parameter ours says which ones nodes reach.
func ldapApart(providers []identityProvider, ours, unknown func(at string) bool) problem.Problems {
	var hosts, others []string
	for _, p := range network.Without(providers, func(p identityProvider) bool { return !p.ldap }) {
		for _, at := range p.hosts {
			switch {
			case ours(at):
				others = append(others, at)
			case unknown(at):
				hosts = append(hosts, at)
			}
		}
	}
	if len(hosts) == 0 || len(others) == 0 {
		return nil
	}
	args := problem.Args{"hosts": reach.WithoutScheme(hosts), "other": reach.WithoutScheme(others)}
	return problem.Problems{problem.New(problem.LDAPServersApart, problem.Subject{}, args, network.KeyRecords)}
}

// namesThroughProxy returns a problem about those of hosts that are proxied: by asks the HTTP proxy of the hosted cluster
// for them (konnectivity-https-proxy/cmd.go), although edges or the ingress have their names.
func namesThroughProxy(hosts []string, proxied func(at string) bool, by, uses string, severity problem.Severity) problem.Problems {
	var names []string
	for _, at := range hosts {
		if host, _ := reach.HostPort(at); proxied(at) {
			names = append(names, host)
		}
	}
	if slices.Sort(names); len(names) == 0 {
		return nil
	}
	p := problem.New(problem.HostsThroughProxy, problem.Subject{}, problem.Args{"hosts": slices.Compact(names), "by": {by}, "uses": {uses}}, "spec.configuration.proxy.noProxy")
	p.Severity = severity
	return problem.Problems{p}
}

// issuersOnNetwork returns a problem for each OIDC provider at an address of a network without a gateway, which may be that of
// the ingress. The hosted API server reads the keys of the provider itself: its AuthenticationConfiguration has no
// egressSelectorType (v2/kas/auth.go).
func issuersOnNetwork(hc *hyperv1.HostedCluster, nodes reach.Set) (ps problem.Problems) {
	if !objects.UsesOIDC(hc) {
		return nil
	}
	for _, p := range hc.Spec.Configuration.Authentication.OIDCProviders {
		for _, at := range hostsOf(p.Issuer.URL) {
			host, _ := reach.HostPort(at)
			addresses := slices.Concat(nodes.RecordOf(host).Addresses, []netip.Addr{services.Address(host)})
			for _, e := range nodes.Endpoints {
				if reach.HasHost(e, host) {
					addresses = append(addresses, e.LoadBalancer)
				}
			}
			i := slices.IndexFunc(nodes.In.Networks, func(s network.NetworkRequest) bool {
				within := func(a netip.Addr) bool { return network.Inside(s.CIDR, a) }
				record := reach.Set{Records: s.Settings.Records}.RecordOf(host)
				return !s.Gateway.IsValid() && slices.ContainsFunc(slices.Concat(addresses, record.Addresses), within)
			})
			if i >= 0 {
				args := problem.Args{"provider": {p.Name}, "hosts": reach.WithoutScheme([]string{at})}
				ps = append(ps, nodes.In.Networks[i].Attachment.Problem(problem.OIDCProviderOnNetwork, args, "spec.configuration.authentication"))
			}
		}
	}
	return ps
}

// namesOfEdges returns problems for images and providers with names that edges resolve to their own address, at ports that
// edges do not forward. On a network without a gateway, other problems report that nodes do not reach them.
func namesOfEdges(nodes reach.Set, images, providers []string) (ps problem.Problems) {
	named := func(all []string) []string {
		all = reach.WithoutScheme(network.Without(all, func(at string) bool { return !nodes.AtEdges(at) }))
		slices.Sort(all)
		return slices.Compact(all)
	}
	images, providers = named(images), named(providers)
	for _, s := range nodes.In.Networks {
		if !s.Primary || !s.Gateway.IsValid() || !s.Settings.Selects(network.ServiceDNS) || !s.Settings.Selects(network.ServiceProxy) {
			continue
		}
		if len(images) > 0 {
			ps = append(ps, s.Attachment.Problem(problem.ImagesFromEdge, problem.Args{"hosts": images}, "spec.configuration.proxy", "spec.release.image", "spec.imageContentSources"))
		}
		if len(providers) > 0 {
			ps = append(ps, s.Attachment.Problem(problem.IdentityProviderIsEdge, problem.Args{"hosts": providers}, "spec.configuration.oauth"))
		}
	}
	return ps
}

// providerHosts returns the destinations that nodes dial for identity providers, without those for which they use an HTTP proxy.
func providerHosts(hc *hyperv1.HostedCluster, r reach.Set) (all []string) {
	r.Proxy = reach.ProxyOf(hc)
	for _, p := range identityProviders(hc) {
		all = append(all, network.Without(p.hosts, func(at string) bool { return !p.ldap && r.Proxied(at) })...)
	}
	return all
}

// ofCloud reports whether the host of destination at belongs to a cloud. The OAuth server dials such a host itself
// instead of through nodes (konnectivityproxy/dialer.go).
func ofCloud(at string) bool {
	host, _ := reach.HostPort(at)
	return slices.ContainsFunc([]string{".amazonaws.com", ".c2s.ic.gov", ".hci.ic.gov", ".sc2s.sgov.gov", ".microsoftonline.com", ".azure.com", ".cloud.ibm.com"},
		func(end string) bool { return strings.HasSuffix(host, end) })
}

// An identityProvider is an identity provider of a hosted cluster. hosts are the destinations that nodes dial for it.
type identityProvider struct {
	name  string
	hosts []string
	ldap  bool
}

// identityProviders returns the OIDC providers if OIDC replaces OAuth, else the OAuth providers. Only the console dials
// OIDC providers, so without it there are none.
func identityProviders(hc *hyperv1.HostedCluster) []identityProvider {
	var out []identityProvider
	c := hc.Spec.Configuration
	if objects.UsesOIDC(hc) {
		if !objects.Enabled(hc, hyperv1.ConsoleCapability) {
			return nil
		}
		for _, p := range c.Authentication.OIDCProviders {
			out = append(out, identityProvider{name: p.Name, hosts: hostsOf(p.Issuer.URL)})
		}
		return out
	}
	if c == nil || c.OAuth == nil {
		return nil
	}
	for _, p := range c.OAuth.IdentityProviders {
		if p.LDAP != nil {
			out = append(out, identityProvider{p.Name, hostsOf(p.LDAP.URL), true})
			continue
		}
		// The control plane operator finds OpenID providers through the nodes (discoverOpenIDURLs in v2/oauth/idp_convert.go).
		hosts, found := dialedByOAuth(p.IdentityProviderConfig), p.OpenID != nil
		if urls, challenged, ok := overrideOf(hc, p.Name); ok && p.OpenID != nil {
			hosts, found = urls, !challenged
		}
		out = append(out, identityProvider{name: p.Name, hosts: network.Without(hosts, func(at string) bool { return !found && ofCloud(at) })})
	}
	return out
}

// overrideOf returns what an annotation of hc sets for OpenID provider name: the hosts for tokens and users, which are
// then dialed instead of those of the issuer. challenged is true if it sets challenge, too. Then the control plane
// operator itself dials none (convertOpenIDIDP in v2/oauth/idp_convert.go). ok is false without a valid annotation.
func overrideOf(hc *hyperv1.HostedCluster, name string) (hosts []string, challenged, ok bool) {
	var of struct {
		URLs      struct{ Token, UserInfo string }
		Challenge *bool
	}
	text, ok := hc.Annotations[hyperv1.IdentityProviderOverridesAnnotationPrefix+name]
	if !ok || json.Unmarshal([]byte(text), &of) != nil {
		return nil, false, false
	}
	hosts = append(hostsOf(of.URLs.Token), hostsOf(of.URLs.UserInfo)...)
	slices.Sort(hosts)
	return slices.Compact(hosts), of.Challenge != nil, true
}

// dialedByOAuth returns the hosts that the OAuth server dials for p over HTTP. The user's browser may dial other hosts.
func dialedByOAuth(p configv1.IdentityProviderConfig) []string {
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
		hosts := hostsOf(p.OpenID.Issuer)
		for _, issuer := range hosts {
			hosts = append(hosts, map[string][]string{
				"accounts.google.com":       {"oauth2.googleapis.com", "openidconnect.googleapis.com"},
				"login.microsoftonline.com": {"graph.microsoft.com"},
			}[issuer]...) // Named by /.well-known/openid-configuration of the issuer, for tokens and users.
		}
		return hosts
	}
	return nil
}

// hostsOf returns the destination of the URL address. It returns nil for an invalid URL.
func hostsOf(address string) []string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	if a := services.Address(host); a.Is6() {
		host = "[" + host + "]"
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "ldap": "389", "ldaps": "636"}[u.Scheme], "443")
	if port != "443" {
		host += ":" + port
	}
	if u.Scheme == "http" || u.Scheme == "ldap" {
		host = imageref.PlainHTTP + host
	}
	return []string{host}
}

// importRegistries returns the registries from which OpenShift's API server may read images for ImageStreams.
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
