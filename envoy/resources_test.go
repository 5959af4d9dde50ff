package envoy

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
)

var (
	service = netip.MustParseAddr("192.168.100.3")
	api     = network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443, PortName: "client", ClusterIP: netip.MustParseAddr("10.96.0.1")}
	oauth   = network.Backend{Name: "oauth:6443", Service: "oauth", Port: 6443, ClusterIP: netip.MustParseAddr("10.96.0.2")}
	ingress = network.Backend{Name: "ingress:443", Service: "ingress", Port: 443, ClusterIP: netip.MustParseAddr("10.96.0.3")}
)

// blue is a network with the API on a port of its own, and names on 443.
func blue() network.Network {
	return network.Network{
		Name: "clusters.vlan100",
		CIDR: netip.MustParsePrefix("192.168.100.0/24"),
		Listeners: []network.Listener{
			{Address: service, Port: 443, Forwards: []network.Forward{
				{ServerNames: []string{"OAuth.blue.example.com"}, Backend: oauth.Name},
				{ServerNames: []string{"*.apps.blue.example.com", "console.blue.example.com"}, Backend: ingress.Name},
			}},
			{Address: service, Port: 6443, Default: api.Name},
		},
		Backends: []network.Backend{ingress, api, oauth},
	}
}

func TestAnEndpointThatTakesAnyConnectionIsNotLookedInto(t *testing.T) {
	g := NewWithT(t)
	l := NewResources(blue(), Options{}, nil).Listeners["192.168.100.3:6443"]
	g.Expect(l).NotTo(BeNil())
	g.Expect(l.ListenerFilters).To(BeEmpty())
	g.Expect(l.FilterChains).To(BeEmpty())
	g.Expect(clusterOf(l.DefaultFilterChain)).To(Equal(api.Name))
	g.Expect(l.Address.GetSocketAddress().Address).To(Equal("192.168.100.3"))
	g.Expect(l.Address.GetSocketAddress().GetPortValue()).To(Equal(uint32(6443)))
}

func TestServerNamesGoToTheirOwn(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	l := NewResources(n, Options{}, nil).Listeners["192.168.100.3:443"]
	got := map[string]string{}
	for _, c := range l.FilterChains {
		name := c.FilterChainMatch.ServerNames[0]
		g.Expect(c.FilterChainMatch.ServerNames).To(HaveExactElements(name, name+"."))
		got[name] = clusterOf(c)
	}
	g.Expect(got).To(Equal(map[string]string{
		"oauth.blue.example.com": oauth.Name, "*.apps.blue.example.com": ingress.Name, "console.blue.example.com": ingress.Name,
	}))
	g.Expect(l.ListenerFilters).To(HaveLen(1))
	g.Expect(l.ContinueOnListenerFiltersTimeout).To(BeFalse(), "a hello that does not come is no reason to guess")
	g.Expect(l.DefaultFilterChain).To(BeNil(), "everything else is closed")

	n.Listeners[0].Default = api.Name
	l = NewResources(n, Options{}, nil).Listeners["192.168.100.3:443"]
	g.Expect(clusterOf(l.DefaultFilterChain)).To(Equal(api.Name))
}

func TestSocketsAreBoundToTheirDevices(t *testing.T) {
	g := NewWithT(t)
	r := NewResources(blue(), Options{Device: "net1", UpstreamDevice: "eth0"}, nil)
	for _, l := range r.Listeners {
		g.Expect(l.SocketOptions[0].GetLevel()).To(Equal(int64(1)), "SOL_SOCKET")
		g.Expect(l.SocketOptions[0].GetName()).To(Equal(int64(25)), "SO_BINDTODEVICE")
		g.Expect(string(l.SocketOptions[0].GetBufValue())).To(Equal("net1\x00"))
	}
	for _, c := range r.Clusters {
		g.Expect(c.UpstreamBindConfig.SocketOptions[0].GetName()).To(Equal(int64(25)))
		g.Expect(string(c.UpstreamBindConfig.SocketOptions[0].GetBufValue())).To(Equal("eth0\x00"))
	}
}

