// This file lists changes that rule VMs out, or take something from nodes, whatever else a plan has. A problem names each. The sources are
// KubeVirt's admitter (pkg/network/admitter), Multus, the CNI plugins, Linux (dev_valid_name), OVN-Kubernetes and HyperShift's API.

package oracle

import (
	"encoding/json"
	"fmt"
	"strings"
)

// nadChanges are changes of the NetworkAttachmentDefinition that VMs boot from.
func nadChanges() (out []change) {
	nad := func(name, least string, apply func(w *world)) {
		out = append(out, change{name: name, of: "NAD", apply: apply, words: []string{"vlan100", "vlan.100"}, least: least, refused: least == "Error"})
	}
	config := func(name, least, text string) {
		nad(name, least, func(w *world) { set(w.nad(), text, "spec", "config") })
	}
	plugin := func(name, least string, change object) {
		conf := object{"cniVersion": "0.3.1", "name": "vlan100", "type": "bridge", "bridge": "br1", "vlan": 100, "ipam": object{}}
		for key, value := range change {
			if conf[key] = value; value == nil {
				delete(conf, key)
			}
		}
		config(name, least, encoded(conf))
	}
	nad("the NAD has a dot in its name", "Error", func(w *world) {
		set(w.pool(), []any{object{"name": "clusters/vlan.100"}}, "spec", "platform", "kubevirt", "additionalNetworks")
		set(w.nad(), "vlan.100", "metadata", "name")
	})
	nad("the NAD has no spec", "Error", func(w *world) { delete(w.nad(), "spec") })
	nad("the NAD has an empty spec", "Error", func(w *world) { set(w.nad(), object{}, "spec") })
	config("the NAD's configuration is empty", "Error", "")
	config("the NAD's configuration is not JSON", "Error", "type: bridge")
	config("the NAD's configuration is a list", "Error", "[]")
	plugin("the NAD has no type", "Error", object{"type": nil})
	plugin("the NAD's type is ptp", "Error", object{"type": "ptp"})
	plugin("the NAD's type is host-device", "Error", object{"type": "host-device"})
	plugin("the NAD's type is ipvlan, with which all VMs have one MAC", "Error", object{"type": "ipvlan", "master": "eth1", "bridge": nil})
	for _, ipam := range []string{"host-local", "dhcp", "static", "whereabouts"} {
		plugin("the NAD has IPAM of type "+ipam, "Error", object{"ipam": object{"type": ipam}})
	}
	plugin("the bridge has a name of 16 characters", "Error", object{"bridge": "br-0123456789abc"})
	plugin("the bridge has a slash in its name", "Error", object{"bridge": "br/1"})
	plugin("the bridge has a space in its name", "Error", object{"bridge": "br 1"})
	plugin("the bridge has a colon in its name", "Error", object{"bridge": "br:1"})
	plugin("the bridge is named dot", "Error", object{"bridge": "."})
	plugin("the bridge is named by two dots", "Error", object{"bridge": ".."})
	plugin("the bridge is a number", "Error", object{"bridge": 1})
	plugin("the VLAN is 4095", "Error", object{"vlan": 4095})
	plugin("the VLAN is negative", "Error", object{"vlan": -1})
	plugin("the VLAN is text", "Error", object{"vlan": "100"})
	plugin("the VLAN has a fraction", "Error", object{"vlan": 1.5})
	for _, key := range []string{"vlanId", "vlanID", "vlan_id", "tag"} {
		plugin("the bridge's VLAN has key "+key, "Error", object{"vlan": nil, key: 100})
	}
	plugin("the MTU is negative", "Error", object{"mtu": -1})
	plugin("the MTU is text", "Error", object{"mtu": "1500"})
	plugin("the bridge isolates its ports", "Warning", object{"portIsolation": true})
	for _, mode := range []string{"private", "vepa", "passthru"} {
		plugin("the NAD is a macvlan in mode "+mode, "Error", object{"type": "macvlan", "master": "eth1.100", "mode": mode, "bridge": nil, "vlan": nil})
	}
	plugin("the NAD is a macvlan with a VLAN of its own", "Error", object{"type": "macvlan", "master": "eth1", "bridge": nil})
	plugin("the NAD is of SR-IOV and names no resource", "Error", object{"type": "sriov", "bridge": nil})
	nad("the NAD's bridge resource is on no node", "Error", func(w *world) {
		annotate(w.nad(), "k8s.v1.cni.cncf.io/resourceName", "bridge.network.kubevirt.io/br1")
		set(w.find("Node", "node1"), object{"cpu": "8", "bridge.network.kubevirt.io/br-ex": "1k"}, "status", "allocatable")
	})
	nad("the NAD's virtual functions are on no node", "Error", func(w *world) {
		annotate(w.nad(), "k8s.v1.cni.cncf.io/resourceName", "openshift.io/vfs")
		set(w.nad(), `{"cniVersion":"0.3.1","name":"vlan100","type":"sriov","vlan":100,"ipam":{}}`, "spec", "config")
		set(w.find("Node", "node1"), object{"cpu": "8"}, "status", "allocatable")
	})
	for what, key := range ovnKeys() {
		nad(ovnTitle(what), "Error", func(w *world) {
			conf := map[string]any{"cniVersion": "0.3.1", "name": "tenant", "type": "ovn-k8s-cni-overlay", "topology": "localnet", "netAttachDefName": "clusters/vlan100", "vlanID": 100}
			conf[key.name] = key.value
			set(w.nad(), encoded(conf), "spec", "config")
		})
	}
	nad("the NAD does not exist", "Waiting", func(w *world) { w.remove("NetworkAttachmentDefinition", "vlan100") })
	nad("the NAD does not allow the VMs' namespace", "Error", func(w *world) { set(w.nad(), object{}, "metadata", "annotations") })
	nad("Multus isolates namespaces, as the network operator of OpenShift configures it", "Error", func(w *world) {
		w.add("{apiVersion: operator.openshift.io/v1, kind: Network, metadata: {name: cluster}, spec: {}}")
	})
	nad("the NAD allows another namespace", "Error", func(w *world) { annotate(w.nad(), oooi+"allowed-namespaces", "clusters-green") })
	return out
}

