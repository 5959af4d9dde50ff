// This file finds the HTTP proxy that nodes use for a destination.

package reach

import (
	"net/url"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"

	"golang.org/x/net/http/httpproxy"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/network"
)

// NodesOnly is in NO_PROXY of nodes (support/globalconfig/proxy.go), but not of the control plane.
const NodesOnly = ".local"

// ProxyOf returns the function that finds the HTTP proxy of hc for a URL. It finds none for hosts in further or in
// noProxy, and for those that HyperShift adds (support/proxy/no_proxy.go).
func ProxyOf(hc *hyperv1.HostedCluster, further ...string) func(*url.URL) (*url.URL, error) {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return (&httpproxy.Config{}).ProxyFunc()
	}
	no := append(further, "127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local", c.Proxy.NoProxy)
	return ProxyBy(c.Proxy, slices.Concat(no, network.Texts(objects.MachineNetworks(hc)), network.Texts(objects.PodAndServiceNetworks(hc)))...)
}

// ProxyBy returns the function that finds the HTTP proxy of p for a URL, with the rules of
// golang.org/x/net/http/httpproxy, as HyperShift, CRI-O and the kubelet do. no has the format of NO_PROXY.
func ProxyBy(p *configv1.ProxySpec, no ...string) func(*url.URL) (*url.URL, error) {
	return (&httpproxy.Config{HTTPProxy: p.HTTPProxy, HTTPSProxy: p.HTTPSProxy, NoProxy: strings.Join(no, ",")}).ProxyFunc()
}

// Proxies returns the valid URLs of the HTTP proxies of hc. Programs of nodes assume http if there is no scheme
// (golang.org/x/net/http/httpproxy).
func Proxies(hc *hyperv1.HostedCluster) (out []*url.URL) {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return nil
	}
	for _, proxy := range []string{c.Proxy.HTTPProxy, c.Proxy.HTTPSProxy} {
		u, err := url.Parse(proxy)
		if !strings.Contains(proxy, "://") {
			u, err = url.Parse(imageref.PlainHTTP + proxy)
		}
		if err == nil && u.Hostname() != "" {
			out = append(out, u)
		}
	}
	return out
}

// Dialed returns what clients of proxy dial, as a destination. For an http:// proxy they send no TLS server name.
func Dialed(proxy *url.URL) string {
	if proxy.Scheme == "http" {
		return imageref.PlainHTTP + strings.ToLower(proxy.Host)
	}
	return strings.ToLower(proxy.Host)
}
