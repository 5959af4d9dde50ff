package dns

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
)

var comparable = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

func TestParseResolver(t *testing.T) {
	got := ParseResolver(`# made by kubelet
search clusters-blue.svc.cluster.local svc.cluster.local Cluster.Local. corp.example
nameserver 172.30.0.10
nameserver fd02::a
nameserver nonsense
nameserver
options ndots:5
`)
	want := Resolver{
		Servers: []netip.AddrPort{netip.MustParseAddrPort("172.30.0.10:53"), netip.MustParseAddrPort("[fd02::a]:53")},
		Search:  []string{"clusters-blue.svc.cluster.local", "svc.cluster.local", "cluster.local", "corp.example"},
	}
	if d := cmp.Diff(want, got, comparable); d != "" {
		t.Error(d)
	}
}

// TestServers: the upstream mode selects the name servers, which never include the edge
// itself.
func TestServers(t *testing.T) {
	g := NewWithT(t)
	pod := Resolver{Servers: []netip.AddrPort{netip.MustParseAddrPort("192.168.100.3:53"), netip.MustParseAddrPort("172.30.0.10:53")}}
	n := blue(network.UpstreamServers)
	n.DNS.Upstreams.Servers = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("192.168.100.2:53")}
	g.Expect(Servers(n, pod)).To(Equal([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}))
	g.Expect(Servers(blue(network.UpstreamManagement), pod)).To(Equal(pod.Servers[1:]))
	g.Expect(Servers(blue(network.UpstreamNone), pod)).To(BeEmpty())
	g.Expect(pod.Servers).To(HaveLen(2))
}

// TestServersThatEdgesMustNotDial are left out, even if the plan names them: an earlier version
// derived it, or the management cluster has grown since.
func TestServersThatEdgesMustNotDial(t *testing.T) {
	g := NewWithT(t)
	n := blue(network.UpstreamServers)
	for _, s := range []string{"10.96.0.10:53", "169.254.169.254:80", "169.254.169.254:53", "127.0.0.1:53", "10.240.0.1:10250", "10.240.0.1:53",
		"192.0.2.53:80", "192.0.2.53:53", "192.0.2.53:853", "10.96.0.77:53"} {
		n.DNS.Upstreams.Servers = append(n.DNS.Upstreams.Servers, netip.MustParseAddrPort(s))
	}
	n.ReservedDestinations = prefixes("10.96.0.0/12", "10.240.0.1/32")
	n.PermittedDestinations = prefixes("10.96.0.77/32")
	g.Expect(Servers(n, Resolver{})).To(Equal([]netip.AddrPort{
		netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("192.0.2.53:853"), netip.MustParseAddrPort("10.96.0.77:53")}))
}

func TestInternalIsForTheManagementClusterOnly(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Internal(blue(network.UpstreamServers), Resolver{})).To(BeEmpty())
	g.Expect(Internal(blue(network.UpstreamNone), Resolver{})).To(BeEmpty())
	g.Expect(Internal(blue(network.UpstreamManagement), Resolver{})).To(ContainElements("cluster.local", "svc", "10.in-addr.arpa", "16.172.in-addr.arpa", "31.172.in-addr.arpa"))
}
