// This file checks whether nodes can reach the HTTP proxy of the hosted cluster. It also checks which parts of the control plane they reach only
// through it. Nodes that have a proxy fetch Ignition and images through it. The result is never an Error, and never contains the proxy's password.

package endpoints

import (
	"cmp"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// proxies returns the valid URLs of the HTTP proxies of hc. Programs of nodes assume http if there is no scheme
// (golang.org/x/net/http/httpproxy).
func proxies(hc *hyperv1.HostedCluster) (out []*url.URL) {
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

// proxyInvalid returns a problem if HyperShift cannot make the configuration of VMs from the proxies of hc
// (joinDefaultPortIfMissing in apiserver-haproxy/haproxy.go), or if Ignition refuses that configuration
// (config/v3_2/types/proxy.go).
func proxyInvalid(hc *hyperv1.HostedCluster) problem.Problems {
	c := hc.Spec.Configuration
	if c == nil || c.Proxy == nil {
		return nil
	}
	for _, proxy := range []string{c.Proxy.HTTPProxy, c.Proxy.HTTPSProxy} {
		if u, err := url.Parse(proxy); proxy != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https") {
			return problem.Problems{problem.New(problem.HostedProxyInvalid, problem.Subject{}, nil, "spec.configuration.proxy.httpProxy", "spec.configuration.proxy.httpsProxy")}
		}
	}
	return nil
}

// hostedProxy returns a problem for the first HTTP proxy that nodes cannot reach. They can reach one on the network,
// through a gateway, through a record in dns-records, or as one of endpoints.
func hostedProxy(hc *hyperv1.HostedCluster, in network.Request, endpoints []network.Endpoint) problem.Problems {
	var hosts []string
	for _, u := range proxies(hc) {
		if !(reach{endpoints: endpoints}).published(dialed(u)) {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		for _, s := range in.Networks {
			if !isIsolated(s) || network.Inside(s.CIDR, services.Address(host)) || answeredByUser(s.Settings, strings.ToLower(host)) {
				continue
			}
			return problem.Problems{s.Attachment.Problem(problem.HostedProxyUnreachable, problem.Args{"proxy": {host}},
				"spec.configuration.proxy", network.KeyRecords, network.KeyGateway)}
		}
	}
	return nil
}

// dialed returns what clients of proxy dial, in the form of reach.reaches. For an http:// proxy they send no TLS server name.
func dialed(proxy *url.URL) string {
	if proxy.Scheme == "http" {
		return imageref.PlainHTTP + strings.ToLower(proxy.Host)
	}
	return strings.ToLower(proxy.Host)
}

// throughProxy returns problems about nodes that use the HTTPS proxy of hc. One is about endpoints of the control plane.
// On a network without a gateway, there is one about OAuth if the console uses the proxy, and one about operators that
// check the ingress. If all networks have a gateway, other DNS servers probably have the names, so the problem is a hint.
// The console operator checks the console, and the ingress operator its canary, through konnectivity. The proxy resolves the
// names of these hosts, which may exist on the network only. nodeAPI is Facts.NodeAPI.
func throughProxy(hc *hyperv1.HostedCluster, in network.Request, endpoints []network.Endpoint, nodeAPI netip.Addr) (ps problem.Problems) {
	i := slices.IndexFunc(in.Networks, isIsolated)
	routed := i < 0
	if routed {
		i = slices.IndexFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary })
	}
	c := hc.Spec.Configuration
	if i < 0 || c == nil || c.Proxy == nil || c.Proxy.HTTPSProxy == "" {
		return nil
	}
	// Only VMs dial Ignition. Pods on nodes dial the other endpoints, too.
	nodes, pods := reach{proxy: proxyOf(hc, nodesOnly)}, reach{proxy: proxyOf(hc)}
	var hosts, ofConsole, checked, domains []string
	for _, e := range endpoints {
		at := place(e)
		host, _ := hostPort(at)
		service, proxied := network.PublishedAt(e.Name).Service, pods.proxied(at)
		switch service {
		case network.APIService:
			may, _ := APIProxied(hc, e, nodeAPI)
			proxied = proxied || may
		case network.IgnitionService:
			proxied = proxied && nodes.proxied(at)
		}
		switch {
		case e.Origin != network.OriginHyperShift || !proxied:
		case service == network.OAuthService:
			ofConsole = append(ofConsole, host)
		case e.NeededByNodes():
			hosts = append(hosts, host)
		}
	}
	check := func(by hyperv1.OptionalCapability, name, domain string) {
		if host := strings.ToLower(name + "." + domain); domain != "" && objects.Enabled(hc, by) && pods.proxied(host) {
			checked, domains = append(checked, host), append(domains, strings.ToLower("."+domain))
		}
	}
	domain := ingress.Domain(hc)
	check(hyperv1.IngressCapability, "canary-openshift-ingress-canary", domain)
	if c.Ingress != nil {
		domain = cmp.Or(c.Ingress.Domain, domain)
	}
	check(hyperv1.ConsoleCapability, "console-openshift-console", domain)
	add := func(cause problem.Cause, hosts []string, args problem.Args) {
		if slices.Sort(hosts); len(hosts) > 0 {
			args["hosts"] = slices.Compact(hosts)
			ps = append(ps, in.Networks[i].Attachment.Problem(cause, args, "spec.configuration.proxy.noProxy"))
		}
	}
	add(problem.ControlPlaneThroughProxy, hosts, problem.Args{})
	if routed {
		for j := range ps {
			ps[j].Severity = problem.SeverityInfo
		}
		return ps
	}
	add(problem.IngressThroughProxy, checked, problem.Args{"domains": slices.Compact(domains)})
	if objects.Enabled(hc, hyperv1.ConsoleCapability) {
		add(problem.ConsoleThroughProxy, ofConsole, problem.Args{})
	}
	return ps
}

