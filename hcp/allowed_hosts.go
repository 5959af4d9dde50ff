// This file decides which hosts outside machines may reach for their images: a
// node is not Ready before it has pulled them. Each is answered by name and
// carried by its TLS server name, so nothing else gets out. It never looks at
// images themselves, and never uses a proxy that wants a password.

package hcp

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// redirected are the hosts that a registry sends its clients to for layers and
// signatures, as OpenShift's documentation has them: "Configuring your firewall",
// openshift-docs modules/configuring-firewall.adoc (4.20), and for Red Hat's
// registries https://access.redhat.com/node/7001746.
func redirected(registry string) []string {
	quay := []string{"cdn.quay.io", "cdn01.quay.io", "cdn02.quay.io", "cdn03.quay.io", "cdn04.quay.io", "cdn05.quay.io", "cdn06.quay.io"}
	switch registry {
	case "quay.io":
		return quay
	case "registry.redhat.io", "registry.access.redhat.com":
		return append(quay, "access.redhat.com")
	}
	return nil
}

// A missed registry is one that can't be carried, and why. No cause: no external
// host is allowed.
type missed struct {
	registry string
	why      network.Cause
}

// wantedHosts are the hosts that nodes pull from: of the release images, of
// their mirrors, those they redirect to, and those the user names.
func wantedHosts(o Objects, in network.Request, s settings.Values) (hosts []settings.HostPort, cannot []missed) {
	images := []string{o.HostedCluster.Spec.Release.Image}
	for _, np := range o.NodePools {
		images = append(images, np.Spec.Release.Image)
	}
	for _, source := range o.HostedCluster.Spec.ImageContentSources {
		images = append(images, source.Mirrors...)
	}
	for _, image := range images {
		registry := registryOf(image)
		h, why := byServerName(registry)
		switch {
		case registry == "" || onNetwork(in, registry):
		case why != "":
			cannot = append(cannot, missed{strings.TrimPrefix(registry, plainHTTP), why})
		default:
			hosts = append(hosts, h)
			for _, r := range redirected(h.Host) {
				hosts = append(hosts, settings.HostPort{Host: r, Port: 443})
			}
		}
	}
	if s.AllowedHosts != nil {
		hosts = append(hosts, s.AllowedHosts.Hosts...)
	}
	hosts = slices.DeleteFunc(hosts, func(h settings.HostPort) bool { return answeredByUser(s.Settings, h.Host) })
	slices.SortFunc(hosts, func(a, b settings.HostPort) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	slices.SortFunc(cannot, func(a, b missed) int { return strings.Compare(a.registry, b.registry) })
	return slices.Compact(hosts), slices.Compact(cannot)
}

// onNetwork says whether registry is an address that machines have beside them.
func onNetwork(in network.Request, registry string) bool {
	registry = strings.TrimPrefix(registry, plainHTTP)
	if host, _, err := net.SplitHostPort(registry); err == nil {
		registry = host
	}
	return slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.CIDR.Contains(parsed(registry)) })
}

const plainHTTP = "http://"

// registryOf is what an image or a mirror is pulled from, without its path.
func registryOf(image string) string {
	image = strings.TrimPrefix(image, "https://")
	rest, plain := strings.CutPrefix(image, plainHTTP)
	registry, _, _ := strings.Cut(rest, "/")
	if plain {
		return plainHTTP + registry
	}
	return registry
}

// byServerName is a registry as a TLS server name tells it, or why none does.
func byServerName(registry string) (h settings.HostPort, why network.Cause) {
	host, port, err := net.SplitHostPort(registry)
	if err != nil {
		host, port = strings.Trim(registry, "[]"), ""
	}
	switch _, err := netip.ParseAddr(host); {
	case err == nil:
		return h, network.RegistryIsAddress
	case port == "80" || strings.HasPrefix(registry, plainHTTP):
		return h, network.RegistryIsPlainHTTP
	}
	h, err = settings.ExternalHost(registry)
	if m := (settings.ValueError{}); errors.As(err, &m) && m.Cause == network.HostInManagementCluster {
		return h, network.RegistryInManagementCluster
	}
	if err != nil {
		return h, network.RegistryNameInvalid
	}
	return h, ""
}