// encoded returns a CNI configuration as text.
func encoded(conf object) string {
	b, err := json.Marshal(conf)
	if err != nil {
		panic("oracle: a configuration is always JSON: " + err.Error())
	}
	return string(b)
}

type ovnKey struct {
	name  string
	value any
}

// ovnKeys are values with which OVN-Kubernetes gives VMs no address from oooi, or no network.
func ovnKeys() []ovnKey {
	return []ovnKey{{"topology", "layer3"}, {"subnets", "192.168.100.0/24"}, {"role", "primary"}, {"netAttachDefName", "clusters/other"}, {"name", "default"},
		{"name", ""}, {"vlanID", 4095}, {"vlanID", "100"}}
}

func ovnTitle(i int) string {
	return fmt.Sprintf("the NAD is of OVN-Kubernetes with %s %v", ovnKeys()[i].name, ovnKeys()[i].value)
}

// poolChanges are changes of NodePools and VMs.
func poolChanges() (out []change) {
	networks := func(name, word string, all ...string) {
		var value []any
		for _, n := range all {
			value = append(value, object{"name": n})
		}
		out = append(out, change{name: name, of: "NAD", words: []string{word}, least: "Waiting", refused: true,
			apply: func(w *world) { set(w.pool(), value, "spec", "platform", "kubevirt", "additionalNetworks") }})
	}
	networks("the NodePool names a network that does not exist", "vlan101", "clusters/vlan101")
	networks("the NodePool names a network without its namespace", "vlan100", "vlan100")
	networks("the NodePool names a network with a slash too many", "clusters/vlan100/x", "clusters/vlan100/x")
	networks("the NodePool names a network in capitals", "VLAN100", "clusters/VLAN100")
	networks("the NodePool names a network with a space", "vlan100", "clusters/ vlan100")
	networks("the NodePool names no network", "spec.platform.kubevirt.additionalNetworks", []string{}...)
	out[len(out)-1].on = "pool status" // A second NodePool may have the network.
	vms := func(name string, words []string, apply func(w *world)) {
		// Not paired with changes of the NAD: VMs on a network prove that VMs can be there.
		out = append(out, change{name: name, of: "NAD", words: words, least: "Warning", apply: apply})
	}
	vms("two VMs have one MAC", []string{"02:aa:00:00:00:01"}, func(w *world) {
		w.addVM("a", "clusters/vlan100", "02:aa:00:00:00:01")
		w.addVM("b", "clusters/vlan100", "02:aa:00:00:00:01")
	})
	vms("two VMs have one MAC, in other letters", []string{"02:aa:00:00:00:01"}, func(w *world) {
		w.addVM("a", "clusters/vlan100", "02:aa:00:00:00:01")
		w.addVM("b", "clusters/vlan100", "02:AA:00:00:00:01")
	})
	vms("a VM boots from a network that no NodePool names", []string{"default/vlan200"}, func(w *world) { w.addVM("a", "default/vlan200", "02:aa:00:00:00:01") })
	return out
}

