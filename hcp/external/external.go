// Package external decides which external hosts VMs can reach to pull images. A node needs these images to become Ready. Edges
// forward by TLS server name, so VMs reach only these hosts, and only those that the administrator of the management
// cluster permits. A proxy that needs a password is never used.
package external

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An unreachable registry is one that edges cannot forward to. cause is empty if the user allows no external hosts.
type unreachable struct {
	// registry is the name of the registry in problems.
	registry string
	cause    problem.Cause
	// at is the destination that nodes would dial.
	at settings.HostPort
}

// furtherOf returns the hosts that clients of a registry dial besides it: the host behind docker.io, and the hosts of redirects.
func furtherOf(registry string) (hosts []settings.HostPort) {
	dialed := imageref.Dialed(registry)
	further := imageref.Redirects(dialed)
	if dialed != registry {
		further = append(further, dialed)
	}
	for _, host := range further {
		hosts = append(hosts, settings.HostPort{Host: host, Port: 443})
	}
	return hosts
}

// wantedHosts returns the external hosts that edges should forward to: registries, hosts that the user allows, and the
// hosts that furtherOf adds. It leaves out hosts that nodes reach anyway, according to own. cannot has the registries
// that edges cannot forward to. Both results are sorted, without duplicates.
func wantedHosts(registries []string, own reach.Set, s settings.Values) (hosts []settings.HostPort, cannot []unreachable) {
	for _, registry := range registries {
		h, cause := byServerName(registry)
		switch {
		case reach.OnNetwork(own.In, registry):
		case cause == "": // Hosts of redirects are needed even if own reaches the registry itself.
			hosts = append(append(hosts, h), furtherOf(h.Host)...)
		case !own.Reaches(registry):
			if reach.OnOneNetwork(own.In, registry) {
				cause = problem.RegistryOnOneNetwork
			}
			cannot = append(cannot, unreachable{registry: strings.TrimPrefix(registry, imageref.PlainHTTP), cause: cause})
		}
	}
	if s.AllowedHosts != nil {
		for _, h := range s.AllowedHosts.Hosts {
			hosts = append(hosts, h)
			if h.Port == 443 {
				hosts = append(hosts, furtherOf(h.Host)...)
			}
		}
	}
	hosts = network.Without(hosts, func(h settings.HostPort) bool { return own.Directly(h.String()) })
	slices.SortFunc(hosts, func(a, b settings.HostPort) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	slices.SortFunc(cannot, func(a, b unreachable) int { return strings.Compare(a.registry, b.registry) })
	return slices.Compact(hosts), slices.Compact(cannot)
}

// byServerName returns the host and port of a registry, or the cause why edges cannot forward to it by TLS server name.
func byServerName(registry string) (h settings.HostPort, cause problem.Cause) {
	host, port, err := net.SplitHostPort(registry)
	if err != nil {
		host, port = strings.Trim(registry, "[]"), ""
	}
	if _, err := netip.ParseAddr(host); err != nil && (port == "80" || strings.HasPrefix(registry, imageref.PlainHTTP)) {
		return h, problem.RegistryIsPlainHTTP
	}
	h, err = settings.ExternalHost(registry)
	if m := (settings.ValueError{}); errors.As(err, &m) && m.Cause == problem.HostInManagementCluster {
		return h, problem.RegistryInManagementCluster
	}
	if err != nil {
		return h, problem.RegistryWithoutName
	}
	return h, ""
}

// Of returns the endpoints of the allowed external hosts, and problems for hosts that VMs cannot reach.
// withIngress says what nodes reach without external hosts. Nodes do not pull images through the ingress, because the
// ingress itself runs on nodes. So registries and allowed hosts are external even if their names belong to the ingress.
func Of(o objects.Objects, in network.Request, s settings.Values, withIngress reach.Set) (forwarded []network.Endpoint, ps problem.Problems) {
	own := withIngress.WithoutIngress(s.Records)
	isolated := own.Isolated()
	off := s.AllowedHosts != nil && s.AllowedHosts.None
	inside := insideManagement(o, in, own)
	if !reach.HasPrimary(in) || s.AllowedHosts == nil && !isolated {
		return nil, slices.Concat(inside, namesUnresolved(o, withIngress))
	}
	registries, left := imageRegistries(o)
	hosts, _ := wantedHosts(registries, own, s)
	hosts, refused, problems := permittedHosts(o, s, hosts)
	if off {
		for _, h := range hosts {
			refused = append(refused, unreachable{registry: h.Host, at: h})
		}
		hosts = nil
	}
	for _, h := range hosts {
		proxy, cause := proxyFor(o.Proxy, h)
		if cause != "" {
			refused = append(refused, unreachable{h.Host, cause, h})
			continue
		}
		forwarded = append(forwarded, externalHost(h, proxy))
	}
	var pulledFrom []string
	if isolated {
		pulledFrom = neededRegistries(ofIsolated(o, in), s, registries, own.With(forwarded))
		needed, cannot := wantedHosts(pulledFrom, own, s)
		needless := func(h settings.HostPort) bool { return own.Proxied(h.String()) || !slices.Contains(needed, h) }
		cannot = append(cannot, network.Without(refused, func(u unreachable) bool { return needless(u.at) })...)
		forImages := network.Without(forwarded, func(e network.Endpoint) bool { return needless(settings.HostPort{Host: e.Backend.Host, Port: e.Port}) })
		ps = imagesUnreachable(in, off, forImages, cannot)
		if left == 0 {
			ps = append(ps, noRegistry(o, registries, withIngress.With(forwarded))...)
		}
		direct := own.With(network.Without(forwarded, func(e network.Endpoint) bool { return own.Proxied(e.Name) }))
		ps = slices.Concat(ps, unmirroredReleases(o, s, direct), mirroredElsewhere(o, s, direct), furtherHosts(o, s, registries, own, direct),
			registriesThroughProxy(in, registries, own), catalogsUnreachable(o.HostedCluster, own.With(forwarded)))
	}
	if isolated && !off && left > 0 {
		ps = append(ps, problem.New(problem.TooManyRegistries, problem.Subject{},
			problem.Args{"count": {strconv.Itoa(left)}, "most": {strconv.Itoa(maxRegistries)}}, "spec.imageContentSources"))
	}
	return forwarded, slices.Concat(ps, inside, problems, behindIngress(o, in, pulledFrom, forwarded), allowedInside(s, own, withIngress), namesUnresolved(o, withIngress.With(forwarded)))
}

// ofIsolated returns o without the NodePools that boot from other networks than those without a gateway.
func ofIsolated(o objects.Objects, in network.Request) objects.Objects {
	all, pools := false, map[string]bool{}
	for _, s := range in.Networks {
		if reach.IsIsolated(s) {
			all = all || len(s.NodePools) == 0
			for _, name := range s.NodePools {
				pools[name] = true
			}
		}
	}
	if !all {
		o.NodePools = network.Without(o.NodePools, func(np hyperv1.NodePool) bool { return !pools[np.Name] })
	}
	return o
}

// allowedInside returns problems for hosts in annotation allowed-hosts that are published as endpoints, or that are
// names of the ingress. Hosts with a record in annotation dns-records are not reported.
func allowedInside(s settings.Values, own, withIngress reach.Set) (ps problem.Problems) {
	if s.AllowedHosts == nil {
		return nil
	}
	hosts := map[problem.Cause][]string{}
	for _, h := range s.AllowedHosts.Hosts {
		switch at := h.String(); {
		case reach.AnsweredByUser(s.Settings, h.Host):
		case own.Directly(at):
			hosts[problem.AllowedHostPublished] = append(hosts[problem.AllowedHostPublished], at)
		case withIngress.Directly(at):
			hosts[problem.AllowedHostOfIngress] = append(hosts[problem.AllowedHostOfIngress], at)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(hosts)) {
		ps = append(ps, problem.New(c, problem.Subject{}, problem.Args{"hosts": hosts[c]}, network.KeyAllowedHosts))
	}
	return ps
}

// externalHost returns the endpoint through which edges forward to h. proxy is the "host:port" of an HTTP proxy, or empty.
func externalHost(h settings.HostPort, proxy string) network.Endpoint {
	at := h.String()
	return network.Endpoint{
		Name: at, Origin: network.OriginRegistry, Hosts: []string{h.Host}, Port: h.Port, Match: network.MatchServerName,
		Backend: network.Backend{Kind: network.BackendExternal, Name: at, Host: h.Host, Port: h.Port, HTTPProxy: proxy},
	}
}

// proxyFor returns the HTTP proxy for h as "host:port", or "" for a direct connection. cause is set if the proxy cannot be used. Messages do not show the
// proxy, because its URL can contain a password.
func proxyFor(c httpproxy.Config, h settings.HostPort) (proxy string, cause problem.Cause) {
	u, err := c.ProxyFunc()(&url.URL{Scheme: "https", Host: net.JoinHostPort(h.Host, strconv.Itoa(int(h.Port)))})
	switch {
	// httpproxy parses an invalid URL a second time with the prefix http://. The result then has a path.
	case err == nil && u == nil:
		return "", ""
	case err != nil || u.Hostname() == "" || len(u.Path) > 1 || u.User != nil || u.Scheme != "http":
		return "", problem.ManagementProxyUnusable
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")), ""
}

// imagesUnreachable returns one problem if edges of a network without a gateway forward to no external host. Either off
// is true, or they do not serve DNS or connections. In all other cases, it returns one problem for each cause in
// cannot. forwarded are the endpoints for external hosts.
func imagesUnreachable(in network.Request, off bool, forwarded []network.Endpoint, cannot []unreachable) problem.Problems {
	var all []string
	for _, e := range forwarded {
		all = append(all, e.Hosts...)
	}
	byCause := map[problem.Cause][]string{}
	for _, m := range cannot {
		all = append(all, m.registry)
		byCause[m.cause] = append(byCause[m.cause], m.registry)
	}
	slices.Sort(all)
	hosts := problem.Args{"hosts": slices.Compact(all)}
	for _, s := range in.Networks {
		switch {
		case !reach.IsIsolated(s) || len(all) == 0:
		case off:
			return problem.Problems{s.Attachment.Problem(problem.ExternalHostsOff, hosts, network.KeyAllowedHosts, network.KeyGateway)}
		case !s.Settings.Selects(network.ServiceProxy) || !s.Settings.Selects(network.ServiceDNS):
			return problem.Problems{s.Attachment.Problem(problem.ExternalHostsNotServed, hosts, network.KeyServices, network.KeyGateway)}
		}
	}
	var ps problem.Problems
	for _, c := range slices.Sorted(maps.Keys(byCause)) {
		ps = append(ps, problem.New(c, problem.Subject{}, problem.Args{"hosts": byCause[c]}, "spec.release.image", "spec.imageContentSources"))
	}
	return ps
}

// permittedHosts returns the hosts that the administrator permits. The others are in problems if annotation
// allowed-hosts lists them, else in cannot.
func permittedHosts(o objects.Objects, s settings.Values, hosts []settings.HostPort) (permitted []settings.HostPort, cannot []unreachable, problems problem.Problems) {
	var named []string
	for _, h := range hosts {
		switch {
		case o.Permissions.Host(h.Host) && o.Permissions.Port(h.Port):
			permitted = append(permitted, h)
		case s.AllowedHosts != nil && slices.Contains(s.AllowedHosts.Hosts, h):
			named = append(named, h.String())
		default:
			cannot = append(cannot, unreachable{h.String(), problem.RegistryNotPermitted, h})
		}
	}
	if len(named) > 0 {
		problems = append(problems, problem.New(problem.HostNotPermitted, problem.Subject{}, problem.Args{"hosts": named}, network.KeyAllowedHosts))
	}
	return permitted, cannot, problems
}

// behindIngress returns problems about forwarded, the external hosts of edges, that are behind the ingress of the
// management cluster, where edges do not dial. Nodes pull images from those in pulledFrom.
func behindIngress(o objects.Objects, in network.Request, pulledFrom []string, forwarded []network.Endpoint) (ps problem.Problems) {
	var images, others []string
	for _, e := range forwarded {
		pulled := func(registry string) bool { h, _ := byServerName(registry); return h.String() == e.Name }
		switch {
		case !Refused(o, e):
		case slices.ContainsFunc(pulledFrom, pulled):
			images = append(images, e.Backend.Host)
		default:
			others = append(others, e.Name)
		}
	}
	if len(images) > 0 {
		args := problem.Args{"hosts": slices.Compact(images), "addresses": ingress.RefusedAddresses(o)}
		ps = append(ps, problem.New(problem.RegistryBehindIngress, problem.Subject{}, args, "spec.release.image", "spec.imageContentSources"))
	}
	for _, s := range in.Networks {
		if s.Primary && len(others) > 0 {
			ps = append(ps, s.Attachment.Problem(problem.HostInsideManagement, problem.Args{"hosts": others}, network.KeyAllowedHosts))
		}
	}
	return ps
}

// Refused reports whether edges would dial e, an external host, through the ingress of the management cluster.
func Refused(o objects.Objects, e network.Endpoint) bool {
	return e.Backend.HTTPProxy == "" && ingress.Refused(o, e.Backend.Host)
}

// AllNamed reports whether edges can forward to all hosts by TLS server name.
func AllNamed(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(at string) bool { _, unnamed := byServerName(at); return unnamed != "" })
}