// registryEndpoints are the hosts outside that are let through, and the problem
// of those that machines will miss.
func registryEndpoints(o Objects, in network.Request, s settings.Values) reachable {
	var r reachable
	isolated := slices.ContainsFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary && !s.Gateway.IsValid() })
	off := s.AllowedHosts != nil && s.AllowedHosts.None
	if !hasPrimary(in) || s.AllowedHosts == nil && !isolated {
		return r
	}
	hosts, cannot := wantedHosts(o, in, s)
	if off {
		for _, h := range hosts {
			cannot = append(cannot, missed{registry: h.Host})
		}
		hosts = nil
	}
	for _, h := range hosts {
		proxy, why := proxyFor(o.Proxy, h)
		if why != "" {
			cannot = append(cannot, missed{h.Host, why})
			continue
		}
		r.endpoints = append(r.endpoints, outside(h, proxy))
	}
	if isolated {
		r.problems = imagesUnreachable(in, off, r.endpoints, cannot)
	}
	return r
}

func outside(h settings.HostPort, proxy string) network.Endpoint {
	at := fmt.Sprintf("%s:%d", h.Host, h.Port)
	return network.Endpoint{
		Name: at, Origin: network.OriginRegistry, Hosts: []string{h.Host}, Port: h.Port, Match: network.MatchServerName,
		Backend: network.Backend{Kind: network.BackendExternal, Name: at, Host: h.Host, Port: h.Port, HTTPProxy: proxy},
	}
}

// answeredByUser says whether the user's own records send machines elsewhere for
// host: to a mirror on the network, most often.
func answeredByUser(s network.Settings, host string) bool {
	return slices.ContainsFunc(s.Records, func(r network.Record) bool {
		suffix, wildcard := strings.CutPrefix(r.Name, "*")
		return r.Name == host || wildcard && strings.HasSuffix(host, suffix)
	})
}

// proxyFor is the HTTP proxy, "host:port", that must be asked for h, empty where
// it is dialled directly, or why it can't be. The proxy is never said itself: it
// may hold a password.
func proxyFor(c httpproxy.Config, h settings.HostPort) (proxy string, why network.Cause) {
	u, err := c.ProxyFunc()(&url.URL{Scheme: "https", Host: net.JoinHostPort(h.Host, strconv.Itoa(int(h.Port)))})
	switch {
	// What is no URL is read once more with http:// before it, and then has a path.
	case err != nil || u != nil && (u.Hostname() == "" || len(u.Path) > 1):
		return "", network.ManagementProxyUnreadable
	case u == nil:
		return "", ""
	case u.User != nil:
		return "", network.ManagementProxyNeedsPassword
	case u.Scheme != "http":
		return "", network.ManagementProxyNotHTTP
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), ""
}

// imagesUnreachable is what nodes can't pull from: once for the cluster, and of
// hosts that can't be carried once for each cause.
func imagesUnreachable(in network.Request, off bool, carried []network.Endpoint, cannot []missed) network.Problems {
	var all []string
	for _, e := range carried {
		all = append(all, e.Hosts...)
	}
	byCause := map[network.Cause][]string{}
	for _, m := range cannot {
		all = append(all, m.registry)
		byCause[m.why] = append(byCause[m.why], m.registry)
	}
	slices.Sort(all)
	hosts := network.Args{"hosts": strings.Join(slices.Compact(all), ", ")}
	for _, s := range in.Networks {
		serves := func(x network.Service) bool {
			return s.Settings.Services == nil || slices.Contains(s.Settings.Services, x)
		}
		switch {
		case !s.Primary || s.Gateway.IsValid() || len(all) == 0:
		case off:
			return network.Problems{networkProblem(network.ExternalHostsOff, s.Attachment, hosts, settings.KeyAllowedHosts, settings.KeyGateway)}
		case !serves(network.ServiceProxy) || !serves(network.ServiceDNS):
			return network.Problems{networkProblem(network.ExternalHostsNotServed, s.Attachment, hosts, settings.KeyServices, settings.KeyGateway)}
		}
	}
	var ps network.Problems
	for _, c := range slices.Sorted(maps.Keys(byCause)) {
		ps = append(ps, network.NewProblem(c, network.Subject{}, network.Args{"hosts": strings.Join(byCause[c], ", ")}, "spec.release.image", "spec.imageContentSources"))
	}
	return ps
}
