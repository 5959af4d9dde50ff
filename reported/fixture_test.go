package reported_test

import (
	"net/netip"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// vlan100 is a network that VMs boot from, with one edge.
func vlan100() network.Network {
	at := netip.MustParseAddr
	return derive.Derive(network.Request{Edges: 1, Networks: []network.NetworkRequest{{
		Attachment: network.Attachment{Namespace: "clusters", Name: "vlan100", Layer2: "bridge br1 100"}, Primary: true, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		Settings: network.Settings{DHCPRange: network.Range{First: at("192.168.100.10"), Last: at("192.168.100.99")}}}}}, network.Facts{}, network.Plan{}, nil).Draft().Networks[0]
}

// message is what a person reads of p.
func message(p problem.Problem) string { return explain.Problem(p).String() }
