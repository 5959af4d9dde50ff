package trial

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/netns"
)

// An island is a host that acts as a VM at 192.168.100.20, a router with 192.168.100.1 and 192.168.100.2, and 10.128.0.1 behind it.
type island struct{ machine, router, host *netns.Namespace }

func newIsland(t *testing.T) island {
	t.Helper()
	netns.Require(t)
	i := island{netns.New(t), netns.New(t), netns.New(t)}
	vlan, pods := netns.NewSegment(t), netns.NewSegment(t)
	vlan.Attach(t, i.machine, "eth0", "", "192.168.100.20/24")
	vlan.Attach(t, i.router, "net1", "", "192.168.100.2/24", "192.168.100.1/24")
	pods.Attach(t, i.router, "eth0", "", "10.128.0.2/24")
	pods.Attach(t, i.host, "eth0", "", "10.128.0.1/24")
	i.host.Route(t, "192.168.100.0/24", "10.128.0.2")
	i.forwards(t, "0")
	return i
}

func (i island) forwards(t *testing.T, value string) {
	t.Helper()
	for _, device := range []string{"net1", "eth0"} {
		i.router.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", value)
	}
}

// tried is the result of the machine for 10.128.0.1:443, on a network whose VMs have this router.
func (i island) tried(t *testing.T, router string, published ...netip.Addr) (out network.TrialResult) {
	t.Helper()
	n := network.Network{CIDR: netip.MustParsePrefix("192.168.100.0/24"), NextHopVIP: netip.MustParseAddr("192.168.100.2"), PublishedAddresses: published}
	n.DHCP.Router = netip.MustParseAddr(router)
	n.DHCP.Routes = []network.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: n.DHCP.Router}}
	var err error
	i.machine.Do(t, func() {
		var w tool
		if w, err = newTool(Options{Device: "eth0"}); err == nil {
			out = w.isolated(t.Context(), netip.MustParseAddrPort("10.128.0.1:443"), n)
			w.close()
		}
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(out.Name).To(Equal("no way to 10.128.0.1:443"))
	return out
}

// TestIsolated: only what a VM would send, and a router took, shows that a network is isolated.
func TestIsolated(t *testing.T) {
	const hop, gateway = "192.168.100.2", "192.168.100.1"
	g, i := NewWithT(t), newIsland(t)
	expect := func(router string, causes ...problem.Cause) {
		t.Helper()
		g.Expect(causesOf(i.tried(t, router))).To(Equal(causes))
	}
	expect(hop, problem.PathElsewhere)

	i.machine.Route(t, "10.128.0.0/24", hop)
	expect(hop)
	expect(gateway, problem.PathDiffers)

	i.forwards(t, "1")
	expect(hop, problem.HostRefuses)
	g.Expect(i.tried(t, hop, netip.MustParseAddr("10.128.0.1")).Problems).To(BeEmpty(), "an edge has the address, and refuses it itself")
	i.host.Serve(t, "10.128.0.1:443", func(net.Conn) {})
	expect(hop, problem.HostReached)

	i.machine.Route(t, "10.128.0.1/32", "192.168.100.9")
	expect("192.168.100.9", problem.RouterUnanswered)
}

// causesOf are those of the problems of a result.
func causesOf(r network.TrialResult) (out []problem.Cause) {
	for _, p := range r.Problems {
		out = append(out, p.Cause)
	}
	return out
}

// TestFailoverTellsTheHost: at once which host connections go to, and that none went to another one.
func TestFailoverTellsTheHost(t *testing.T) {
	g, i := NewWithT(t), newIsland(t)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	i.router.Do(t, func() { server.Listener, _ = net.Listen("tcp4", "192.168.100.2:6443") })
	server.StartTLS()
	t.Cleanup(server.Close)
	api := network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 6443}
	n := network.Network{
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), Backends: []network.Backend{api},
		Listeners: []network.Listener{{Address: netip.MustParseAddr("192.168.100.2"), Port: 6443, Default: api.Name}},
	}
	var starts []network.TrialStart
	var results []network.TrialResult
	var err error
	i.machine.Do(t, func() {
		results, err = Failover(t.Context(), Options{Device: "eth0", Network: n}, 2*time.Second, func(s network.TrialStart) { starts = append(starts, s) })
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(starts).To(Equal([]network.TrialStart{{Uses: i.router.MAC(t, "net1")}}))
	g.Expect(results).To(HaveLen(1))
	g.Expect(causesOf(results[0])).To(Equal([]problem.Cause{problem.FailoverUnseen}))
}
