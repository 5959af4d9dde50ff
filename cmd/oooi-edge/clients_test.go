package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// A tenant is a network with a gateway, and hosts behind it: one in an office, which is a client
// network, and one anywhere else. The edge verifies sources strictly, as in its pod.
type tenant struct {
	vlan
	gateway, office, elsewhere *netns.Namespace
}

const (
	officeNetwork, officeHost, elsewhereHost = "10.9.0.0/16", "10.9.0.5", "198.51.100.7"
	gatewayAddress                           = "192.168.100.1"
)

// newTenant does not give the edge its routes to client networks.
func newTenant(t *testing.T) tenant {
	t.Helper()
	network, pods := netns.NewSegment(t), netns.NewSegment(t)
	x := tenant{vlan{edge: netns.New(t), machine: netns.New(t), pod: netns.New(t)}, netns.New(t), netns.New(t), netns.New(t)}
	for _, setting := range []string{"all/rp_filter", "default/rp_filter"} {
		x.edge.Sysctl(t, "net/ipv4/conf/"+setting, "1")
	}
	network.Attach(t, x.edge, "net1", "", "192.168.100.4/24", blueService+"/32")
	network.Attach(t, x.machine, "eth0", "", "192.168.100.20/24")
	network.Attach(t, x.gateway, "net1", "", gatewayAddress+"/24")
	pods.Attach(t, x.edge, "eth0", "", "10.128.0.2/24")
	pods.Attach(t, x.pod, "eth0", "", "10.128.0.1/24")
	x.edge.Route(t, "0.0.0.0/0", "10.128.0.1")
	for i, host := range []struct {
		*netns.Namespace
		address, router string
	}{{x.office, officeHost, "10.9.0.1"}, {x.elsewhere, elsewhereHost, "198.51.100.1"}} {
		behind := netns.NewSegment(t)
		behind.Attach(t, x.gateway, fmt.Sprint("lan", i), "", host.router+"/24")
		behind.Attach(t, host.Namespace, "eth0", "", host.address+"/24")
		host.Route(t, "0.0.0.0/0", host.router)
	}
	x.gateway.Sysctl(t, "net/ipv4/conf/all/forwarding", "1")
	// Hosts beyond try what hosts on the network can: the pod network through the edge.
	x.gateway.Route(t, "10.128.0.0/24", "192.168.100.4")
	for _, device := range []string{"net1", "eth0"} {
		x.edge.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	return x
}

// tenantPlan serves the API server of pod at ports 443 and 6443, and its name.
func tenantPlan(t *testing.T, dir string, upstreams ...netip.AddrPort) string {
	t.Helper()
	file := filepath.Join(dir, "plan.json")
	proxied(t, file, 443, 6443)
	office := netip.MustParsePrefix(officeNetwork)
	records := []network.Record{{Name: "api.blue.example.com", Addresses: []netip.Addr{netip.MustParseAddr(blueService)}}}
	changePlan(t, file, func(n *network.Network) {
		n.Services = []network.Service{network.ServiceDNS, network.ServiceProxy}
		n.DHCP.Router, n.ClientNetworks = netip.MustParseAddr(gatewayAddress), []netip.Prefix{office}
		n.DNS = network.DNS{
			Upstreams: network.Upstreams{Mode: network.UpstreamServers, Servers: upstreams},
			Views: []network.View{
				{Name: "vms", Clients: []netip.Prefix{n.CIDR}, Records: records},
				{Name: "clients", Clients: []netip.Prefix{office, netip.MustParsePrefix(gatewayAddress + "/32")}, Zones: []string{"blue.example.com"},
					Records: records, OwnNamesOnly: true},
			},
		}
	})
	return file
}

// TestHostsBeyondTheNetwork: with a route to their network, hosts behind the gateway reach the API
// server and the names of the cluster at the service VIP, and nothing else. Without it, and from
// any other network, they reach nothing. A DNS server behind the gateway is asked through it.
func TestHostsBeyondTheNetwork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	netns.Require(t, "dig", "ss")
	program := programs.RequireEnvoy(t)
	x := newTenant(t)
	greeter(t, x.pod, "10.128.0.1:6443")
	names := t.TempDir() // of the DNS server in the office
	edgePlan(t, filepath.Join(names, "plan.json"), blueService, "www.example.org")
	start(t, x.office, "dns", "--plan", filepath.Join(names, "plan.json"), "--run-dir", names, "--interface", "eth0", "--listen", officeHost+":53")
	run, err := os.MkdirTemp("", "oooi-run-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	file := tenantPlan(t, t.TempDir(), netip.MustParseAddrPort(officeHost+":53"))
	start(t, x.edge, "proxy", "--plan", file, "--run-dir", run, "--envoy", program)
	start(t, x.edge, "dns", "--plan", file, "--run-dir", run, "--watched-by", "dhcp")
	for _, server := range []string{"proxy", "dns"} {
		g.Eventually(func() error { return command(t, x.edge, "probe", server, "--run-dir", run).Run() }).Should(Succeed(), server)
	}
	asked := func(from *netns.Namespace, name string, flags ...string) string {
		out, _ := from.Command(t.Context(), "dig", append([]string{"+tries=1", "+time=60", "@" + blueService, name}, flags...)...).Output()
		return string(out)
	}

	_, _, err = greeted(t, x.office, blueService+":6443")
	g.Expect(err).To(HaveOccurred(), "the edge has no route back")
	x.edge.Route(t, officeNetwork, gatewayAddress)
	for _, port := range []string{"443", "6443"} {
		said, _, err := greeted(t, x.office, net.JoinHostPort(blueService, port))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(said).To(Equal("the API"))
	}
	for _, transport := range []string{"+notcp", "+tcp"} {
		g.Expect(asked(x.office, "api.blue.example.com", transport)).To(And(ContainSubstring("NOERROR"), ContainSubstring("A\t"+blueService)))
		g.Expect(asked(x.office, "www.example.org", transport)).To(ContainSubstring("REFUSED"), "questions of hosts beyond are not forwarded")
	}
	g.Eventually(func() string { return asked(x.machine, "www.example.org") }).Should(And(ContainSubstring("NOERROR"), ContainSubstring("A\t"+blueService)))
	g.Expect(asked(x.office, "www.example.org")).To(ContainSubstring("REFUSED"), "nor is an answer to a VM theirs")
	g.Expect(asked(x.office, "other.blue.example.com")).To(ContainSubstring("NXDOMAIN"), "their server does not ask again")
	g.Expect(asked(x.office, "blue.example.com", "SOA")).To(And(ContainSubstring("NOERROR"), ContainSubstring("ANSWER: 1")))
	// Hosts that the gateway masquerades have its address.
	g.Expect(asked(x.gateway, "api.blue.example.com")).To(ContainSubstring("A\t" + blueService))
	g.Expect(asked(x.gateway, "www.example.org")).To(ContainSubstring("REFUSED"))

	_, _, err = greeted(t, x.elsewhere, blueService+":6443")
	g.Expect(err).To(HaveOccurred())
	g.Expect(asked(x.elsewhere, "api.blue.example.com", "+time=2")).NotTo(ContainSubstring("NOERROR")) // No answer comes.

	g.Expect(listening(t, x.edge)).To(ConsistOf("192.168.100.3%net1:53", "192.168.100.3%net1:53", "192.168.100.3%net1:443", "192.168.100.3%net1:6443",
		"[::ffff:192.168.100.3]%net1:53")) // The last one keeps other containers from the sockets of DNS (edge.ListenShared).
	for _, at := range []string{"192.168.100.4:443", "192.168.100.4:6443", "10.128.0.2:443", "10.128.0.2:6443", "10.128.0.1:6443"} {
		_, _, err = greeted(t, x.office, at)
		g.Expect(err).To(HaveOccurred(), at)
	}
}

// listening returns the sockets that listen in a namespace, each once.
func listening(t *testing.T, n *netns.Namespace) []string {
	t.Helper()
	var out []string
	for _, protocol := range []string{"-Hlnu", "-Hlnt"} {
		var of []string
		for line := range strings.Lines(n.Run(t, "ss", protocol)) {
			of = append(of, strings.Fields(line)[3])
		}
		slices.Sort(of)
		out = append(out, slices.Compact(of)...)
	}
	return out
}
