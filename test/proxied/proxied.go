// Package proxied has the network that tests of Envoy serve, and random ones.
package proxied

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/cldmnky/oooi/network"
)

// The address of the VIP, and the backends of Blue.
var (
	Service = netip.MustParseAddr("192.168.100.3")
	API     = network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443, PortName: "client", ClusterIP: netip.MustParseAddr("10.96.0.1")}
	OAuth   = network.Backend{Name: "oauth:6443", Service: "oauth", Port: 6443, ClusterIP: netip.MustParseAddr("10.96.0.2")}
	Ingress = network.Backend{Name: "ingress:443", Service: "ingress", Port: 443, ClusterIP: netip.MustParseAddr("10.96.0.3")}
)

// Blue is a network with the API on a port of its own, and names on 443.
func Blue() network.Network {
	return network.Network{
		Name: "clusters.vlan100",
		CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		Listeners: []network.Listener{
			{Address: Service, Port: 443, Forwards: []network.Forward{
				{ServerNames: []string{"OAuth.blue.example.com"}, Backend: OAuth.Name},
				{ServerNames: []string{"*.apps.blue.example.com", "console.blue.example.com"}, Backend: Ingress.Name},
			}},
			{Address: Service, Port: 6443, Default: API.Name},
		},
		Backends: []network.Backend{Ingress, API, OAuth},
	}
}

// Pods are where the backends of Blue are.
func Pods() map[string][]netip.AddrPort {
	return map[string][]netip.AddrPort{
		API.Name:     {netip.MustParseAddrPort("10.128.0.11:7443")},
		OAuth.Name:   {netip.MustParseAddrPort("10.128.0.12:7443")},
		Ingress.Name: {netip.MustParseAddrPort("10.128.0.13:7443")},
	}
}

// AnyNetwork returns a random network of few backends, ports and names.
func AnyNetwork(r *rand.Rand) network.Network {
	n := network.Network{}
	for i := range 5 {
		if r.IntN(2) == 0 {
			name := fmt.Sprintf("backend-%d:443", i)
			n.Backends = append(n.Backends, network.Backend{Name: name, Port: 443, ClusterIP: netip.AddrFrom4([4]byte{10, 0, 0, byte(r.IntN(3))})})
		}
	}
	if len(n.Backends) == 0 {
		return n
	}
	pick := func() string { return n.Backends[r.IntN(len(n.Backends))].Name }
	for port := range uint16(3) {
		l := network.Listener{Address: Service, Port: 443 + port, Default: pick()}
		for i := range r.IntN(3) {
			l.Forwards = append(l.Forwards, network.Forward{ServerNames: []string{fmt.Sprintf("name-%d", i)}, Backend: pick()})
		}
		if r.IntN(3) > 0 {
			n.Listeners = append(n.Listeners, l)
		}
	}
	return n
}

// AnyEndpoints returns random endpoints for backends of AnyNetwork.
func AnyEndpoints(r *rand.Rand) map[string][]netip.AddrPort {
	out := map[string][]netip.AddrPort{}
	for i := range 5 {
		if r.IntN(2) == 0 {
			out[fmt.Sprintf("backend-%d:443", i)] = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(r.IntN(3))}), 443)}
		}
	}
	return out
}
