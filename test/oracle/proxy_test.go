// This file states which connections of nodes use the HTTP proxy of the hosted cluster, and what follows for them.

package oracle

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// throughProxy reports whether nodes use the HTTP proxy of the hosted cluster for TLS connections to a place: support/globalconfig/proxy.go and
// support/proxy/no_proxy.go. further is in noProxy, too.
func (w *world) throughProxy(host string, port int, further ...string) bool {
	p, _ := get(w.hosted(), "spec", "configuration", "proxy").(object)
	no := append(further, text(p, "noProxy"), "127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local", ".local")
	for _, of := range []string{"machineNetwork", "clusterNetwork", "serviceNetwork"} {
		for _, n := range list(w.hosted(), "spec", "networking", of) {
			no = append(no, text(n, "cidr"))
		}
	}
	proxy, err := (&httpproxy.Config{HTTPSProxy: text(p, "httpsProxy"), NoProxy: strings.Join(no, ",")}).ProxyFunc()(&url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(port))})
	return err == nil && proxy != nil
}

// proxied are the HTTP proxy itself, and endpoints to which nodes would connect through it: it does not know their names, so each must be named. OAuth is
// dialed by users. Some versions of HyperShift read the API's entries of noProxy in another way (apiserver-haproxy/haproxy.go), so that one is named
// unless noProxy has it letter by letter.
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
	for _, of := range []string{"APIServer", "Ignition", "Konnectivity"} {
		host, at := w.place(of)
		if of == "APIServer" && strings.Contains(text(w.hosted(), "spec", "configuration", "proxy", "noProxy"), host) || !w.throughProxy(host, at) || host == "" {
			continue
		}
		out = append(out, need{of + " through the HTTP proxy", host, port, func(backend) bool { return false }, []string{host}, "Warning", false})
	}
	return out
}
