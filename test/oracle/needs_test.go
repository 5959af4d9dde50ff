// This file states what nodes of a world need, from HyperShift's sources: which places they dial, which images they pull, which names the
// cluster itself uses, and what DHCP must not assign. Each is served, or a problem names it.

package oracle

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Severities of problems, the least first.
var severities = []string{"Info", "Waiting", "Warning", "Error"}

// A need is one place that nodes dial.
type need struct {
	// what it is, for messages.
	what string
	host string
	port int
	// backend reports whether a connection ends where it must.
	backend func(backend) bool
	// words of the problem that must be there if the connection does not end there: one of them. least is its severity.
	words []string
	least string
}

// needs returns what nodes of w dial.
func (w *world) needs() []need {
	return slices.Concat(w.endpoints(), w.images(), w.dialedByControlPlane(), w.ingress())
}

// endpoints are those that HyperShift publishes: nodes boot with the first two, and are part of the cluster with the third. The console
// and browsers use the last.
func (w *world) endpoints() []need {
	titles := map[string][]string{"APIServer": {"api"}, "Ignition": {"ignition"}, "Konnectivity": {"konnectivity"}, "OAuthServer": {"oauth"}}
	var out []need
	for _, of := range []string{"APIServer", "Ignition", "Konnectivity", "OAuthServer"} {
		if of == "OAuthServer" && w.withoutOAuth() {
			continue
		}
		host, port := w.place(of)
		p := published[of]
		out = append(out, need{of, host, port, func(b backend) bool { return b.Kind == "" && b.Service == p.service && b.Port == w.portOf(of) },
			append(titles[of], host), "Waiting"})
	}
	return out
}

// withoutOAuth reports whether an external OIDC provider replaces the OAuth server.
func (w *world) withoutOAuth() bool {
	return text(w.hosted(), "spec", "configuration", "authentication", "type") == "OIDC"
}

// portOf returns the port of the Service behind a published service.
func (w *world) portOf(of string) int {
	p := published[of]
	if ports := list(w.service(p.service), "spec", "ports"); len(ports) > 0 {
		return number(ports[0], "port")
	}
	return p.port
}

// images are those that nodes pull: of the release (nodepool_controller.go), of the proxy to the API (resolveHAProxyImage), of the
// konnectivity agent (konnectivity/params.go), of overrides, and of catalogs in the cluster (support/catalogs/images.go).
func (w *world) images() []need {
	hc := w.hosted()
	if text(w.pool(), "metadata", "annotations", oooi+"gateway")+text(hc, "metadata", "annotations", oooi+"gateway") != "" {
		return nil // Nodes reach them through the gateway.
	}
	const hs = "hypershift.openshift.io/"
	proxied := text(hc, "spec", "configuration", "proxy", "httpsProxy") != ""
	all := []string{text(hc, "spec", "release", "image"), text(w.pool(), "spec", "release", "image"),
		text(w.pool(), "metadata", "annotations", hs+"haproxy-image"), text(hc, "metadata", "annotations", hs+"konnectivity-agent-image")}
	for o := range strings.SplitSeq(text(hc, "metadata", "annotations", hs+"image-overrides"), ",") {
		_, image, _ := strings.Cut(o, "=")
		all = append(all, image)
	}
	if proxied {
		all = append(all, text(hc, "metadata", "annotations", hs+"control-plane-operator-image"), text(hc, "spec", "controlPlaneRelease", "image"))
	}
	if text(hc, "spec", "olmCatalogPlacement") == "guest" && get(hc, "spec", "configuration", "operatorhub", "disableAllDefaultSources") != true {
		all = append(all, "registry.redhat.io/redhat/redhat-operator-index:v4.20")
	}
	for _, s := range list(hc, "spec", "imageContentSources") {
		for _, m := range list(s, "mirrors") {
			all = append(all, m.(string))
		}
	}
	var out []need
	for _, image := range all {
		registry, _, _ := strings.Cut(strings.TrimSpace(image), "/")
		if registry == "" {
			continue
		}
		out = append(out, external("image "+image, registry, "Warning"))
	}
	return out
}

// external returns the need of a host outside, "host" or "host:port".
func external(what, at, least string) need {
	host, port := at, 443
	if h, p, ok := strings.Cut(at, ":"); ok {
		host = h
		port, _ = strconv.Atoi(p)
	}
	host = strings.ToLower(host)
	return need{what, host, port, func(b backend) bool { return b.Kind == "external" && b.Host == host && b.Port == port }, []string{host}, least}
}

// dialedByControlPlane are identity providers that the OAuth server dials through konnectivity, so from the nodes (v2/oauth/idp_convert.go).
// Konnectivity's dialer excludes hosts of clouds (support/konnectivityproxy/dialer.go). The console dials OIDC issuers.
func (w *world) dialedByControlPlane() []need {
	if text(w.hosted(), "metadata", "annotations", oooi+"gateway") != "" || text(w.hosted(), "spec", "configuration", "proxy", "httpsProxy") != "" {
		return nil
	}
	var urls []string
	providers := list(w.hosted(), "spec", "configuration", "oauth", "identityProviders")
	if w.withoutOAuth() {
		providers = nil
	}
	for _, p := range providers {
		urls = append(urls, text(p, "openID", "issuer"), text(p, "basicAuth", "url"), text(p, "keystone", "url"), text(p, "gitlab", "url"))
		switch {
		case get(p, "github") != nil && text(p, "github", "hostname") != "":
			urls = append(urls, "https://"+text(p, "github", "hostname"))
		case get(p, "github") != nil:
			urls = append(urls, "https://github.com", "https://api.github.com")
		case get(p, "google") != nil:
			urls = append(urls, "https://www.googleapis.com")
		}
	}
	for _, p := range list(w.hosted(), "spec", "configuration", "authentication", "oidcProviders") {
		urls = append(urls, text(p, "issuer", "issuerURL"))
	}
	var out []need
	for _, address := range urls {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || slices.ContainsFunc([]string{".amazonaws.com", ".microsoftonline.com", ".azure.com", ".cloud.ibm.com"},
			func(cloud string) bool { return strings.HasSuffix(u.Hostname(), cloud) }) {
			continue
		}
		out = append(out, external("identity provider "+address, u.Host, "Warning"))
	}
	return out
}

