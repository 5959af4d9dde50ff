// This file lists changes after which nodes reach hosts in another way: an HTTP proxy, registries that redirect, Services that the user publishes, and an ingress that
// its operator publishes in another way, or not at all.

package oracle

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// proxyChanges are changes of the HTTP proxy of the hosted cluster.
func proxyChanges() (out []change) {
	// all has the places of the control plane as noProxy names them, and further entries.
	all := func(w *world, further ...string) string {
		no := further
		for of := range published {
			if host, _ := w.place(of); host != "" {
				no = append(no, host)
			}
		}
		return strings.Join(no, ",")
	}
	const onNetwork, outside = "http://192.168.100.7:3128", "http://proxy.corp.example:3128"
	add := func(name, proxy string, noProxy func(w *world) string) {
		out = append(out, change{name: name, of: "proxy", apply: func(w *world) {
			set(w.hosted(), object{"httpProxy": proxy, "httpsProxy": proxy, "noProxy": noProxy(w)}, "spec", "configuration", "proxy")
		}})
	}
	add("nodes have a proxy, and noProxy has the control plane", onNetwork, func(w *world) string { return all(w) })
	add("nodes have a proxy, and no noProxy", onNetwork, func(*world) string { return "" })
	add("nodes have a proxy, and noProxy has another host", onNetwork, func(*world) string { return "git.corp.example" })
	add("nodes have a proxy, and noProxy has the API alone", onNetwork, func(w *world) string {
		host, _ := w.place("APIServer")
		return host
	})
	add("nodes have a proxy, and noProxy has all but konnectivity", onNetwork, func(w *world) string {
		api, _ := w.place("APIServer")
		ignition, _ := w.place("Ignition")
		return api + "," + ignition
	})
	add("nodes have a proxy, and noProxy has places of the control plane with ports", onNetwork, func(w *world) string {
		var no []string
		for of := range published {
			if host, port := w.place(of); host != "" {
				no = append(no, net.JoinHostPort(host, strconv.Itoa(port)))
			}
		}
		return strings.Join(no, ",")
	})
	for _, of := range []string{"APIServer", "Ignition", "Konnectivity", "OAuthServer"} {
		add("nodes have a proxy, and "+titles[of]+" is below .local", onNetwork, func(w *world) string {
			no := all(w)
			lb(of, "blue.corp.local", "10.240.3.7")(w)
			return no
		})
		out[len(out)-1].on = of
	}
	add("nodes have a proxy, and noProxy has the ingress, too", onNetwork, func(w *world) string { return all(w, ".apps.blue.example.com") })
	add("nodes have a proxy, and noProxy has the registry", onNetwork, func(w *world) string { return all(w, "registry.example.com") })
	add("nodes have a proxy, and noProxy has the registry with its port", onNetwork, func(w *world) string { return all(w, "registry.example.com:443") })
	add("nodes have a proxy, and noProxy has the registry with another port", onNetwork, func(w *world) string { return all(w, "registry.example.com:5000") })
	add("nodes have a proxy, and noProxy has the identity provider", onNetwork, func(w *world) string { return all(w, ".corp.example") })
	add("nodes have a proxy outside that they do not reach", outside, func(w *world) string { return all(w) })
	add("nodes have a proxy that a Service publishes", outside, func(w *world) string {
		w.addPublished("squid", "proxy.corp.example:3128", 3128)
		return all(w)
	})
	return out
}

