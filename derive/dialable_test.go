package derive_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

func prefixesOf(all ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range all {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// asksOf is a network with a gateway whose user set these upstream servers.
func asksOf(servers ...string) given {
	s := network.NetworkRequest{Attachment: network.Attachment{Namespace: "a", Name: "b"}, Primary: true,
		CIDR: netip.MustParsePrefix("192.168.100.0/24"), Gateway: netip.MustParseAddr("192.168.100.1"),
		Settings: network.Settings{Upstreams: &network.Upstreams{Mode: network.UpstreamServers}}}
	for _, at := range servers {
		s.Settings.Upstreams.Servers = append(s.Settings.Upstreams.Servers, netip.MustParseAddrPort(at))
	}
	return asking(1, s)
}

// TestRefusedUpstreams: a user who may annotate a HostedCluster cannot use the management cluster's DNS server, its nodes or the cloud's
// metadata service as an upstream. Everything else is served.
func TestRefusedUpstreams(t *testing.T) {
	reserved := []network.ReservedDestination{
		{What: "node a", Prefix: netip.MustParsePrefix("10.240.0.1/32"), Node: true},
		{What: "the management cluster's Services", Prefix: netip.MustParsePrefix("10.96.0.0/12")},
	}
	for server, c := range map[string]struct {
		cause problem.Cause
		words string
	}{
		"10.96.0.10:53":      {problem.UpstreamInManagement, "the management cluster's Services (10.96.0.0/12)"},
		"10.240.0.1:53":      {problem.UpstreamInManagement, "node a (10.240.0.1)"},
		"10.240.0.1:10250":   {problem.UpstreamPortRefused, "53 and 853"},
		"192.0.2.53:8080":    {problem.UpstreamPortRefused, "192.0.2.53:8080"},
		"169.254.169.254:53": {problem.UpstreamIsSpecial, "169.254.0.0/16"},
		"127.0.0.1:53":       {problem.UpstreamIsSpecial, "127.0.0.0/8"},
		"198.51.100.9:53":    {problem.UpstreamNotPermitted, "--permit-upstreams"},
	} {
		t.Run(server, func(t *testing.T) {
			g := NewWithT(t)
			in := asksOf(server, "192.0.2.53:53")
			in.Reserved = reserved
			in.Permissions.Upstreams = prefixesOf("192.0.2.0/24", "10.0.0.0/8")
			plan, problems := derived(in)
			g.Expect(problems.Of(problem.SeverityWarning)).To(HaveExactElements(And(HaveField("Cause", c.cause), HaveField("Severity", problem.SeverityWarning),
				HaveField("Keys", HaveExactElements("dns-upstreams")), WithTransform(message, And(ContainSubstring(server), ContainSubstring(c.words))))))
			g.Expect(plan.Networks[0].DNS.Upstreams.Servers).To(HaveExactElements(netip.MustParseAddrPort("192.0.2.53:53")))

			alone := asksOf(server)
			alone.Reserved, alone.Permissions = in.Reserved, in.Permissions
			plan, _ = derived(alone)
			g.Expect(plan.Networks[0].DNS.Upstreams).To(Equal(network.Upstreams{Mode: network.UpstreamNone}), "not the management cluster's resolver in its place")
		})
	}
}

// TestPermittedUpstream: the administrator may permit one inside the management cluster.
func TestPermittedUpstream(t *testing.T) {
	g := NewWithT(t)
	in := asksOf("10.96.0.77:53", "192.0.2.53:853")
	in.Reserved = []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("10.96.0.0/12")}}
	in.Permissions.Destinations = prefixesOf("10.96.0.77/32")
	plan, problems := derived(in)
	g.Expect(problems.Of(problem.SeverityWarning)).To(BeEmpty())
	n := plan.Networks[0]
	g.Expect(n.UpstreamServers()).To(Equal(in.Networks[0].Settings.Upstreams.Servers))
	g.Expect(n.MayDial(netip.MustParseAddr("10.96.0.10"))).To(BeFalse())
}

// TestRetainedNetworksGetThePresentState: a retained network gets the current list of destinations that edges must not dial.
func TestRetainedNetworksGetThePresentState(t *testing.T) {
	g := NewWithT(t)
	in := asksOf("10.96.0.10:53")
	last, _ := derived(in)
	g.Expect(last.Networks[0].UpstreamServers()).To(HaveLen(1), "nothing was known of the management cluster")
	in.Reserved = []network.ReservedDestination{{What: "Services", Prefix: netip.MustParsePrefix("10.96.0.0/12")}}
	in.Wanted, in.Networks = []string{last.Networks[0].Name}, nil
	plan, _ := after(in, last)
	g.Expect(plan.Networks).To(HaveLen(1))
	g.Expect(plan.Networks[0].UpstreamServers()).To(BeEmpty())
}

