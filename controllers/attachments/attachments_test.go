package attachments

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/network"
)

// TestOrderOfAddresses: the first address of an interface is the one that its kind of network needs there. See heldBy.
func TestOrderOfAddresses(t *testing.T) {
	const (
		own  = `{"name":"oooi-clusters-tenant","namespace":"ns","ips":["192.168.100.4/24"],"interface":"net1"}`
		all  = `{"name":"oooi-clusters-tenant","namespace":"ns","ips":["192.168.100.2/32","192.168.100.4/24","192.168.100.3/32","10.240.0.200/32"],"interface":"net1"}`
		vips = `{"name":"oooi-vips.clusters-tenant","namespace":"ns","ips":["192.168.100.2/32","192.168.100.3/32","10.240.0.200/32"],"interface":"vips"}`
		link = `{"name":"tenant","namespace":"clusters","interface":"link1"}`
	)
	for name, c := range map[string]struct{ config, one, two string }{
		"bridge":   {`{"type":"bridge","bridge":"br1"}`, all, all},
		"macvlan":  {`{"type":"macvlan","master":"eth1"}`, all, own + "," + vips},
		"sriov":    {`{"type":"sriov"}`, all, own + "," + vips},
		"layer2":   {ovn("layer2"), link + "," + all, link + "," + own + "," + vips},
		"localnet": {ovn("localnet"), ownFirst, ownFirst},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			a, fault := nad.Attach(nad.Object{Namespace: "clusters", Name: "tenant", ResourceName: "x/y", Config: c.config}, nad.Nodes{})
			g.Expect(fault).To(BeNil())
			n := network.Network{
				Name: a.NetworkName(), Attachment: a, CIDR: netip.MustParsePrefix("192.168.100.0/24"),
				NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr("192.168.100.3"),
				PublishedAddresses: []netip.Addr{netip.MustParseAddr("10.240.0.200")},
				Edges:              []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}},
			}
			g.Expect(OfEdge(n, n.Edges[0], "ns")).To(Equal("[" + c.one + "]"))
			n.Edges = append(n.Edges, network.Edge{Number: 2, Address: netip.MustParseAddr("192.168.100.5")})
			g.Expect(OfEdge(n, n.Edges[0], "ns")).To(Equal("[" + c.two + "]"))
		})
	}
}

// ownFirst: OVN gives each edge a MAC of its own, and announces no VIP.
const ownFirst = `{"name":"tenant","namespace":"clusters","ips":["192.168.100.4/24","192.168.100.2/32","192.168.100.3/32","10.240.0.200/32"],"interface":"net1"}`

func ovn(topology string) string {
	return `{"name":"tenant","type":"ovn-k8s-cni-overlay","topology":"` + topology + `","netAttachDefName":"clusters/tenant"}`
}
