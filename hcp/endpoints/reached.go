// This file decides which hosts nodes reach on networks without a gateway, in the same way for images, identity
// providers, imports and annotation allowed-hosts.

package endpoints

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"golang.org/x/net/http/httpproxy"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

type reach struct {
	in network.Request
	// records are the user's records. If the user set the address of the ingress, its names are records, too.
	records   []network.Record
	endpoints []network.Endpoint
	// proxy returns the HTTP proxy that the hosted cluster uses for a URL, or nil.
	proxy func(*url.URL) (*url.URL, error)
}

// reachOf returns what nodes of hc reach: the endpoints and names in own, the hosts in records, and what the hosted
// cluster's HTTP proxy reaches.
func reachOf(hc *hyperv1.HostedCluster, in network.Request, records []network.Record, own Reachable) reach {
	records = slices.Clone(records)
	if own.Apps.Name != "" {
		for _, name := range append([]string{own.Apps.Name}, own.FurtherApps...) {
			records = append(records, network.Record{Name: name, Addresses: own.Apps.Addresses})
		}
	}
	return reach{in, records, own.Endpoints, proxyOf(hc, nodesOnly)}
}

// nodesOnly is in NO_PROXY of nodes (support/globalconfig/proxy.go), but not of the control plane.
const nodesOnly = ".local"

func (r reach) with(endpoints []network.Endpoint) reach {
	r.endpoints = slices.Concat(r.endpoints, endpoints)
	return r
}

// withoutIngress returns r without the endpoints of the ingress, and with records instead of the records of r.
func (r reach) withoutIngress(records []network.Record) reach {
	r.records, r.endpoints = records, network.Without(r.endpoints, func(e network.Endpoint) bool { return e.Origin == network.OriginApps })
	return r
}

// reaches reports whether nodes can connect to destination at, "host" or "host:port". If the clients send no TLS server
// name, it begins with imageref.PlainHTTP. The default port is 443, or 80 after imageref.PlainHTTP.
func (r reach) reaches(at string) bool { return r.directly(at) || r.proxied(at) }

// proxied reports whether nodes use the hosted cluster's HTTP proxy for destination at. It does not check that they reach the proxy.
func (r reach) proxied(at string) bool { return r.proxyFor(at) != nil }

func (r reach) proxyFor(at string) *url.URL {
	host, port := hostPort(at)
	scheme := "https"
	if strings.HasPrefix(at, imageref.PlainHTTP) || port == network.PortHTTP {
		scheme = "http"
	}
	u, _ := r.proxy(&url.URL{Scheme: scheme, Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}) // On an error, u is nil.
	return u
}

// proxiesOthers reports whether nodes use the HTTP proxy for images on hosts that no object names.
func (r reach) proxiesOthers() bool { return r.proxied("other.invalid") } // RFC 6761: no host has this name.

// directly reports whether nodes can connect to destination at without an HTTP proxy.
func (r reach) directly(at string) bool {
	return onNetwork(r.in, at) || r.published(at) || r.recorded(at)
}

func (r reach) recorded(at string) bool {
	host, _ := hostPort(at)
	return slices.ContainsFunc(r.records, func(x network.Record) bool { return network.MatchesHost(strings.ToLower(x.Name), host) })
}

// published reports whether edges forward connections for destination at to one of r's endpoints.
func (r reach) published(at string) bool {
	host, port := hostPort(at)
	address := services.Address(host)
	return slices.ContainsFunc(r.endpoints, func(e network.Endpoint) bool {
		named := e.Match == network.MatchAny || !strings.HasPrefix(at, imageref.PlainHTTP)
		return e.Port == port && (named && hasHost(e, host) || slices.Contains(e.Addresses, address))
	})
}

// unresolved reports whether destination at has a name that edges do not know and for which they ask no other DNS server.
func (r reach) unresolved(at string) bool {
	asked := slices.ContainsFunc(r.in.Networks, func(s network.NetworkRequest) bool { return isIsolated(s) && !ownNamesOnly(s) })
	return !asked && !r.located(at)
}

// located reports whether destination at is an address, or a name for which edges have one.
func (r reach) located(at string) bool {
	host, _ := hostPort(at)
	published := slices.ContainsFunc(r.endpoints, func(e network.Endpoint) bool { return hasHost(e, host) })
	return published || r.recorded(at) || isAddress(at)
}

// dialedForImages returns what nodes dial to pull images: for each registry, the HTTP proxy that nodes use for it, or
// else the registry.
func (r reach) dialedForImages(o objects.Objects) (out []string) {
	registries, _ := imageRegistries(o)
	for _, at := range registries {
		if proxy := r.proxyFor(at); proxy != nil {
			at = dialed(proxy)
		}
		out = append(out, at)
	}
	return out
}