// addressChanges are changes after which addresses or networks overlap, or are too few.
func addressChanges() (out []change) {
	hosted := func(name, of, word, least string, value any, path ...string) {
		out = append(out, change{name: name, of: of, words: strings.Split(word, "|"), least: least, refused: least == "Error",
			apply: func(w *world) { set(w.hosted(), value, path...) }})
	}
	cidr := func(c string) []any { return []any{object{"cidr": c}} }
	spec := []string{"spec", "networking"}
	network := func(name, word, field, c string) {
		hosted(name, "CIDR", word, "Error", cidr(c), append(spec, field)...)
	}
	network("pods have the addresses of VMs", "192.168.100.0/24", "clusterNetwork", "192.168.0.0/16")
	network("Services have the addresses of VMs", "192.168.100.0/24", "serviceNetwork", "192.168.100.128/25")
	network("the VMs' network is in the default join subnet", "100.66.5.0/24", "machineNetwork", "100.66.5.0/24")
	out[len(out)-1].alone = true // Others hide the release, and then it is a Warning.
	network("the VMs' network has four addresses", "192.168.100.0/30", "machineNetwork", "192.168.100.0/30")
	network("the VMs' network has two addresses", "192.168.100.0/31", "machineNetwork", "192.168.100.0/31")
	network("the VMs' network has one address", "192.168.100.0/32", "machineNetwork", "192.168.100.0/32")
	network("the VMs' network has IPv6 only", "cidr", "machineNetwork", "fd55::/64")
	network("the VMs' network is link-local", "169.254.0.0/24", "machineNetwork", "169.254.0.0/24")
	network("the VMs' network is loopback", "127.0.0.0/24", "machineNetwork", "127.0.0.0/24")
	network("the VMs' network is multicast", "224.0.0.0/24", "machineNetwork", "224.0.0.0/24")
	network("the VMs' network has the nodes of the management cluster", "10.240.0.0/24", "machineNetwork", "10.240.0.0/24")
	ovn := []string{"spec", "operatorConfiguration", "clusterNetworkOperator", "ovnKubernetesConfig"}
	hosted("the join subnet has the VMs' network", "CIDR", "192.168.100.0/24", "Error", "192.168.0.0/16", append(ovn, "v4InternalSubnet")...)
	hosted("the join subnet by its former field has the VMs' network", "CIDR", "192.168.100.0/24", "Error", "192.168.0.0/16", append(ovn, "ipv4", "internalJoinSubnet")...)
	hosted("the transit subnet has the VMs' network", "CIDR", "192.168.100.0/24", "Error", "192.168.0.0/16", append(ovn, "ipv4", "internalTransitSwitchSubnet")...)
	annotated := func(name, of, word, least, key, value string) {
		hosted(name, of, word, least, value, "metadata", "annotations", oooi+key)
	}
	annotated("a record leads to the service VIP", "APIServer", "git.corp.example", "Warning", "dns-records", "git.corp.example=192.168.100.3")
	out[len(out)-1].without = []string{"lb-name", "route"} // There, another name at the service VIP can be one for the API.
	out[len(out)-1].alone = true
	annotated("a record leads to the next-hop VIP", "records", "git.corp.example", "Warning", "dns-records", "git.corp.example=192.168.100.2")
	out[len(out)-1].on = "addresses"
	annotated("*.apps leads to the service VIP", "apps", "apps-address", "Warning", "apps-address", "192.168.100.3")
	out[len(out)-1].on = "addresses"
	out = append(out, change{name: "*.apps leads to the service VIP, and the console has a name of its own", of: "apps", on: "addresses", words: []string{"console.corp.example"}, least: "Warning",
		apply: func(w *world) {
			annotate(w.hosted(), oooi+"apps-address", "192.168.100.3")
			set(w.hosted(), []any{object{"name": "console", "namespace": "openshift-console", "hostname": "console.corp.example"}}, "spec", "configuration", "ingress", "componentRoutes")
		}})
	annotated("the gateway is outside of the network", "addresses", "192.168.101.1", "Error", "gateway", "192.168.101.1")
	annotated("the gateway is the next-hop VIP", "addresses", "192.168.100.2", "Error", "gateway", "192.168.100.2")
	annotated("the pool is outside of the network", "range", "192.168.101.10", "Error", "dhcp-range", "192.168.101.10-192.168.101.20")
	annotated("the pool has edges", "range", "192.168.100.2|192.168.100.3|192.168.100.4", "Error", "dhcp-range", "192.168.100.1-192.168.100.20")
	annotated("edges have one address twice", "addresses", "192.168.100.2", "Error", "edge-addresses", "192.168.100.2,192.168.100.2,192.168.100.4,192.168.100.5")
	annotated("edges have an address of another network", "addresses", "192.168.101.2", "Error", "edge-addresses", "192.168.101.2,192.168.100.3,192.168.100.4,192.168.100.5")
	add := func(name, word string, apply func(w *world)) {
		out = append(out, change{name: name, of: "APIServer", words: []string{word}, least: "Error", refused: true, apply: apply})
	}
	add("the API is published in the VMs' network", "192.168.100.77", lb("APIServer", "", "192.168.100.77"))
	add("the API is published at loopback", "127.0.0.1", nodePort("APIServer", "127.0.0.1", 30777))
	add("the API is published at an address of pods", "10.132.0.9", lb("APIServer", "", "10.132.0.9"))
	for _, inside := range []string{"100.66.1.1", "100.88.0.9", "169.254.0.9", "172.31.0.10", "224.0.0.5", "0.0.0.0"} {
		add("the API is published at "+inside+", where no host is", inside, lb("APIServer", "", inside))
		joins := inside == "100.66.1.1" // Others hide the release, and then it is a Warning.
		out[len(out)-1].alone = joins
		out = append(out, change{name: "konnectivity is published at " + inside + ", where no host is", of: "Konnectivity", alone: joins, words: []string{inside}, least: "Error", refused: true, apply: lb("Konnectivity", "", inside)})
	}
	add("the API is published at the address by which pods reach it", "172.20.0.1", lb("APIServer", "", "172.20.0.1"))
	out[len(out)-1].on = "CIDR"
	second := func(name, of string, apply func(*world)) { // Judged by what DHCP assigns.
		out = append(out, change{name: name, of: of, on: "NAD", apply: func(w *world) {
			w.addNAD("storage", "192.168.30.0/24")
			apply(w)
		}})
	}
	second("VMs have a second network", "storage", func(*world) {})
	for _, of := range []string{"APIServer", "Konnectivity"} {
		second("VMs have a second network, with "+titles[of]+" in its pool", of, lb(of, "", "192.168.30.50"))
	}
	for _, of := range []string{"Ignition", "OAuthServer"} {
		second("VMs have a second network, with "+titles[of]+" in its pool", of, nodePort(of, "192.168.30.50", 30555))
	}
	return out
}

