package fakes

import (
	"net/netip"
	"os"
	"testing"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// BlueService is the service VIP of Blue.
const BlueService = "192.168.100.3"

// Blue is a network with two edges that serves DHCP and DNS.
func Blue() network.Network {
	return network.Network{
		Name: "clusters.vlan100", Primary: true,
		Services:   []network.Service{network.ServiceDHCP, network.ServiceDNS},
		CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
		NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr(BlueService),
		Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}, {Number: 2, Address: netip.MustParseAddr("192.168.100.5")}},
		DHCP: network.DHCP{
			Range:    network.Range{First: netip.MustParseAddr("192.168.100.10"), Last: netip.MustParseAddr("192.168.100.253")},
			ServerID: netip.MustParseAddr(BlueService),
		},
	}
}

// Proxied is n with the API server of the pod at 10.128.0.1 on these ports, and one
// edge.
func Proxied(n network.Network, ports ...uint16) network.Network {
	api := network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443, ClusterIP: netip.MustParseAddr("10.128.0.1")}
	n.Services, n.Edges, n.Backends, n.DHCP = []network.Service{network.ServiceProxy}, n.Edges[:1], []network.Backend{api}, network.DHCP{}
	for _, port := range ports {
		n.Listeners = append(n.Listeners, network.Listener{Address: netip.MustParseAddr(BlueService), Port: port, Default: api.Name})
	}
	return n
}

// Planned writes a plan of one network.
func Planned(t *testing.T, file string, n network.Network) {
	t.Helper()
	p := network.Plan{Cluster: network.Cluster{Namespace: "clusters", Name: "blue"}, Networks: []network.Network{n}}
	if err := os.WriteFile(file, p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// NewEdge is an edge between its network and the pod network.
func NewEdge(t *testing.T) *netns.Namespace {
	t.Helper()
	n := netns.New(t)
	netns.NewSegment(t).Attach(t, n, "net1", "", "192.168.100.4/24", BlueService+"/32")
	netns.NewSegment(t).Attach(t, n, "eth0", "", "10.128.0.2/24")
	n.Route(t, "0.0.0.0/0", "10.128.0.1")
	for _, device := range []string{"net1", "eth0"} {
		n.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	return n
}