// registriesThroughProxy returns a problem for the first network without a gateway if nodes ask the HTTP proxy for
// registries that have their names from edges: records of the user, or published Services.
func registriesThroughProxy(in network.Request, registries []string, own reach) problem.Problems {
	hosts := network.Without(registries, func(at string) bool { return !own.proxied(at) || !own.recorded(at) && !own.published(at) })
	for i, at := range hosts {
		hosts[i], _ = hostPort(at)
	}
	if len(hosts) == 0 {
		return nil
	}
	i := slices.IndexFunc(in.Networks, isIsolated)
	return problem.Problems{in.Networks[i].Attachment.Problem(problem.RegistryThroughProxy, problem.Args{"hosts": hosts}, "spec.configuration.proxy.noProxy")}
}

// APIProxied reports whether kube-apiserver-proxy, a static pod of each node, may use the HTTPS proxy of hc for e, and
// whether it surely does. e is the endpoint of the API server. If spec.configuration.proxy.noProxy covers its address
// or nodeAPI, it does not. Nor does it if an entry contains "kubernetes", or is the first network of pods or of
// Services (shouldSkipProxyForKAS in HyperShift's apiserver-haproxy/haproxy.go). Older versions of HyperShift search
// the text of noProxy for these words. oooi does not know the version, so it applies both rules.
func APIProxied(hc *hyperv1.HostedCluster, e network.Endpoint, nodeAPI netip.Addr) (may, surely bool) {
	c := hc.Spec.Configuration.Proxy
	r := reach{proxy: proxyBy(c, c.NoProxy)}
	api := place(e)
	host, _ := hostPort(api)
	var networks []string
	for _, all := range [][]netip.Prefix{objects.PodNetworks(hc), objects.ServiceNetworks(hc)} {
		if len(all) > 0 {
			networks = append(networks, all[0].String())
		}
	}
	words := append([]string{host, nodeAPI.String(), "kubernetes"}, networks...)
	byText := !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(c.NoProxy, word) })
	byEntry := r.proxied(api) && r.proxied(netip.AddrPortFrom(nodeAPI, e.Port).String()) && !slices.ContainsFunc(strings.Split(c.NoProxy, ","), func(entry string) bool {
		entry = strings.TrimSpace(entry)
		return strings.Contains(entry, "kubernetes") || slices.Contains(networks, entry)
	})
	return byText || byEntry, byText && byEntry
}
