// This file states what nodes of a world need, from HyperShift's sources: which places they dial, which images they pull, which names the
// cluster itself uses, and what DHCP must not assign. Each is served, or a problem names it.

package oracle

import (
	"cmp"
	"fmt"
	"maps"
	"net"
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
	// onNetwork: a host on the network is as good.
	onNetwork bool
}

// needs returns what nodes of w dial.
func (w *world) needs() []need {
	return slices.Concat(w.endpoints(), w.proxied(), w.images(), w.dialedByControlPlane(), w.ingress(), w.publications())
}

// endpoints are those that HyperShift publishes: nodes boot with the first two, and are part of the cluster with the third. The console
// and browsers use the last.
func (w *world) endpoints() []need {
	titles := map[string][]string{"APIServer": {"api", "apiserver"}, "Ignition": {"ignition"}, "Konnectivity": {"konnectivity"}, "OAuthServer": {"oauth"}}
	var out []need
	for _, of := range []string{"APIServer", "Ignition", "Konnectivity", "OAuthServer"} {
		if of == "OAuthServer" && w.withoutOAuth() {
			continue
		}
		host, port := w.place(of)
		p := published[of]
		out = append(out, need{of, host, port, func(b backend) bool { return b.Kind == "" && b.Service == p.service && b.Port == w.portOf(of) },
			append(titles[of], host), "Waiting", false})
	}
	return out
}

// publications are places at which the user publishes Services with one port. A Service that is published at a place of HyperShift's is not judged.
func (w *world) publications() (out []need) {
	for _, at := range slices.Sorted(maps.Keys(w.publishedPlaces())) {
		out = append(out, w.external("Service published at "+at, at, "Warning"))
	}
	return out
}

// publishedPlaces returns the Services that the user publishes, by place: "host:port".
func (w *world) publishedPlaces() map[string]object {
	out := map[string]object{}
	for _, o := range w.objects {
		if o["kind"] == "Service" {
			for at := range strings.SplitSeq(text(o, "metadata", "annotations", oooi+"publish"), ",") {
				if at != "" {
					out[at] = o
				}
			}
		}
	}
	return out
}