// TestEndpoints: unknown, empty and present endpoints give three different answers.
func TestEndpoints(t *testing.T) {
	pod := netip.MustParseAddrPort("10.128.0.7:7443")
	other := netip.MustParseAddrPort("10.128.0.6:7443")
	for _, c := range []struct {
		name    string
		backend network.Backend
		pods    []netip.AddrPort
		want    []netip.AddrPort
	}{
		{"not known: the Service's address and port", api, nil, []netip.AddrPort{netip.MustParseAddrPort("10.96.0.1:6443")}},
		{"known, and nobody is ready", api, []netip.AddrPort{}, nil},
		{"pods, at their own port", api, []netip.AddrPort{pod, other, pod}, []netip.AddrPort{other, pod}},
		{"headless and not known", network.Backend{Name: "x:1", Port: 1}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			n := network.Network{Backends: []network.Backend{c.backend}}
			r := NewResources(n, Options{}, map[string][]netip.AddrPort{c.backend.Name: c.pods})
			var got []netip.AddrPort
			for _, l := range r.Endpoints[c.backend.Name].Endpoints {
				for _, e := range l.LbEndpoints {
					s := e.GetEndpoint().GetAddress().GetSocketAddress()
					got = append(got, netip.AddrPortFrom(netip.MustParseAddr(s.Address), uint16(s.GetPortValue())))
				}
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}

// TestAChangeTouchesNothingElse: what Envoy sees as equal keeps its connections.
func TestAChangeTouchesNothingElse(t *testing.T) {
	g := NewWithT(t)
	before := NewResources(blue(), Options{Device: "net1"}, nil)

	moved := NewResources(blue(), Options{Device: "net1"}, map[string][]netip.AddrPort{api.Name: {netip.MustParseAddrPort("10.128.0.7:7443")}})
	g.Expect(same(moved.Listeners, before.Listeners)).To(BeTrue(), "a pod moves: no listener changes")
	g.Expect(same(moved.Clusters, before.Clusters)).To(BeTrue(), "a pod moves: no cluster changes")
	g.Expect(same(moved.Endpoints, before.Endpoints)).To(BeFalse())

	n := blue()
	n.Listeners[0].Forwards[1].ServerNames = append(n.Listeners[0].Forwards[1].ServerNames, "added.blue.example.com")
	n.Listeners[0].Default = api.Name
	after := NewResources(n, Options{Device: "net1"}, nil).Listeners["192.168.100.3:443"]
	old := before.Listeners["192.168.100.3:443"]
	g.Expect(after.FilterChains).To(HaveLen(len(old.FilterChains) + 1))
	for _, c := range old.FilterChains {
		g.Expect(slices.ContainsFunc(after.FilterChains, func(d *listenerv3.FilterChain) bool { return proto.Equal(c, d) })).To(BeTrue(), c.Name)
	}
	// What is left without chains decides whether Envoy keeps the listener.
	bare := func(l *listenerv3.Listener) *listenerv3.Listener {
		l = proto.Clone(l).(*listenerv3.Listener)
		l.FilterChains, l.DefaultFilterChain = nil, nil
		return l
	}
	g.Expect(proto.Equal(bare(after), bare(old))).To(BeTrue())
}

// TestOrderMeansNothing: the same plan in another order is the same for Envoy.
func TestOrderMeansNothing(t *testing.T) {
	g := NewWithT(t)
	a, b := blue(), blue()
	slices.Reverse(b.Backends)
	slices.Reverse(b.Listeners)
	slices.Reverse(b.Listeners[1].Forwards)
	va, vb := newTarget(NewResources(a, Options{}, nil)), newTarget(NewResources(b, Options{}, nil))
	for _, typeURL := range served() {
		g.Expect(va.names(typeURL)).To(Equal(vb.names(typeURL)))
		for _, name := range va.names(typeURL) {
			g.Expect(va.version(typeURL, name)).To(Equal(vb.version(typeURL, name)), name)
		}
	}
}

// TestVersionsAreOfWhatIsThere: a type's versions change with its content, and
// with nothing else.
func TestVersionsAreOfWhatIsThere(t *testing.T) {
	g := NewWithT(t)
	a := newTarget(NewResources(blue(), Options{}, nil))
	b := newTarget(NewResources(blue(), Options{}, map[string][]netip.AddrPort{api.Name: {}}))
	changed := map[string]bool{}
	for _, typeURL := range served() {
		changed[plural(typeURL)] = false
		for _, name := range a.names(typeURL) {
			changed[plural(typeURL)] = changed[plural(typeURL)] || a.version(typeURL, name) != b.version(typeURL, name)
		}
	}
	g.Expect(changed).To(Equal(map[string]bool{"clusters": false, "endpoints": true, "listeners": false, "runtime values": false}))
}

func anyNetwork(r *rand.Rand) network.Network {
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
		l := network.Listener{Address: service, Port: 443 + port, Default: pick()}
		for i := range r.IntN(3) {
			l.Forwards = append(l.Forwards, network.Forward{ServerNames: []string{fmt.Sprintf("name-%d", i)}, Backend: pick()})
		}
		if r.IntN(3) > 0 {
			n.Listeners = append(n.Listeners, l)
		}
	}
	return n
}

func anyEndpoints(r *rand.Rand) map[string][]netip.AddrPort {
	out := map[string][]netip.AddrPort{}
	for i := range 5 {
		if r.IntN(2) == 0 {
			out[fmt.Sprintf("backend-%d:443", i)] = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(r.IntN(3))}), 443)}
		}
	}
	return out
}
