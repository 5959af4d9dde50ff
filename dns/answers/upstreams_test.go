package answers_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/dns/answers"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/resolvconf"
	"github.com/cldmnky/oooi/test/dnsnames"
)

// TestServers: the upstream mode selects the name servers, which never include the edge
// itself.
func TestServers(t *testing.T) {
	g := NewWithT(t)
	pod := resolvconf.File{Servers: []netip.AddrPort{netip.MustParseAddrPort("192.168.100.3:53"), netip.MustParseAddrPort("172.30.0.10:53")}}
	n := dnsnames.Blue(network.UpstreamServers)
	n.DNS.Upstreams.Servers = []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("192.168.100.2:53")}
	g.Expect(answers.Servers(n, pod)).To(Equal([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53")}))
	g.Expect(answers.Servers(dnsnames.Blue(network.UpstreamManagement), pod)).To(Equal(pod.Servers[1:]))
	g.Expect(answers.Servers(dnsnames.Blue(network.UpstreamNone), pod)).To(BeEmpty())
	g.Expect(pod.Servers).To(HaveLen(2))
}

// TestServersThatEdgesMustNotDial: servers that edges must not dial are left out, even if the plan contains them, because the management
// cluster may have new networks since.
func TestServersThatEdgesMustNotDial(t *testing.T) {
	g := NewWithT(t)
	n := dnsnames.Blue(network.UpstreamServers)
	for _, s := range []string{"10.96.0.10:53", "169.254.169.254:80", "169.254.169.254:53", "127.0.0.1:53", "10.240.0.1:10250", "10.240.0.1:53",
		"192.0.2.53:80", "192.0.2.53:53", "192.0.2.53:853", "10.96.0.77:53"} {
		n.DNS.Upstreams.Servers = append(n.DNS.Upstreams.Servers, netip.MustParseAddrPort(s))
	}
	n.ReservedDestinations = dnsnames.Prefixes("10.96.0.0/12", "10.240.0.1/32")
	n.PermittedDestinations = dnsnames.Prefixes("10.96.0.77/32")
	g.Expect(answers.Servers(n, resolvconf.File{})).To(Equal([]netip.AddrPort{
		netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("192.0.2.53:853"), netip.MustParseAddrPort("10.96.0.77:53")}))
}

func TestInternalIsForTheManagementClusterOnly(t *testing.T) {
	g := NewWithT(t)
	servers := dnsnames.Blue(network.UpstreamServers)
	servers.ReservedDestinations = dnsnames.Prefixes("10.128.0.0/14", "172.30.0.10/32", "192.168.7.0/24")
	g.Expect(answers.Internal(servers, resolvconf.File{Search: []string{"svc.prod.internal"}})).To(ConsistOf("cluster.local", "svc", "prod.internal",
		"128.10.in-addr.arpa", "129.10.in-addr.arpa", "130.10.in-addr.arpa", "131.10.in-addr.arpa", "10.0.30.172.in-addr.arpa", "7.168.192.in-addr.arpa"),
		"servers of the user are not asked for names of the management cluster")
	g.Expect(answers.Internal(dnsnames.Blue(network.UpstreamNone), resolvconf.File{})).To(BeEmpty())
	g.Expect(answers.Internal(dnsnames.Blue(network.UpstreamManagement), resolvconf.File{})).To(ContainElements("cluster.local", "svc", "10.in-addr.arpa", "16.172.in-addr.arpa", "31.172.in-addr.arpa"))
}
