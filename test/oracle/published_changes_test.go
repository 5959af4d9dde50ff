// This file lists changes of what HyperShift publishes, and of what nodes pull and dial. The oracle judges each by what nodes then need.

package oracle

import (
	"fmt"
	"strings"
)

// A change is one that a user, HyperShift or a cloud makes to a world.
type change struct {
	// name says in plain words what was changed.
	name string
	// of is what it changes, and on what else its words depend on. Changes of one thing are not paired.
	of, on string
	// alone: its words depend on most other things, so it is not paired.
	alone bool
	apply func(w *world)
	// words of the problem that there must be, with severity least or more: one of them. Empty: the needs of nodes decide.
	words []string
	least string
	// serves is what must be served, although a problem names it. Empty: nothing. Pairs are not judged by it.
	serves string
	// refused: what nodes need is not judged, because there are no VMs or no plan.
	refused bool
	// without are bases that the change is not made to.
	without []string
}

// lb publishes a service by a load balancer with these ingresses: addresses, and names with an equals sign for both ("name=address").
func lb(service, hostname string, ingresses ...string) func(*world) {
	return func(w *world) {
		s := w.strategyOf(service)
		clear(s)
		s["type"] = "LoadBalancer"
		if hostname != "" {
			s["loadBalancer"] = object{"hostname": hostname}
		}
		var all []any
		for _, i := range ingresses {
			name, ip, both := strings.Cut(i, "=")
			switch {
			case both:
				all = append(all, object{"hostname": name, "ip": ip})
			case strings.ContainsAny(i, ":") || i[0] >= '0' && i[0] <= '9':
				all = append(all, object{"ip": i})
			default:
				all = append(all, object{"hostname": i})
			}
		}
		o := w.service(published[service].service)
		set(o, "LoadBalancer", "spec", "type")
		set(o, all, "status", "loadBalancer", "ingress")
	}
}

// strategyOf returns how HyperShift publishes a service, to be changed.
func (w *world) strategyOf(service string) object {
	s := w.strategy(service)
	if s == nil {
		s = object{}
		set(w.hosted(), append(list(w.hosted(), "spec", "services"), object{"service": service, "servicePublishingStrategy": s}), "spec", "services")
	}
	return s
}

// nodePort publishes a service at a node port. Port 0: Kubernetes has not assigned one yet.
func nodePort(service, address string, port int) func(*world) {
	return func(w *world) {
		s := w.strategyOf(service)
		clear(s)
		s["type"], s["nodePort"] = "NodePort", object{"address": address}
		o := w.service(published[service].service)
		set(o, "NodePort", "spec", "type")
		first := list(o, "spec", "ports")[0].(object)
		delete(first, "nodePort")
		if port != 0 {
			first["nodePort"] = port
		}
	}
}

// route publishes a service by a Route at host. Of an empty hostname, the host is that of the Route.
func route(service, hostname, host string) func(*world) {
	return func(w *world) {
		s := w.strategyOf(service)
		clear(s)
		s["type"] = "Route"
		if hostname != "" {
			s["route"] = object{"hostname": hostname}
		}
		p := published[service]
		set(w.service(p.service), "ClusterIP", "spec", "type")
		if p.route == "" {
			p.route = "kube-apiserver"
		}
		w.remove("Route", p.route)
		w.add(fmt.Sprintf(`{apiVersion: route.openshift.io/v1, kind: Route, metadata: {namespace: clusters-blue, name: %s}, spec: {host: '%s', tls: {termination: passthrough},
to: {kind: Service, name: %s}}, status: {ingress: [{host: '%s', routerName: router, conditions: [{type: Admitted, status: 'True'}]}]}}`, p.route, host, p.service, host))
	}
}

// titles are names of published services in problems.
var titles = map[string]string{"APIServer": "the API", "Konnectivity": "konnectivity", "Ignition": "Ignition", "OAuthServer": "OAuth"}