// hostedNetworkChanges are changes of networks inside the hosted cluster that rule its nodes out, whichever network VMs have.
func hostedNetworkChanges() (out []change) {
	cidr := func(c string) []any { return []any{object{"cidr": c}} }
	spec := []string{"spec", "networking"}
	ovn := []string{"spec", "operatorConfiguration", "clusterNetworkOperator", "ovnKubernetesConfig"}
	hosted := func(name, word, least string, value any, path ...string) {
		out = append(out, change{name: name, of: "CIDR", words: []string{word}, least: least, refused: least == "Error", apply: func(w *world) { set(w.hosted(), value, path...) }})
	}
	// HyperShift refuses these (validateSliceNetworkCIDRs), and creates no control plane.
	overlap := func(name, word string, value any, path ...string) {
		hosted(name, word, "Warning", value, path...)
	}
	overlap("pods and Services have one network", "10.132.7.0/24", cidr("10.132.7.0/24"), append(spec, "serviceNetwork")...)
	overlap("pods have the default join subnet, too", "100.66.0.0/16", []any{object{"cidr": "10.132.0.0/14"}, object{"cidr": "100.66.0.0/16"}}, append(spec, "clusterNetwork")...)
	overlap("pods have the addresses of carriers, and so the default join subnet", "100.64.0.0/10", []any{object{"cidr": "10.132.0.0/14"}, object{"cidr": "100.64.0.0/10"}}, append(spec, "clusterNetwork")...)
	overlap("Services have the default join subnet", "100.66.8.0/22", cidr("100.66.8.0/22"), append(spec, "serviceNetwork")...)
	overlap("pods have two networks that overlap", "10.132.0.0/16", []any{object{"cidr": "10.132.0.0/14"}, object{"cidr": "10.132.0.0/16"}}, append(spec, "clusterNetwork")...)
	overlap("a second network of machines has the pods", "10.132.5.0/24", []any{object{"cidr": "192.168.100.0/24"}, object{"cidr": "10.132.5.0/24"}}, append(spec, "machineNetwork")...)
	overlap("two networks of machines overlap", "192.168.100.128/25", []any{object{"cidr": "192.168.100.0/24"}, object{"cidr": "192.168.100.128/25"}}, append(spec, "machineNetwork")...)
	overlap("the transit subnet has the pods", "10.132.0.0/16", "10.132.0.0/16", append(ovn, "ipv4", "internalTransitSwitchSubnet")...)
	overlap("the join subnet has the Services", "172.31.0.0/17", "172.31.0.0/17", append(ovn, "v4InternalSubnet")...)
	overlap("the join subnet is set to the default one", "100.66.0.0/16", "100.66.0.0/16", append(ovn, "v4InternalSubnet")...)
	overlap("both fields have one join subnet", "100.70.0.0/16", object{"v4InternalSubnet": "100.70.0.0/16", "ipv4": object{"internalJoinSubnet": "100.70.0.0/16"}}, ovn...)
	overlap("the join subnets differ", "100.70.0.0/16", "100.70.0.0/16", append(ovn, "ipv4", "internalJoinSubnet")...)
	for _, advertised := range []string{"192.168.100.2", "192.168.100.3", "192.168.100.4"} {
		hosted("nodes reach the API at "+advertised+", which edges have", advertised, "Error", advertised, append(spec, "apiServer", "advertiseAddress")...)
		out[len(out)-1].on = "addresses"
	}
	overlap("nodes reach the API at an address of the pool", "192.168.100.77", "192.168.100.77", append(spec, "apiServer", "advertiseAddress")...)
	return out
}