// imageHosts returns the addresses of registries and HTTP proxies that nodes dial, sorted.
func imageHosts(o objects.Objects, own reach) []netip.AddrPort {
	all := own.dialedForImages(o)
	for _, proxy := range proxies(o.HostedCluster) {
		all = append(all, dialed(proxy))
	}
	return own.addressesOf(all)
}

// addressesOf returns the destinations in all that are addresses, or names with records of the user, sorted.
func (r reach) addressesOf(all []string) (out []netip.AddrPort) {
	for _, at := range all {
		host, port := hostPort(at)
		addresses := r.recordOf(host).Addresses
		if a := services.Address(host); a.IsValid() {
			addresses = []netip.Addr{a}
		}
		for _, a := range addresses {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return slices.Compact(out)
}

// recordOf returns the closest record for host. It returns none if an endpoint has the name.
func (r reach) recordOf(host string) (out network.Record) {
	if slices.ContainsFunc(r.endpoints, func(e network.Endpoint) bool { return hasHost(e, host) }) {
		return out
	}
	for _, x := range r.records {
		name := strings.ToLower(x.Name)
		if name == host || network.MatchesHost(name, host) && len(name) > len(out.Name) && !strings.EqualFold(out.Name, host) {
			out = x
		}
	}
	return out
}

// namesUnresolved returns problems about networks with a gateway on which VMs resolve only names that edges know: edges
// ask no DNS server. There is one for each such network without the names of registries, and one for each identity
// provider or registry of imports. Parameter all says what nodes reach with external hosts.
func namesUnresolved(o objects.Objects, all reach) (ps problem.Problems) {
	routed := network.Without(all.in.Networks, func(s network.NetworkRequest) bool {
		return !s.Gateway.IsValid() || !ownNamesOnly(s) || !s.Settings.Selects(network.ServiceDHCP) || s.UnservedNetworks
	})
	hosts := withoutScheme(network.Without(all.dialedForImages(o), func(at string) bool { return all.located(at) || all.mirrored(o, at) }))
	slices.Sort(hosts)
	for _, s := range routed {
		if len(hosts) > 0 {
			ps = append(ps, s.Problem(problem.ImageNamesUnresolved, problem.Args{"hosts": slices.Compact(slices.Clone(hosts))}, network.KeyUpstreams, network.KeyAllowedHosts, network.KeyRecords))
		}
	}
	if len(routed) == 0 || all.isolated() {
		return ps
	}
	return append(ps, dialedFromNodes(o, all)...)
}

// isolated reports whether VMs boot from a network without a gateway.
func (r reach) isolated() bool { return slices.ContainsFunc(r.in.Networks, isIsolated) }

// isIsolated reports whether VMs boot from the network of s, which has no gateway.
func isIsolated(s network.NetworkRequest) bool { return s.Primary && !s.Gateway.IsValid() }

// mirrored reports whether edges have an address for another source or mirror of registry.
func (r reach) mirrored(o objects.Objects, registry string) bool {
	return slices.ContainsFunc(o.HostedCluster.Spec.ImageContentSources, func(s hyperv1.ImageContentSource) bool {
		of := func(image string) bool { return imageref.Dialed(image) == registry }
		elsewhere := func(image string) bool { return r.located(imageref.Dialed(image)) || r.proxied(imageref.Dialed(image)) }
		all := append([]string{s.Source}, s.Mirrors...)
		return slices.ContainsFunc(all, of) && slices.ContainsFunc(all, elsewhere)
	})
}

// noRegistry returns a problem for each network whose VMs certainly reach no registry. registries are those that objects
// name. Parameter all says what nodes reach with external hosts. A router might forward to a registry at an IP address.
func noRegistry(o objects.Objects, registries []string, all reach) (ps problem.Problems) {
	var hosts []string
	for _, registry := range registries {
		if isAddress(registry) || all.reaches(registry) {
			return nil
		}
		hosts = append(hosts, strings.TrimPrefix(registry, imageref.PlainHTTP))
	}
	if len(hosts) == 0 || slices.ContainsFunc(all.endpoints, mayBeMirror) || mayReachMore(o.HostedCluster) {
		return nil
	}
	slices.Sort(hosts)
	for _, s := range all.in.Networks {
		pool := func(np hyperv1.NodePool) bool { return slices.Contains(s.NodePools, np.Name) && poolMayReachMore(np) }
		if closed(s) && len(s.NodePools) > 0 && !slices.ContainsFunc(o.NodePools, pool) {
			ps = append(ps, s.Problem(problem.NoRegistryReachable, problem.Args{"hosts": slices.Compact(hosts)},
				"spec.release.image", network.KeyAllowedHosts, network.KeyRecords, network.KeyGateway))
		}
	}
	return ps
}

// mayBeMirror reports whether e may be a mirror that no object names as one.
func mayBeMirror(e network.Endpoint) bool {
	return e.Origin == network.OriginRegistry || e.Origin == network.OriginService
}

// closed reports whether edges are the only source of addresses, names and connections of VMs that boot from s.
func closed(s network.NetworkRequest) bool {
	return isIsolated(s) && ownNamesOnly(s) && len(s.Settings.Records) == 0 &&
		s.Settings.Selects(network.ServiceDHCP) && s.Settings.Selects(network.ServiceProxy)
}

// mayReachMore reports whether nodes may reach registries in ways that networks do not show. Possible ways are an HTTP
// proxy, a router that advertises IPv6, or VMs that the user patches.
func mayReachMore(hc *hyperv1.HostedCluster) bool {
	proxy := hc.Spec.Configuration != nil && hc.Spec.Configuration.Proxy != nil
	inside := slices.Concat(insideHosted(hc), machineNetworks(hc))
	return proxy || hc.Annotations[hyperv1.JSONPatchAnnotation] != "" || slices.ContainsFunc(inside, func(p netip.Prefix) bool { return p.Addr().Is6() })
}

// poolMayReachMore reports the same as mayReachMore for the nodes of one NodePool. spec.config may add mirrors, hosts
// or routes, and the disk may contain images.
func poolMayReachMore(np hyperv1.NodePool) bool {
	k := np.Spec.Platform.Kubevirt
	if k == nil || len(k.AdditionalNetworks) != 1 || k.AttachDefaultNetwork == nil || *k.AttachDefaultNetwork {
		return true
	}
	disk := k.RootVolume != nil && k.RootVolume.Image != nil && k.RootVolume.Image.ContainerDiskImage != nil
	return disk || len(np.Spec.Config) > 0 || np.Annotations[hyperv1.JSONPatchAnnotation] != ""
}

// hasHost reports whether host, in lower case, is a host of e, or below a wildcard of e.
func hasHost(e network.Endpoint, host string) bool {
	return slices.ContainsFunc(e.Hosts, func(x string) bool { return network.MatchesHost(strings.ToLower(x), host) })
}

// hostPort returns the host and port of destination at (see reaches). port is 0 if it is invalid.
func hostPort(at string) (host string, port uint16) {
	rest, plain := strings.CutPrefix(at, imageref.PlainHTTP)
	if host, number, err := net.SplitHostPort(rest); err == nil {
		return host, portNumber(number)
	}
	if plain {
		return strings.Trim(rest, "[]"), network.PortHTTP
	}
	return strings.Trim(rest, "[]"), network.PortHTTPS
}

// portNumber parses a port number. It returns 0 for invalid text.
func portNumber(text string) uint16 {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// proxyOf returns the function that finds the HTTP proxy of hc for a URL. It finds none for hosts in further or in
// noProxy, and for those that HyperShift adds (support/proxy/no_proxy.go).
func proxyOf(hc *hyperv1.HostedCluster, further ...string) func(*url.URL) (*url.URL, error) {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return (&httpproxy.Config{}).ProxyFunc()
	}
	no := append(further, "127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local", c.Proxy.NoProxy)
	return proxyBy(c.Proxy, slices.Concat(no, network.Texts(machineNetworks(hc)), network.Texts(insideHosted(hc)))...)
}

// proxyBy returns the function that finds the HTTP proxy of p for a URL, with the rules of
// golang.org/x/net/http/httpproxy, as HyperShift, CRI-O and the kubelet do. no has the format of NO_PROXY.
func proxyBy(p *configv1.ProxySpec, no ...string) func(*url.URL) (*url.URL, error) {
	return (&httpproxy.Config{HTTPProxy: p.HTTPProxy, HTTPSProxy: p.HTTPSProxy, NoProxy: strings.Join(no, ",")}).ProxyFunc()
}

func insideHosted(hc *hyperv1.HostedCluster) []netip.Prefix {
	return slices.Concat(objects.PodNetworks(hc), objects.ServiceNetworks(hc))
}

func machineNetworks(hc *hyperv1.HostedCluster) (out []netip.Prefix) {
	for _, m := range hc.Spec.Networking.MachineNetwork {
		p, _ := netip.ParsePrefix(m.CIDR.String())
		out = append(out, p)
	}
	return out
}

// place returns what nodes dial: the address or the first host of e, with the port. Other hosts are for users.
func place(e network.Endpoint) string {
	at := ""
	switch {
	case len(e.Addresses) > 0:
		at = e.Addresses[0].String()
	case len(e.Hosts) > 0:
		at = e.Hosts[0]
	}
	return net.JoinHostPort(at, strconv.Itoa(int(e.Port)))
}