// withGateway reports whether nodes reach other hosts through a gateway.
func (w *world) withGateway() bool {
	return text(w.pool(), "metadata", "annotations", oooi+"gateway")+text(w.hosted(), "metadata", "annotations", oooi+"gateway") != ""
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
// konnectivity agent (konnectivity/params.go), of the control plane operator, if nodes have an HTTPS proxy (apiserver-haproxy/haproxy.go), of overrides, and of catalogs in the cluster (support/catalogs/images.go).
func (w *world) images() []need {
	hc := w.hosted()
	if w.withGateway() {
		return nil
	}
	const hs = "hypershift.openshift.io/"
	all := []string{text(hc, "spec", "release", "image"), text(w.pool(), "spec", "release", "image"),
		text(w.pool(), "metadata", "annotations", hs+"haproxy-image"), text(hc, "metadata", "annotations", hs+"konnectivity-agent-image")}
	if text(hc, "spec", "configuration", "proxy", "httpsProxy") != "" {
		all = append(all, text(hc, "metadata", "annotations", hs+"control-plane-operator-image"), text(hc, "spec", "controlPlaneRelease", "image"))
	}
	for o := range strings.SplitSeq(text(hc, "metadata", "annotations", hs+"image-overrides"), ",") {
		_, image, _ := strings.Cut(o, "=")
		all = append(all, image)
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
		if w.insecure(registry) && !w.throughProxy(registry, 443, ".local") {
			out = append(out, need{"image without TLS " + image, registry, 443, func(backend) bool { return false }, []string{registry}, "Info", true})
		}
		for _, at := range append(redirects(strings.ToLower(registry)), registry) {
			if n := w.external("image "+image, at, "Warning"); !w.throughProxy(n.host, n.port, ".local") {
				n.onNetwork = true
				out = append(out, n)
			}
		}
	}
	return out
}

// insecure reports whether nodes may use plain HTTP with a registry (config/v1/types_image.go). Edges forward by TLS server name.
func (w *world) insecure(registry string) bool {
	return slices.Contains(list(w.hosted(), "spec", "configuration", "image", "registrySources", "insecureRegistries"), any(registry))
}

// redirects returns the hosts to which Red Hat's registries redirect clients: "Configuring your firewall" in OpenShift's documentation.
func redirects(registry string) []string {
	quay := []string{"cdn.quay.io", "cdn01.quay.io", "cdn02.quay.io", "cdn03.quay.io", "cdn04.quay.io", "cdn05.quay.io", "cdn06.quay.io"}
	switch registry {
	case "quay.io":
		return quay
	case "registry.redhat.io":
		return append(quay, "access.redhat.com")
	}
	return nil
}

// external returns the need of a host outside, "host" or "host:port". If the user publishes a Service there, connections end at that Service.
func (w *world) external(what, at, least string) need {
	host, port := at, 443
	if h, p, ok := strings.Cut(at, ":"); ok {
		host = h
		port, _ = strconv.Atoi(p)
	}
	host = strings.ToLower(host)
	ends := func(b backend) bool { return b.Kind == "external" && b.Host == host && b.Port == port }
	if service := w.publishedPlaces()[net.JoinHostPort(host, strconv.Itoa(port))]; service != nil {
		to := number(list(service, "spec", "ports")[0], "port")
		ends = func(b backend) bool {
			return b.Kind == "" && b.Service == text(service, "metadata", "name") && b.Port == to
		}
	}
	return need{what, host, port, ends, []string{host}, least, false}
}

// dialedByControlPlane are identity providers that the OAuth server dials through konnectivity, so from the nodes (v2/oauth/idp_convert.go).
// Konnectivity's dialer of the OAuth server excludes hosts of clouds (support/konnectivityproxy/dialer.go), but not that of the control plane operator, which
// discovers OpenID providers. The console dials OIDC issuers.
func (w *world) dialedByControlPlane() []need {
	if w.withGateway() {
		return nil
	}
	var urls, discovered []string
	providers := list(w.hosted(), "spec", "configuration", "oauth", "identityProviders")
	if w.withoutOAuth() {
		providers = nil
	}
	for _, p := range providers {
		if u, err := url.Parse(text(p, "ldap", "url")); err == nil && net.ParseIP(u.Hostname()) != nil { // Names that the cluster does not know are not dialed from nodes.
			urls = append(urls, u.String())
		}
		discovered = append(discovered, text(p, "openID", "issuer"))
		urls = append(urls, text(p, "basicAuth", "url"), text(p, "keystone", "url"), text(p, "gitlab", "url"))
		switch {
		case get(p, "github") != nil && text(p, "github", "hostname") != "":
			urls = append(urls, "https://"+text(p, "github", "hostname"))
		case get(p, "github") != nil:
			urls = append(urls, "https://github.com", "https://api.github.com")
		case get(p, "google") != nil:
			urls = append(urls, "https://www.googleapis.com")
		}
	}
	if !slices.Contains(list(w.hosted(), "spec", "capabilities", "disabled"), any("Console")) {
		for _, p := range list(w.hosted(), "spec", "configuration", "authentication", "oidcProviders") {
			discovered = append(discovered, text(p, "issuer", "issuerURL"))
		}
	}
	var out []need
	for _, address := range slices.Concat(urls, discovered) {
		u, err := url.Parse(address)
		if err != nil || u.Hostname() == "" || !slices.Contains(discovered, address) && slices.ContainsFunc([]string{".amazonaws.com", ".microsoftonline.com", ".azure.com", ".cloud.ibm.com"},
			func(cloud string) bool { return strings.HasSuffix(u.Hostname(), cloud) }) {
			continue
		}
		if n := w.external("identity provider "+address, u.Host, "Warning"); !w.throughProxy(n.host, n.port, ".local") {
			n.onNetwork = true
			out = append(out, n)
		}
	}
	return out
}

// ingress are names of the hosted cluster's ingress that its operators check from nodes (console-operator, authentication-operator, and ingress-operator in
// pkg/operator/controller/canary): support/globalconfig/ingress.go has the domain.
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
	hosts := []string{"console-openshift-console." + domain, "canary-openshift-ingress-canary." + cmp.Or(apps, domain)}
	for _, r := range list(hc, "spec", "configuration", "ingress", "componentRoutes") {
		hosts = append(hosts, strings.ToLower(text(r, "hostname")))
	}
	var out []need
	for _, host := range hosts {
		words := []string{host}
		for _, parent, ok := strings.Cut(host, "."); ok && strings.Contains(parent, "."); _, parent, ok = strings.Cut(parent, ".") {
			words = append(words, "*."+parent)
		}
		out = append(out, need{"ingress", host, 443, func(b backend) bool { return b.Kind == "vms" }, words, "Warning", true})
	}
	return out
}

// A problem is one of the output: the values of its arguments and keys, and the name of its subject, in lower case.
type problem struct {
	severity string
	values   []string
}

// problemOf reads a problem of the output.
func problemOf(raw object) problem {
	p := problem{severity: text(raw, "severity")}
	add := func(v any) {
		if s, ok := v.(string); ok {
			p.values = append(p.values, strings.ToLower(s))
		}
	}
	add(get(raw, "subject", "name"))
	for _, k := range list(raw, "keys") {
		add(k)
	}
	args, _ := get(raw, "args").(object)
	for _, v := range args {
		add(v)
		all, _ := v.([]any)
		for _, one := range all {
			add(one)
		}
	}
	return p
}

// has reports whether a value of p is word: as a whole, as a host with a port, as an object with its kind and namespace, or as an end of a range of
// addresses.
func (p problem) has(word string) bool {
	word = strings.ToLower(word)
	return word != "" && slices.ContainsFunc(p.values, func(v string) bool {
		host, _, _ := net.SplitHostPort(v)
		first, last, _ := strings.Cut(v, "-")
		_, notRange := netip.ParseAddr(first)
		return v == word || host == word || strings.TrimSpace(v[strings.LastIndexAny(strings.TrimSpace(v), "/ ")+1:]) == word || notRange == nil && (first == word || last == word)
	})
}

// names reports whether a problem of at least a severity has one of the words.
func names(all []problem, words []string, least string) bool {
	return slices.ContainsFunc(all, func(p problem) bool {
		return slices.Index(severities, p.severity) >= slices.Index(severities, least) &&
			slices.ContainsFunc(words, p.has)
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
			return d.onNetwork
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