// releaseChanges are what only some releases do, by ReconcileNetworkOperator in branches release-4.x (resources/network/reconcile.go), and by
// resources/ingress/params.go, which reads the type of the ingress since release-4.21. They are not paired.
func releaseChanges() (out []change) {
	add := func(name, version, least string, words []string, apply func(*world)) {
		out = append(out, change{name: name, of: "CIDR", alone: true, words: words, least: least, refused: least == "Error", apply: func(w *world) {
			released(version)(w)
			apply(w)
		}})
	}
	for _, strategy := range []string{"HostNetwork", "LoadBalancerService", "Private"} {
		add("the ingress is of type "+strategy+", and release 4.20 ignores that", "4.20.8", "Warning", []string{"spec.operatorConfiguration.ingressOperator"}, func(w *world) {
			set(w.hosted(), object{"type": strategy}, "spec", "operatorConfiguration", "ingressOperator", "endpointPublishingStrategy")
		})
		out[len(out)-1].of = "ingress"
	}
	vlan := func(cidr string) func(*world) {
		return func(w *world) { set(w.hosted(), []any{object{"cidr": cidr}}, "spec", "networking", "machineNetwork") }
	}
	ovn := func(value object) func(*world) {
		return func(w *world) {
			set(w.hosted(), value, "spec", "operatorConfiguration", "clusterNetworkOperator", "ovnKubernetesConfig")
		}
	}
	add("the VMs' network is in the join subnet of release 4.18", "4.18.20", "Error", []string{"100.65.5.0/24"}, vlan("100.65.5.0/24"))
	add("the VMs' network may be in the join subnet of release 4.20", "4.20.8", "Warning", []string{"100.65.5.0/24"}, vlan("100.65.5.0/24"))
	add("the API may be in the join subnet of release 4.20", "4.20.8", "Warning", []string{"100.65.0.9"}, lb("APIServer", "", "100.65.0.9"))
	add("release 4.22 ignores where the join subnet is to be", "4.22.3", "Error", []string{"100.66.5.0/24"}, func(w *world) {
		annotate(w.hosted(), oooi+"cidr", "100.66.5.0/24")
		ovn(object{"v4InternalSubnet": "100.70.0.0/16"})(w)
	})
	add("release 4.22 reads one of two equal join subnets", "4.22.3", "Warning", []string{"100.70.0.0/16"}, ovn(object{"v4InternalSubnet": "100.70.0.0/16", "ipv4": object{"internalJoinSubnet": "100.70.0.0/16"}}))
	return out
}