// publishedChanges are changes of where HyperShift publishes the four services.
func publishedChanges() (out []change) {
	add := func(of, name string, apply func(*world)) { out = append(out, change{name: name, of: of, apply: apply}) }
	for _, of := range []string{"APIServer", "Konnectivity"} {
		title := titles[of]
		add(of, title+" has a load balancer at an IPv4 address", lb(of, "", "10.240.3.7"))
		add(of, title+" has a load balancer at two IPv4 addresses", lb(of, "", "10.240.3.7", "10.240.3.8"))
		add(of, title+" has a load balancer at IPv4, then IPv6", lb(of, "", "10.240.3.7", "fd55::7"))
		add(of, title+" has a load balancer at IPv6, then IPv4", lb(of, "", "fd55::7", "10.240.3.7"))
		add(of, title+" has a load balancer at IPv6", lb(of, "", "fd55::7"))
		add(of, title+" has a load balancer with a name of the cloud", lb(of, "", "x-1.elb.cloud.example"))
		add(of, title+" has a load balancer with a name and an address", lb(of, "", "x-1.elb.cloud.example=10.240.3.7"))
		add(of, title+" has a load balancer with an address, then a name", lb(of, "", "10.240.3.7", "x-1.elb.cloud.example"))
		add(of, title+" has a load balancer that the user named", lb(of, "named.blue.example.org", "10.240.3.7"))
		add(of, title+" has a load balancer in capitals", lb(of, "Named.Blue.example.org", "10.240.3.7"))
	}
	for _, of := range []string{"APIServer", "Konnectivity", "Ignition", "OAuthServer"} {
		title := titles[of]
		at := 30770 + len(out)
		add(of, title+" has a node port at an address", nodePort(of, "10.240.0.7", at))
		add(of, title+" has a node port at a name", nodePort(of, "nodes.example.org", at))
		add(of, title+" has a node port at IPv6", nodePort(of, "fd55::7", at))
	}
	for _, of := range []string{"Konnectivity", "Ignition", "OAuthServer"} {
		title := titles[of]
		label := strings.ToLower(of)
		add(of, title+" has a Route with a name of the user", route(of, label+".example.org", label+".example.org"))
		add(of, title+" has a Route with a name of the router", route(of, "", label+"-clusters-blue.apps.other.example.com"))
		add(of, title+" has a Route below *.apps of the hosted cluster", route(of, "", label+".apps.blue.example.com"))
	}
	add("APIServer", "the API's target port has a number", func(w *world) { set(first(w, "kube-apiserver"), 6443, "targetPort") })
	add("OAuthServer", "OAuth's port has a name", func(w *world) { set(first(w, "oauth-openshift"), "https", "name") })
	add("Ignition", "Ignition's port has another name", func(w *world) { set(first(w, "ignition-server-proxy"), "tls", "name") })
	add("ClusterIP", "the API's Service has another ClusterIP", func(w *world) { set(w.service("kube-apiserver"), "10.96.9.9", "spec", "clusterIP") })
	add("API name", "users have another name for the API", func(w *world) { set(w.hosted(), "api.blue.example.org", "spec", "kubeAPIServerDNSName") })
	return out
}

// first returns the first port of a Service.
func first(w *world, service string) object {
	return list(w.service(service), "spec", "ports")[0].(object)
}

// imageChanges are changes of which images nodes pull, and of how the hosted cluster uses registries.
func imageChanges() (out []change) {
	add := func(name string, apply func(*world)) {
		out = append(out, change{name: name, of: "images", apply: apply})
	}
	onHosted := func(key, value string) func(*world) {
		return func(w *world) { annotate(w.hosted(), "hypershift.openshift.io/"+key, value) }
	}
	for _, at := range []string{"corp.example", "corp.example:5000", "10.9.8.7:5000", "Corp.example"} {
		image := at + "/team/image@sha256:1"
		add("the konnectivity agent's image is at "+at, onHosted("konnectivity-agent-image", image))
		add("the image of the proxy to the API is at "+at, func(w *world) { annotate(w.pool(), "hypershift.openshift.io/haproxy-image", image) })
		add("an image override is at "+at, onHosted("image-overrides", "ovn-kubernetes="+image+",cli="+release))
		add("the release of the NodePool is at "+at, func(w *world) { set(w.pool(), image, "spec", "release", "image") })
		add("the release of both is at "+at, func(w *world) {
			set(w.pool(), image, "spec", "release", "image")
			set(w.hosted(), image, "spec", "release", "image")
		})
		add("a mirror is at "+at, func(w *world) {
			set(w.hosted(), []any{object{"source": "quay.io/openshift-release-dev/ocp-v4.0-art-dev", "mirrors": []any{at + "/mirror"}}}, "spec", "imageContentSources")
		})
	}
	add("two mirrors have one registry", func(w *world) {
		set(w.hosted(), []any{object{"source": "quay.io/a", "mirrors": []any{"m.example/a", "m.example/b"}}}, "spec", "imageContentSources")
	})
	add("catalogs run in the hosted cluster", func(w *world) {
		set(w.hosted(), "guest", "spec", "olmCatalogPlacement")
		set(w.hosted(), false, "spec", "configuration", "operatorhub", "disableAllDefaultSources")
	})
	add("no external hosts are allowed", func(w *world) { annotate(w.hosted(), oooi+"allowed-hosts", "none") })
	add("one more external host is allowed", func(w *world) { annotate(w.hosted(), oooi+"allowed-hosts", "auto,git.example.com") })
	add("a record leads to a mirror on the network", func(w *world) {
		annotate(w.hosted(), oooi+"dns-records", "registry.example.com=192.168.100.7")
	})
	return out
}

