// This file states which connections of nodes use the HTTP proxy of the hosted cluster, and what follows for them.

package oracle

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// throughProxy reports whether pods of the hosted cluster use its HTTP proxy for TLS connections to a place (support/proxy/no_proxy.go, and pkg/util/proxyconfig of
// the cluster network operator). further is in noProxy, too: nodes have ".local" (support/globalconfig/proxy.go).
func (w *world) throughProxy(host string, port int, further ...string) bool {
	p, _ := get(w.hosted(), "spec", "configuration", "proxy").(object)
	no := append(further, text(p, "noProxy"), "127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local")
	for _, of := range []string{"machineNetwork", "clusterNetwork", "serviceNetwork"} {
		for _, n := range list(w.hosted(), "spec", "networking", of) {
			no = append(no, text(n, "cidr"))
		}
	}
	proxy, err := (&httpproxy.Config{HTTPSProxy: text(p, "httpsProxy"), NoProxy: strings.Join(no, ",")}).ProxyFunc()(&url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(port))})
	return err == nil && proxy != nil
}

// proxied are the HTTP proxy itself, and endpoints to which nodes and pods on them would connect through it: it does not know their names, so each must be named.
// Pods dial all but Ignition: konnectivity-agent, also for the ingress operator, which dials its canary (konnectivity-https-proxy), the MTU prober of the network, and
// the console, which dials OAuth (pkg/auth/oauth2), and whose operator dials it.
// Some versions of HyperShift read the API's entries of noProxy in another way (apiserver-haproxy/haproxy.go), so that one is named unless noProxy has it letter by letter.
func (w *world) proxied() (out []need) {
	address := text(w.hosted(), "spec", "configuration", "proxy", "httpsProxy")
	if address == "" || w.withGateway() {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	port, _ := strconv.Atoi(u.Port())
	proxy := w.external("HTTP proxy "+address, u.Host, "Warning")
	proxy.onNetwork = true
	out = append(out, proxy)
	add := func(of, host string, at int, further ...string) {
		if host != "" && w.throughProxy(host, at, further...) {
			out = append(out, need{of + " through the HTTP proxy", host, port, func(backend) bool { return false }, []string{host}, "Warning", false})
		}
	}
	if host, at := w.place("APIServer"); !strings.Contains(text(w.hosted(), "spec", "configuration", "proxy", "noProxy"), host) {
		add("APIServer", host, at)
	}
	host, at := w.place("Ignition")
	add("Ignition", host, at, ".local")
	host, at = w.place("Konnectivity")
	add("Konnectivity", host, at)
	console := !slices.Contains(list(w.hosted(), "spec", "capabilities", "disabled"), any("Console"))
	if console && !w.withoutOAuth() {
		host, at = w.place("OAuthServer")
		add("OAuthServer", host, at)
	}
	custom := "" // The operator of the console checks this host instead of the default one (pkg/console/controllers/healthcheck).
	for _, r := range list(w.hosted(), "spec", "configuration", "ingress", "componentRoutes") {
		if text(r, "namespace") == "openshift-console" && text(r, "name") == "console" {
			custom = strings.ToLower(text(r, "hostname"))
		}
	}
	for _, n := range w.ingress() {
		byConsole := custom == "" && strings.HasPrefix(n.host, "console-openshift-console.") || custom != "" && n.host == custom
		if strings.HasPrefix(n.host, "canary-") || console && byConsole {
			add("ingress", n.host, n.port)
		}
	}
	return out
}