// addPublished adds a Service that the user publishes at "host:port".
func (w *world) addPublished(name, at string, port int) {
	w.add(fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: clusters-blue, annotations: {%spublish: '%s'}},
spec: {type: ClusterIP, clusterIP: 10.96.71.9, ports: [{name: one, port: %d, protocol: TCP, targetPort: %d}]}}`, name, oooi, at, port, port))
}

// redirectChanges are changes of a registry that redirects clients to other hosts.
func redirectChanges() (out []change) {
	add := func(name string, apply func(*world)) {
		out = append(out, change{name: name, of: "images", apply: apply})
	}
	for _, registry := range []string{"quay.io", "registry.redhat.io"} {
		ofBoth := func(w *world) {
			set(w.pool(), registry+"/x/release@sha256:1", "spec", "release", "image")
			set(w.hosted(), registry+"/x/release@sha256:1", "spec", "release", "image")
		}
		add("the release of both is at "+registry+", which redirects to others", ofBoth)
		add("a record leads "+registry+" to the network", func(w *world) {
			ofBoth(w)
			records := text(w.hosted(), "metadata", "annotations", oooi+"dns-records") // Those of another change stay.
			annotate(w.hosted(), oooi+"dns-records", strings.TrimPrefix(records+","+registry+"=192.168.100.6", ","))
		})
	}
	return out
}

// publicationChanges are Services that the user publishes.
func publicationChanges() (out []change) {
	add := func(name, title, at string, port int, further func(*world)) {
		out = append(out, change{name: title, of: "publish", apply: func(w *world) {
			w.addPublished(name, at, port)
			further(w)
		}})
	}
	none := func(*world) {}
	add("vault", "a Service is published", "vault.corp.example:443", 8200, none)
	add("vault", "a Service is published at another port", "vault.corp.example:22", 22, none)
	add("vault", "a Service is published at the port of the API", "vault.corp.example:6443", 6443, none)
	add("registry", "the registry is a published Service", "registry.example.com:443", 5000, none)
	add("registry", "the registry is a published Service at another port only", "registry.example.com:5000", 5000, none)
	add("idp", "an identity provider is a published Service", "idp.corp.example:443", 8443, func(w *world) {
		set(w.hosted(), []any{object{"name": "corp", "type": "OpenID", "openID": object{"issuer": "https://idp.corp.example"}}}, "spec", "configuration", "oauth", "identityProviders")
	})
	out[len(out)-1].of = "identity"
	return out
}

// ingressChanges are ways in which the ingress operator publishes the ingress of the hosted cluster.
func ingressChanges() (out []change) {
	// HyperShift's documentation has this Service for users with a base domain of their own.
	service := func(w *world) {
		w.add(`{apiVersion: v1, kind: Service, metadata: {name: blue-apps, namespace: clusters-blue},
spec: {type: LoadBalancer, ports: [{name: https, port: 443, targetPort: 31443}, {name: http, port: 80, targetPort: 31080}]}}`)
	}
	add := func(name string, strategy any, further func(*world)) {
		out = append(out, change{name: name, of: "ingress", apply: func(w *world) {
			if strategy != nil {
				set(w.hosted(), strategy, "spec", "operatorConfiguration", "ingressOperator", "endpointPublishingStrategy")
			}
			further(w)
		}})
	}
	none := func(*world) {}
	add("a Service has the ingress", nil, service)
	out[len(out)-1].serves = "ingress"
	add("the ingress is Private", object{"type": "Private"}, none)
	add("the ingress is Private, and a Service has it", object{"type": "Private"}, service)
	out[len(out)-1].serves = "ingress" // HyperShift's setting may be an old one: an administrator has published the ingress.
	add("the ingress is on the ports of nodes", object{"type": "HostNetwork"}, none)
	named := func(words ...string) { // With an address of its own, *.apps is not the ingress's.
		out[len(out)-1].words, out[len(out)-1].least, out[len(out)-1].on = words, "Warning", "apps"
	}
	add("the ingress is on the ports of nodes, and a Service has another port", object{"type": "HostNetwork"}, service)
	named("blue-apps") // HyperShift's setting may be a new one, which it does not read.
	add("the ingress is on a port of nodes that the API has, too", object{"type": "HostNetwork"}, func(w *world) { set(w.hosted(), 443, "spec", "networking", "apiServer", "port") })
	named("443")
	add("the ingress is on node ports", object{"type": "NodePortService"}, none)
	add("the ingress is on node ports, and a Service has it", object{"type": "NodePortService"}, service)
	// Edges do not speak it, so a problem names the ingress also where they connect to it.
	add("the ingress expects the PROXY protocol", object{"type": "NodePortService", "nodePort": object{"protocol": "PROXY"}}, service)
	out[len(out)-1].words, out[len(out)-1].least, out[len(out)-1].on = []string{"*.apps.blue.example.com"}, "Info", "apps" // With an address of its own, *.apps is not the ingress's.
	return out
}

// nodeConfigChanges are changes of what all nodes get from the HostedCluster, by the sources of HyperShift 0.1.81.
func nodeConfigChanges() (out []change) {
	add := func(name, of, word string, apply func(*world)) {
		out = append(out, change{name: name, of: of, words: []string{word}, least: "Warning", alone: true, apply: apply}) // Others replace these fields.
	}
	for _, entry := range []string{"https://registry.example.com", "registry.example.com/team", "*.example.com"} { // postProcess of sysregistriesv2 in containers/image.
		add("nodes search short names of images at "+entry, "search", entry, func(w *world) {
			set(w.hosted(), []any{"quay.io", entry}, "spec", "configuration", "image", "registrySources", "containerRuntimeSearchRegistries")
		})
	}
	// A mirrored release names the images of its original (ignition-server/controllers/local_ignitionprovider.go).
	add("no source mirrors the images of the release", "images", "quay.io/openshift-release-dev/ocp-v4.0-art-dev", func(w *world) {
		set(w.hosted(), []any{object{"source": "quay.io/openshift-release-dev/ocp-release", "mirrors": []any{"registry.example.com/m"}}}, "spec", "imageContentSources")
	})
	// kube-controller-manager gives each node a /24 (v2/kcm/deployment.go of HyperShift sets no other size).
	add("nodes get a /24 of the pod network, whatever its hostPrefix is", "CIDR", "10.132.0.0/23", func(w *world) {
		set(w.hosted(), []any{object{"cidr": "10.132.0.0/23", "hostPrefix": 26}}, "spec", "networking", "clusterNetwork")
		set(w.hosted(), "Other", "spec", "networking", "networkType")
		set(w.hosted(), "Enabled", "spec", "networking", "allocateNodeCIDRs")
	})
	return out
}

// sourceChanges are changes with which no node works, by the sources of HyperShift 0.1.80, KubeVirt, the machine config operator and OVN-Kubernetes.
func sourceChanges() (out []change) {
	add := func(name, of, least, words string, apply func(*world)) {
		out = append(out, change{name: name, of: of, words: strings.Fields(words), least: least, refused: least == "Error", apply: apply})
	}
	// Judged by what nodes dial. Edges have these addresses by default: the two VIPs, and that of the first edge.
	for _, address := range []string{"192.168.100.2", "192.168.100.3", "192.168.100.4"} {
		add("nodes have a proxy at "+address+", which edges have", "proxy", "", "", func(w *world) {
			var no []string
			for of := range published {
				host, _ := w.place(of)
				no = append(no, host)
			}
			set(w.hosted(), object{"httpProxy": "http://" + address + ":3128", "httpsProxy": "http://" + address + ":3128", "noProxy": strings.Join(no, ",")}, "spec", "configuration", "proxy")
		})
		add("the release of both is at "+address+", which edges have", "images", "", "", func(w *world) {
			set(w.pool(), address+":5000/x/release@sha256:1", "spec", "release", "image")
			set(w.hosted(), address+":5000/x/release@sha256:1", "spec", "release", "image")
		})
		out[len(out)-1].on = "publish" // A Service can be published at that port.
	}
	add("nodes have a proxy without a scheme", "proxy", "Warning", "spec.configuration.proxy.httpsProxy", func(w *world) {
		set(w.hosted(), object{"httpsProxy": "192.168.100.7:3128"}, "spec", "configuration", "proxy")
	})
	out[len(out)-1].refused = true // No VM is created (apiserver-haproxy/haproxy.go).
	for _, at := range []string{"corp.example", "corp.example:5000", "10.9.8.7:5000"} {
		add("the control plane operator's image is at "+at, "images", "", "", func(w *world) {
			annotate(w.hosted(), "hypershift.openshift.io/control-plane-operator-image", at+"/team/image@sha256:1")
		})
		add("the release of the control plane is at "+at, "images", "", "", func(w *world) {
			set(w.hosted(), at+"/team/image@sha256:1", "spec", "controlPlaneRelease", "image")
		})
	}
	insecure := func(name, at string, apply func(*world)) {
		add(name, "images", "", "", func(w *world) {
			apply(w)
			set(w.hosted(), []any{at}, "spec", "configuration", "image", "registrySources", "insecureRegistries")
		})
	}
	for _, at := range []string{"corp.example", "corp.example:5000"} {
		insecure("a mirror at "+at+" may lack TLS", at, func(w *world) {
			set(w.hosted(), []any{object{"source": "quay.io/a", "mirrors": []any{at + "/a"}}}, "spec", "imageContentSources")
		})
		insecure("the konnectivity agent's registry "+at+" may lack TLS", at, func(w *world) {
			annotate(w.hosted(), "hypershift.openshift.io/konnectivity-agent-image", at+"/team/image@sha256:1")
		})
	}
	insecure("the registry of the release may lack TLS", "registry.example.com", func(*world) {})
	// policy.json of nodes has the names of sources, also where a mirror has the image (container-runtime-config/helpers.go).
	refused := func(key, registry string) {
		add("a mirrored source is refused by "+key, "images", "Warning", "quay.io", func(w *world) {
			set(w.hosted(), []any{object{"source": "quay.io/openshift-release-dev/ocp-v4.0-art-dev", "mirrors": []any{"registry.example.com/m"}}}, "spec", "imageContentSources")
			set(w.hosted(), object{key: []any{registry}}, "spec", "configuration", "image", "registrySources")
		})
	}
	refused("allowedRegistries", "registry.example.com")
	refused("blockedRegistries", "quay.io")
	// Each node has a /23, and an update of two nodes adds a third.
	subnets := func(cidr string) {
		add("pods have "+cidr+", which is too small for all nodes", "CIDR", "Warning", cidr, func(w *world) {
			set(w.hosted(), []any{object{"cidr": cidr}}, "spec", "networking", "clusterNetwork")
		})
	}
	// The operator wants one address for each of 512 subnets (isV4InternalSubnetLargeEnough).
	add("the join subnet has too few addresses", "CIDR", "Warning", "100.70.0.0/24", func(w *world) {
		set(w.hosted(), "100.70.0.0/24", "spec", "operatorConfiguration", "clusterNetworkOperator", "ovnKubernetesConfig", "v4InternalSubnet")
	})
	out[len(out)-1].alone = true // Other addresses may then be none of the join subnet.
	subnets("10.132.0.0/22")
	subnets("10.132.0.0/24")
	// The bridge of a VM has another MAC than the VM (bridgeBindingSpec in netpod.go).
	add("the NAD is a macvlan, which delivers no frames to a bridge", "NAD", "Error", "vlan100", func(w *world) {
		set(w.nad(), `{"cniVersion":"0.3.1","name":"vlan100","type":"macvlan","master":"eth1.100","ipam":{}}`, "spec", "config")
	})
	add("the NAD's virtual functions drop frames of another MAC", "NAD", "Warning", "vlan100", func(w *world) {
		annotate(w.nad(), "k8s.v1.cni.cncf.io/resourceName", "openshift.io/vfs")
		set(w.nad(), `{"cniVersion":"0.3.1","name":"vlan100","type":"sriov","vlan":100,"ipam":{}}`, "spec", "config")
		set(w.find("Node", "node1"), object{"cpu": "8", "openshift.io/vfs": "8"}, "status", "allocatable")
	})
	return out
}