// dialedChanges are changes of identity providers.
func dialedChanges() (out []change) {
	provider := func(name, manifest string) {
		out = append(out, change{name: name, of: "identity", apply: func(w *world) {
			w.add("{kind: Provider, metadata: {name: p}, value: " + manifest + "}")
			value := w.find("Provider", "p")["value"]
			w.remove("Provider", "p")
			set(w.hosted(), []any{value}, "spec", "configuration", "oauth", "identityProviders")
		}})
	}
	provider("users log in by OpenID", "{name: corp, type: OpenID, openID: {issuer: 'https://idp.corp.example/realm'}}")
	provider("users log in by OpenID at a port", "{name: corp, type: OpenID, openID: {issuer: 'https://idp.corp.example:8443'}}")
	provider("users log in by OpenID of a cloud", "{name: corp, type: OpenID, openID: {issuer: 'https://login.microsoftonline.com/x'}}")
	provider("users log in by GitLab of a cloud", "{name: corp, type: GitLab, gitlab: {url: 'https://git.eu-1.amazonaws.com'}}")
	provider("users log in by basic authentication", "{name: corp, type: BasicAuth, basicAuth: {url: 'https://idp.corp.example/login'}}")
	provider("users log in by Keystone", "{name: corp, type: Keystone, keystone: {url: 'https://idp.corp.example/v3'}}")
	provider("users log in by GitLab", "{name: corp, type: GitLab, gitlab: {url: 'https://git.corp.example'}}")
	provider("users log in by GitHub", "{name: corp, type: GitHub, github: {}}")
	provider("users log in by GitHub Enterprise", "{name: corp, type: GitHub, github: {hostname: git.corp.example}}")
	provider("users log in by Google", "{name: corp, type: Google, google: {}}")
	for _, address := range []string{"192.168.100.2", "192.168.100.3", "192.168.100.4"} {
		provider("users log in by OpenID at "+address+", which edges have", "{name: corp, type: OpenID, openID: {issuer: 'https://"+address+"/realm'}}")
		provider("users log in by LDAP at "+address+", which edges have", "{name: corp, type: LDAP, ldap: {url: 'ldaps://"+address+":636/o=corp'}}")
	}
	provider("users log in by LDAP at an address", "{name: corp, type: LDAP, ldap: {url: 'ldaps://10.9.8.7:636/o=corp'}}")
	provider("users log in by GitLab at an address", "{name: corp, type: GitLab, gitlab: {url: 'https://10.9.8.7'}}")
	provider("users log in by Keystone at the broadcast address", "{name: corp, type: Keystone, keystone: {url: 'https://192.168.100.255/v3'}}")
	provider("users log in by a file of passwords", "{name: corp, type: HTPasswd, htpasswd: {}}")
	out = append(out, change{name: "OIDC replaces OAuth", of: "OAuthServer", apply: func(w *world) {
		set(w.hosted(), object{"type": "OIDC", "oidcProviders": []any{object{"name": "corp", "issuer": object{"issuerURL": "https://idp.corp.example", "audiences": []any{"a"}}}}}, "spec", "configuration", "authentication")
	}})
	return out
}

// nameChanges are changes of the names of the hosted cluster and of its DNS.
func nameChanges() (out []change) {
	ingress := func(name string, value any, path ...string) {
		out = append(out, change{name: name, of: "ingress", apply: func(w *world) {
			set(w.hosted(), value, append([]string{"spec", "configuration", "ingress"}, path...)...)
		}})
	}
	component := func(host string) []any {
		return []any{object{"name": "console", "namespace": "openshift-console", "hostname": host, "servingCertKeyPairSecret": object{"name": "c"}}}
	}
	ingress("the console has a name of its own", component("console.corp.example"), "componentRoutes")
	ingress("the console has a name in capitals", component("Console.corp.example"), "componentRoutes")
	ingress("the console has a name below *.apps", component("c.apps.blue.example.com"), "componentRoutes")
	ingress("the ingress has another domain", "shop.example.org", "domain")
	ingress("Routes have another domain", "shop.example.org", "appsDomain")
	ingress("the ingress and Routes have domains of their own", object{"domain": "one.example.org", "appsDomain": "two.example.org"}, "x")
	out[len(out)-1].apply = func(w *world) {
		set(w.hosted(), object{"domain": "one.example.org", "appsDomain": "two.example.org"}, "spec", "configuration", "ingress")
	}
	out = append(out, change{name: "the base domain is another one", of: "ingress", apply: func(w *world) { set(w.hosted(), "corp.example", "spec", "dns", "baseDomain") }})
	annotated := func(of, name, key, value string) {
		out = append(out, change{name: name, of: of, apply: func(w *world) { annotate(w.hosted(), oooi+key, value) }})
	}
	annotated("search", "VMs search a domain beyond the cluster", "search-domains", "lab.example.org,blue.example.com")
	annotated("search", "VMs search only a domain beyond the cluster", "search-domains", "lab.example.org")
	annotated("apps", "the ingress has an address on the network", "apps-address", "192.168.100.6")
	annotated("edges", "there are two edges", "edges", "2")
	annotated("upstreams", "names are asked from servers", "dns-upstreams", "10.1.1.1")
	annotated("range", "the pool begins at another address", "dhcp-range", "192.168.100.50-192.168.100.90")
	annotated("addresses", "the network has a gateway", "gateway", "192.168.100.1")
	annotated("addresses", "edges have other addresses", "edge-addresses", "192.168.100.1,192.168.100.8,192.168.100.9,192.168.100.254")
	return out
}