// TestNotRequired: the CIDR of a network may contain addresses that its edges never need to reach.
func TestNotRequired(t *testing.T) {
	g := NewWithT(t)
	in := asksOf("192.0.2.53:53")
	in.Reserved = []network.ReservedDestination{{What: "pods", Prefix: netip.MustParsePrefix("192.168.0.0/16")}}
	plan, problems := derived(in)
	g.Expect(problems).To(HaveExactElements(And(HaveField("Cause", problem.UpstreamsNotByGateway), HaveField("Severity", problem.SeverityInfo),
		WithTransform(message, ContainSubstring("192.0.2.53:53 through the pod network, not through gateway 192.168.100.1")))))
	g.Expect(plan.Networks[0].MayDial(netip.MustParseAddr("192.168.7.7"))).To(BeFalse())
}

// TestRefusedHosts: the condition names external hosts of the network. It ignores other names in a report.
func TestRefusedHosts(t *testing.T) {
	g := NewWithT(t)
	n := network.Network{Backends: []network.Backend{
		{Kind: network.BackendExternal, Name: "a.example.com:443"}, {Kind: network.BackendExternal, Name: "b.example.com:443"}, {Name: "kube-apiserver:6443"}}}
	g.Expect(reported.RefusedHosts(n, []string{"x", "b.example.com:443", "kube-apiserver:6443"})).To(HaveExactElements(And(
		HaveField("Reason", problem.NotPermitted), HaveField("Severity", problem.SeverityWarning),
		WithTransform(message, And(ContainSubstring("management cluster: b.example.com:443."), ContainSubstring("--permit-destinations"))))))
	g.Expect(reported.RefusedHosts(n, []string{"x"})).To(BeEmpty())
	n.ClientNetworks = prefixesOf("10.9.0.0/16")
	g.Expect(reported.RefusedHosts(n, []string{"b.example.com:443"})).To(HaveExactElements(
		WithTransform(message, ContainSubstring("Remove hosts in a client network from annotation allowed-hosts"))))
	long := reported.EdgeReport{}
	for i := range 100 {
		long.RefusedHosts = append(long.RefusedHosts, fmt.Sprint(i))
	}
	r, err := reported.Read(long.JSON())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.RefusedHosts).To(HaveLen(8))
}

func TestPermissions(t *testing.T) {
	g := NewWithT(t)
	safe := network.Permissions{}
	for _, port := range []uint16{443, 5000, 8443} {
		g.Expect(safe.Port(port)).To(BeTrue())
	}
	for _, port := range []uint16{22, 80, 6443, 10250, 30443} {
		g.Expect(safe.Port(port)).To(BeFalse())
	}
	g.Expect(safe.Host("evil.example.net")).To(BeTrue())
	g.Expect(safe.Upstream(netip.MustParseAddr("192.0.2.53"))).To(BeTrue())
	g.Expect(safe.NodeLabel("vlan100")).To(BeTrue())
	g.Expect(safe.NodeLabel("node-role.kubernetes.io/master")).To(BeFalse())
	g.Expect(safe.NodeLabel("node-role.kubernetes.io/control-plane")).To(BeFalse())

	strict := network.Permissions{Hosts: []string{"*.example.com", "quay.io"}, Ports: []network.PortRange{{First: 8000, Last: 8010}},
		Upstreams: []netip.Prefix{}, NodeLabels: []string{"vlan100", "example.com/*"}}
	g.Expect(strict.Host("a.b.example.com")).To(BeTrue())
	g.Expect(strict.Host("quay.io")).To(BeTrue())
	for _, host := range []string{"example.com", "cdn.quay.io", "example.com.evil.net", "evilexample.com"} {
		g.Expect(strict.Host(host)).To(BeFalse(), host)
	}
	g.Expect(strict.Port(8010)).To(BeTrue())
	g.Expect(strict.Port(443)).To(BeFalse())
	g.Expect(strict.Upstream(netip.MustParseAddr("192.0.2.53"))).To(BeFalse(), "an empty list permits nothing")
	g.Expect(strict.NodeLabel("example.com/edges")).To(BeTrue())
	g.Expect(strict.NodeLabel("node-role.kubernetes.io/infra")).To(BeFalse())
}

func TestMergedPrefixes(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"10.128.2.0/23 10.128.0.0/23":       "10.128.0.0/22",
		"10.0.0.0/8 10.1.0.0/16 10.0.0.0/8": "10.0.0.0/8",
		"10.0.1.0/24 10.0.2.0/24":           "10.0.1.0/24 10.0.2.0/24",
		"10.0.0.1/32 10.0.0.2/32 10.0.0.3/32 10.0.0.0/32": "10.0.0.0/30",
		"0.0.0.0/1 128.0.0.0/1":                           "0.0.0.0/0",
		"fd00::/17 10.0.0.0/9 10.128.0.0/9":               "10.0.0.0/8 fd00::/17",
	} {
		var all []netip.Prefix
		for _, p := range strings.Fields(in) {
			all = append(all, netip.MustParsePrefix(p))
		}
		var got []string
		for _, p := range network.MergedPrefixes(all) {
			got = append(got, p.String())
		}
		NewWithT(t).Expect(strings.Join(got, " ")).To(Equal(want), in)
	}
}