// pendingChanges are states in which HyperShift, or a cloud, is not done yet.
func pendingChanges() (out []change) {
	pending := func(name, of, word string, apply func(w *world)) {
		out = append(out, change{name: name, of: of, words: []string{word}, least: "Waiting", refused: true, apply: apply})
	}
	pending("the API's load balancer has no address yet", "APIServer", "kube-apiserver", func(w *world) {
		lb("APIServer", "")(w)
		delete(w.hosted(), "status")
	})
	pending("konnectivity's load balancer has no address yet", "Konnectivity", "konnectivity", lb("Konnectivity", ""))
	for _, of := range []string{"Konnectivity", "Ignition", "OAuthServer"} {
		pending(titles[of]+" has no node port yet", of, strings.ToLower(titles[of]), func(w *world) {
			nodePort(of, "10.240.0.7", 0)(w)
			set(w.hosted(), "", "status", "ignitionEndpoint")
		})
		pending(titles[of]+"'s Service does not exist yet", of, published[of].service, func(w *world) { w.remove("Service", published[of].service) })
		pending(titles[of]+"'s Route has no host yet", of, published[of].route, func(w *world) {
			route(of, "", "")(w)
			set(w.hosted(), "", "status", "ignitionEndpoint")
		})
	}
	pending("the API's Service does not exist yet", "APIServer", "kube-apiserver", func(w *world) { w.remove("Service", "kube-apiserver") })
	return out
}

// insideChanges are addresses that nodes route into their own cluster, also if they have a gateway, and a network of OVN-Kubernetes that two
// NADs define differently. They are not paired.
func insideChanges() (out []change) {
	for _, inside := range []string{"10.133.0.5", "100.66.0.5", "100.88.0.5"} {
		for _, annotation := range [][2]string{{"apps-address", inside}, {"ntp-servers", inside}, {"dns-records", "git.corp.example=" + inside}} {
			for _, gateway := range []string{"none", "192.168.100.1"} {
				out = append(out, change{name: annotation[0] + " has " + inside + ", and the gateway is " + gateway, of: "addresses", alone: true, words: annotation[1:], least: "Warning", apply: func(w *world) {
					annotate(w.hosted(), oooi+annotation[0], annotation[1])
					if gateway != "none" {
						annotate(w.hosted(), oooi+"gateway", gateway)
					}
				}})
			}
		}
	}
	return append(out, change{name: "an older NAD defines the same network of OVN-Kubernetes with another VLAN", of: "NAD", alone: true, words: []string{"clusters/vlan100"}, least: "Error", refused: true, apply: func(w *world) {
		w.addNAD("storage", "192.168.30.0/24")
		other := w.find("NetworkAttachmentDefinition", "storage")
		define := func(nad object, vlan int) {
			conf := object{"cniVersion": "0.3.1", "name": "physnet", "type": "ovn-k8s-cni-overlay", "topology": "localnet", "vlanID": vlan, "netAttachDefName": "clusters/" + text(nad, "metadata", "name")}
			set(nad, encoded(conf), "spec", "config")
		}
		define(w.nad(), 100)
		define(other, 200)
		set(other, "2020-01-01T00:00:00Z", "metadata", "creationTimestamp")
	}})
}
