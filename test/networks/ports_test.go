// This file is what OVN-Kubernetes writes into OVN's databases. It is not to be had here, so this table stands in for it.
// A change there is a change here, and nowhere else, except for what needs OVN's own answers: bindRemote in ovn_test.go.
// Sources are those of commit 8871cd9c, below go-controller/pkg.

package networks

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// A topology is what a NetworkAttachmentDefinition of OVN-Kubernetes says.
type topology string

const (
	localnet topology = "localnet"
	layer2   topology = "layer2"
)

// A logicalPort is what OVN-Kubernetes knows about an interface of a pod or VM.
type logicalPort struct {
	name string
	// key identifies the port in all zones (tunnelid/tunnelid.go).
	key int
	// node that the pod runs on.
	node string
	mac  string
	// ips are those that the pod's annotation requests. A network without subnets assigns none, and compares them with
	// no other pod's (allocator/pod/pod_annotation.go:435, 469, 482).
	ips []netip.Prefix
}

// macOf is the MAC of a port: that which the annotation requests, else 0a:58 and the first address, else a random one
// (allocator/pod/pod_annotation.go:534, util/net.go IPAddrToHWAddr). Random here is the key.
func macOf(requested string, ips []netip.Prefix, key int) string {
	switch {
	case requested != "":
		return requested
	case len(ips) > 0:
		a := ips[0].Addr().As4()
		return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3])
	}
	return fmt.Sprintf("0a:58:7a:00:00:%02x", key)
}

// written is what the OVN of a node has about a network and its ports, as commands of ovn-nbctl for the network and for p.
// Nil: this node's OVN does not have p.
func (n topology) written(node string, p logicalPort) []string {
	// Only a port of its own, or any where the network has no physical segment
	// (base_network_controller_user_defined.go:334).
	local := p.node == node
	if !local && n == localnet {
		return nil
	}
	// All addresses are one value, and so is port security. There is no "unknown", which would leave ARP requests to the
	// pod (base_network_controller_pods.go:595-620). Without addresses it is the MAC alone (:654).
	values := []string{p.mac}
	for _, a := range p.ips {
		values = append(values, a.Addr().String())
	}
	addresses := strconv.Quote(strings.Join(values, " "))
	out := []string{"lsp-add", string(n), p.name, "--", "set", "logical_switch_port", p.name,
		"addresses=" + addresses, "port_security=" + addresses, "options:requested-tnl-key=" + strconv.Itoa(p.key)}
	if !local {
		// Another node's port is a remote one (zone_interconnect/zone_ic_handler.go:411-427).
		out = append(out, "type=remote", "options:requested-chassis="+p.node)
	}
	return out
}

// switchOf is the network itself, on each node.
func (n topology) switchOf() []string {
	add := []string{"ls-add", string(n)}
	if n == localnet {
		// The physical segment (localnet_user_defined_network_controller.go:257-266).
		return append(add, "--", "lsp-add", string(n), "physical", "--", "set", "logical_switch_port", "physical",
			"type=localnet", "addresses=unknown", "options:network_name="+physicalNetwork, "tag_request=100", "tag=100")
	}
	// One transit switch of all zones (zone_interconnect/zone_ic_handler.go, addTransitSwitchConfig). Its multicast
	// snooping is left out: broadcasts of ARP and DHCP pass without it.
	return append(add, "--", "set", "logical_switch", string(n), "other_config:interconn-ts="+string(n), "other_config:requested-tnl-key=100")
}
