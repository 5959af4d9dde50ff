package resources

import (
	"net/netip"
	"slices"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
)

func TestAnEndpointThatTakesAnyConnectionIsNotLookedInto(t *testing.T) {
	g := NewWithT(t)
	l := New(blue(), Options{}, nil).Listeners["192.168.100.3:6443"]
	g.Expect(l).NotTo(BeNil())
	g.Expect(l.ListenerFilters).To(BeEmpty())
	g.Expect(l.FilterChains).To(BeEmpty())
	g.Expect(ClusterOf(l.DefaultFilterChain)).To(Equal(api.Name))
	g.Expect(l.Address.GetSocketAddress().Address).To(Equal("192.168.100.3"))
	g.Expect(l.Address.GetSocketAddress().GetPortValue()).To(Equal(uint32(6443)))
}

func TestServerNamesGoToTheirOwn(t *testing.T) {
	g := NewWithT(t)
	n := blue()
	l := New(n, Options{}, nil).Listeners["192.168.100.3:443"]
	got := map[string]string{}
	for _, c := range l.FilterChains {
		name := c.FilterChainMatch.ServerNames[0]
		g.Expect(c.FilterChainMatch.ServerNames).To(HaveExactElements(name, name+"."))
		got[name] = ClusterOf(c)
	}
	g.Expect(got).To(Equal(map[string]string{
		"oauth.blue.example.com": oauth.Name, "*.apps.blue.example.com": ingress.Name, "console.blue.example.com": ingress.Name,
	}))
	g.Expect(l.ListenerFilters).To(HaveLen(1))
	g.Expect(l.ContinueOnListenerFiltersTimeout).To(BeFalse(), "a hello that does not come is no reason to guess")
	g.Expect(l.DefaultFilterChain).To(BeNil(), "everything else is closed")

	n.Listeners[0].Default = api.Name
	l = New(n, Options{}, nil).Listeners["192.168.100.3:443"]
	g.Expect(ClusterOf(l.DefaultFilterChain)).To(Equal(api.Name))
}

func TestSocketsAreBoundToTheirDevices(t *testing.T) {
	g := NewWithT(t)
	r := New(blue(), Options{Device: "net1", UpstreamDevice: "eth0"}, nil)
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

// TestEndpoints: Envoy gets different resources for unknown endpoints, for none, and for some.
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
		{"known, and no pod is ready", api, []netip.AddrPort{}, nil},
		{"pods, at their own port", api, []netip.AddrPort{pod, other, pod}, []netip.AddrPort{other, pod}},
		{"headless and not known", network.Backend{Name: "x:1", Port: 1}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			n := network.Network{Backends: []network.Backend{c.backend}}
			r := New(n, Options{}, map[string][]netip.AddrPort{c.backend.Name: c.pods})
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

// TestAChangeTouchesNothingElse: a change does not alter other resources, so Envoy keeps their connections.
func TestAChangeTouchesNothingElse(t *testing.T) {
	g := NewWithT(t)
	before := New(blue(), Options{Device: "net1"}, nil)

	moved := New(blue(), Options{Device: "net1"}, map[string][]netip.AddrPort{api.Name: {netip.MustParseAddrPort("10.128.0.7:7443")}})
	g.Expect(same(moved.Listeners, before.Listeners)).To(BeTrue(), "a pod moves: no listener changes")
	g.Expect(same(moved.Clusters, before.Clusters)).To(BeTrue(), "a pod moves: no cluster changes")
	g.Expect(same(moved.Endpoints, before.Endpoints)).To(BeFalse())

	n := blue()
	n.Listeners[0].Forwards[1].ServerNames = append(n.Listeners[0].Forwards[1].ServerNames, "added.blue.example.com")
	n.Listeners[0].Default = api.Name
	after := New(n, Options{Device: "net1"}, nil).Listeners["192.168.100.3:443"]
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