// ingress are names of the hosted cluster's ingress that its operators check from nodes (console-operator, authentication-operator):
// support/globalconfig/ingress.go has the domain.
func (w *world) ingress() []need {
	hc := w.hosted()
	if slices.Contains(list(hc, "spec", "capabilities", "disabled"), any("Ingress")) {
		return nil
	}
	domain := "apps.blue." + text(hc, "spec", "dns", "baseDomain")
	if d := text(hc, "spec", "configuration", "ingress", "domain"); d != "" {
		domain = d
	}
	apps := text(hc, "spec", "configuration", "ingress", "appsDomain")
	if apps != "" && text(hc, "spec", "configuration", "ingress", "domain") == "" {
		domain = apps
	}
	hosts := []string{"console-openshift-console." + domain}
	if apps != "" {
		hosts = append(hosts, "shop."+apps)
	}
	for _, r := range list(hc, "spec", "configuration", "ingress", "componentRoutes") {
		hosts = append(hosts, strings.ToLower(text(r, "hostname")))
	}
	var out []need
	for _, host := range hosts {
		words := []string{host}
		for _, parent, ok := strings.Cut(host, "."); ok && strings.Contains(parent, "."); _, parent, ok = strings.Cut(parent, ".") {
			words = append(words, "*."+parent)
		}
		out = append(out, need{"ingress", host, 443, func(b backend) bool { return b.Kind == "vms" }, words, "Warning"})
	}
	return out
}

// A problem is one of the output.
type problem struct{ severity, text string }

// names reports whether a problem of at least a severity has one of the words.
func names(all []problem, words []string, least string) bool {
	return slices.ContainsFunc(all, func(p problem) bool {
		return slices.Index(severities, p.severity) >= slices.Index(severities, least) &&
			slices.ContainsFunc(words, func(w string) bool { return w != "" && strings.Contains(p.text, strings.ToLower(w)) })
	})
}

// silent returns what nodes need of w, p does not have, and no problem names.
func (w *world) silent(p plan, problems []problem) (out []string) {
	boots := slices.IndexFunc(p.Networks, func(n network) bool { return n.Primary })
	if boots < 0 { // Nothing is applied, and the reason is something that nodes need.
		if slices.ContainsFunc(w.needs(), func(d need) bool { return names(problems, d.words, "Error") }) {
			return nil
		}
		return []string{"the plan is refused, and no Error names what nodes need"}
	}
	for _, d := range w.needs() {
		if d.what == "ingress" && p.Networks[boots].DNS.Upstreams.Mode != "none" {
			d.least = "Info" // Another DNS server may resolve it.
		}
		if d.served(p.Networks[boots]) || names(problems, d.words, d.least) {
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s:%d is not served, and no %s names one of %q", d.what, d.host, d.port, d.least, d.words))
	}
	for _, n := range p.Networks {
		out = append(out, n.advertisesRefused()...)
		for _, a := range w.addresses(p) {
			if n.assigns(a) && !names(problems, []string{a.String()}, "Warning") {
				out = append(out, fmt.Sprintf("DHCP on %s can give VMs %s, which is in use, and no problem names it", n.Name, a))
			}
		}
	}
	return out
}

// served reports whether a connection of a VM ends where it must. A host that DNS resolves to another host of the network is at
// that host: the user set this.
func (d need) served(n network) bool {
	all, _ := n.resolve(d.host)
	for _, a := range all {
		ours := a == n.NextHopVIP || a == n.ServiceVIP || slices.ContainsFunc(n.Edges, func(e struct {
			Address netip.Addr `json:"address"`
		}) bool {
			return e.Address == a
		})
		if n.CIDR.Contains(a) && !ours && !slices.Contains(n.PublishedAddresses, a) {
			return d.what == "ingress" || strings.HasPrefix(d.what, "image") || strings.HasPrefix(d.what, "identity")
		}
	}
	return d.backend(n.dial(d.host, d.port))
}

// advertisesRefused returns search domains that DHCP advertises and DNS refuses: resolvers of musl stop there, and resolve nothing.
func (n network) advertisesRefused() (out []string) {
	if !slices.Contains(n.DHCP.DNSServers, n.ServiceVIP) {
		return nil
	}
	for _, domain := range append(slices.Clone(n.DHCP.SearchDomains), n.DHCP.DomainName) {
		if _, refused := n.resolve("quay.io." + domain); domain != "" && refused {
			out = append(out, "DHCP advertises "+domain+", and DNS refuses names below it")
		}
	}
	return out
}

// addresses are those that no VM may get on any network: where nodes dial, and those of edges.
func (w *world) addresses(p plan) (out []netip.Addr) {
	for _, d := range w.endpoints() {
		if a, err := netip.ParseAddr(d.host); err == nil {
			out = append(out, a)
		}
	}
	for _, n := range p.Networks {
		out = append(out, n.NextHopVIP, n.ServiceVIP)
		for _, e := range n.Edges {
			out = append(out, e.Address)
		}
	}
	return out
}
