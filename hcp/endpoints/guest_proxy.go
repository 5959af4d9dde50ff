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

	"github.com/cldmnky/oooi/hcp/ingress"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

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
	for _, u := range reach.Proxies(hc) {
		if !(reach.Set{Endpoints: endpoints}).Published(reach.Dialed(u)) {
			hosts = append(hosts, u.Hostname())
		}
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		for _, s := range in.Networks {
			if !reach.IsIsolated(s) || reach.OnNetworkOf(in, s, services.Address(host)) || reach.AnsweredByUser(s.Settings, strings.ToLower(host)) {
				continue
			}
			return problem.Problems{s.Attachment.Problem(problem.HostedProxyUnreachable, problem.Args{"proxy": {host}},
				"spec.configuration.proxy", network.KeyRecords, network.KeyGateway)}
		}
	}
	return nil
}

// throughProxy returns problems about nodes that use the HTTPS proxy of hc. One is about endpoints of the control plane.
// On a network without a gateway, there is one about OAuth if the console uses the proxy, and one about operators that
// check the ingress. If all networks have a gateway, other DNS servers probably have the names, so the problem is a hint.
// The console operator checks the console, and the ingress operator its canary, through konnectivity. The proxy resolves the
// names of these hosts, which may exist on the network only. nodeAPI is Facts.NodeAPI.
func throughProxy(hc *hyperv1.HostedCluster, in network.Request, endpoints []network.Endpoint, nodeAPI netip.Addr) (ps problem.Problems) {
	i := slices.IndexFunc(in.Networks, reach.IsIsolated)
	routed := i < 0
	if routed {
		i = slices.IndexFunc(in.Networks, func(s network.NetworkRequest) bool { return s.Primary })
	}
	c := hc.Spec.Configuration
	if i < 0 || c == nil || c.Proxy == nil || c.Proxy.HTTPSProxy == "" {
		return nil
	}
	// Only VMs dial Ignition. Pods on nodes dial the other endpoints, too.
	nodes, pods := reach.Set{Proxy: reach.ProxyOf(hc, reach.NodesOnly)}, reach.Set{Proxy: reach.ProxyOf(hc)}
	var hosts, ofConsole, checked, domains []string
	for _, e := range endpoints {
		at := reach.Place(e)
		host, _ := reach.HostPort(at)
		service, proxied := network.PublishedAt(e.Name).Service, pods.Proxied(at)
		switch service {
		case network.APIService:
			may, _ := APIProxied(hc, e, nodeAPI)
			proxied = proxied || may
		case network.IgnitionService:
			proxied = proxied && nodes.Proxied(at)
		}
		switch {
		case e.Origin != network.OriginHyperShift || !proxied:
		case service == network.OAuthService:
			ofConsole = append(ofConsole, host)
		case e.NeededByNodes():
			hosts = append(hosts, host)
		}
	}
	check := func(by hyperv1.OptionalCapability, name, custom, domain string) {
		host, exempt := strings.ToLower(name+"."+domain), strings.ToLower("."+domain)
		if custom != "" {
			host, exempt = strings.ToLower(custom), strings.ToLower(custom)
		}
		if (domain != "" || custom != "") && objects.Enabled(hc, by) && pods.Proxied(host) {
			checked, domains = append(checked, host), append(domains, exempt)
		}
	}
	domain := ingress.Domain(hc)
	check(hyperv1.IngressCapability, "canary-openshift-ingress-canary", "", domain)
	var console string // Its operator checks a custom host instead of the default one (pkg/console/controllers/healthcheck).
	if c.Ingress != nil {
		domain = cmp.Or(c.Ingress.Domain, domain)
		for _, r := range c.Ingress.ComponentRoutes {
			if r.Namespace == "openshift-console" && r.Name == "console" {
				console = string(r.Hostname)
			}
		}
	}
	check(hyperv1.ConsoleCapability, "console-openshift-console", console, domain)
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

// APIProxied reports whether kube-apiserver-proxy, a static pod of each node, may use the HTTPS proxy of hc for e, and
// whether it surely does. e is the endpoint of the API server. If spec.configuration.proxy.noProxy covers its address
// or nodeAPI, it does not. Nor does it if an entry contains "kubernetes", or is the first network of pods or of
// Services (shouldSkipProxyForKAS in HyperShift's apiserver-haproxy/haproxy.go). Older versions of HyperShift search
// the text of noProxy for these words. oooi does not know the version, so it applies both rules.
func APIProxied(hc *hyperv1.HostedCluster, e network.Endpoint, nodeAPI netip.Addr) (may, surely bool) {
	c := hc.Spec.Configuration.Proxy
	r := reach.Set{Proxy: reach.ProxyBy(c, c.NoProxy)}
	api := reach.Place(e)
	host, _ := reach.HostPort(api)
	var networks []string
	for _, all := range [][]netip.Prefix{objects.PodNetworks(hc), objects.ServiceNetworks(hc)} {
		if len(all) > 0 {
			networks = append(networks, all[0].String())
		}
	}
	words := append([]string{host, nodeAPI.String(), "kubernetes"}, networks...)
	byText := !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(c.NoProxy, word) })
	byEntry := r.Proxied(api) && r.Proxied(netip.AddrPortFrom(nodeAPI, e.Port).String()) && !slices.ContainsFunc(strings.Split(c.NoProxy, ","), func(entry string) bool {
		entry = strings.TrimSpace(entry)
		return strings.Contains(entry, "kubernetes") || slices.Contains(networks, entry)
	})
	return byText || byEntry, byText && byEntry
}
