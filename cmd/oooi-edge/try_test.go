package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/programs"
)

// triedPlan has all servers, an API server behind 10.128.0.1:7443, and a registry that does not answer.
func triedPlan(t *testing.T) string {
	t.Helper()
	service, cidr := netip.MustParseAddr(blueService), netip.MustParsePrefix("192.168.100.0/24")
	api := network.Backend{Name: "kube-apiserver:6443", Service: network.APIService, Port: 7443, ClusterIP: netip.MustParseAddr("10.128.0.1")}
	registry := network.Backend{Name: "registry:5000", Service: "registry", Port: 5000, ClusterIP: netip.MustParseAddr("10.128.0.1")}
	p := network.Plan{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: "example.com"},
		Networks: []network.Network{{
			Name: "clusters.vlan100", Primary: true, CIDR: cidr,
			Services:   []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceNTP, network.ServiceProxy},
			NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: service,
			Edges: []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}},
			DHCP: network.DHCP{
				Range:    network.Range{First: netip.MustParseAddr("192.168.100.100"), Last: netip.MustParseAddr("192.168.100.199")},
				ServerID: service, Router: netip.MustParseAddr("192.168.100.2"), DNSServers: []netip.Addr{service}, LeaseTime: network.Duration(time.Hour),
				Routes: []network.Route{{Destination: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.168.100.2")}},
			},
			DNS: network.DNS{
				Upstreams: network.Upstreams{Mode: network.UpstreamNone},
				Views: []network.View{{
					Name: "vms", Clients: []netip.Prefix{cidr}, Zones: []string{"example.com"},
					Records: []network.Record{{Name: "api.example.com", Addresses: []netip.Addr{service}}, {Name: "*.apps.example.com", Addresses: []netip.Addr{service}}},
				}},
			},
			Listeners: []network.Listener{
				{Address: service, Port: 443, Forwards: []network.Forward{{ServerNames: []string{"registry.example.com"}, Backend: registry.Name}}},
				{Address: service, Port: 6443, Default: api.Name},
				{Address: service, Port: 7443, Forwards: []network.Forward{{ServerNames: []string{"api.example.com", "*.example.com"}, Backend: api.Name}}},
			},
			Backends: []network.Backend{api, registry},
		}},
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTry: a VM's part is tried against real servers, as they stop one after the other. Then a host of the
// management cluster is in reach, and a name that is in no plan is served.
func TestTry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32", "192.168.100.2/32")
	v.machine.Route(t, "0.0.0.0/0", "192.168.100.2")
	plan, dir := triedPlan(t), t.TempDir()
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	_ = api.Listener.Close()
	v.pod.Do(t, func() { api.Listener, _ = net.Listen("tcp4", "10.128.0.1:7443") })
	api.StartTLS() // Its certificate is for example.com and *.example.com.
	t.Cleanup(api.Close)
	stop := map[string]func(){}
	for name, more := range map[string][]string{"dhcp": nil, "dns": nil, "ntp": nil, "proxy": {"--envoy", program}} {
		_, stop[name] = startUntil(t, v.edge, append([]string{name, "--plan", plan, "--run-dir", filepath.Join(dir, name)}, more...)...)
		g.Eventually(func() string {
			out, _ := command(t, v.edge, "probe", name, "--run-dir", filepath.Join(dir, name)).CombinedOutput()
			return string(out)
		}).Should(BeEmpty())
	}
	mac := v.edge.MAC(t, "net1")
	g.Expect(tried(t, v.machine, plan, "--edge-macs", "02:00:00:00:00:99,"+mac)).To(Equal([]string{
		"an edge has 192.168.100.2",
		"an edge has 192.168.100.3",
		"DHCP: Info DHCPOffered",
		"name api.example.com",
		"name oooi-check.apps.example.com",
		"no answer for name oooi-check.invalid",
		"time of 192.168.100.3",
		"registry:5000 at 192.168.100.3:443 for registry.example.com: Warning ConnectionClosed",
		"no answer from 192.168.100.3:443 for server name oooi-check.invalid",
		"kube-apiserver:6443 at 192.168.100.3:6443",
		"kube-apiserver:6443 at 192.168.100.3:7443 for api.example.com",
		"kube-apiserver:6443 at 192.168.100.3:7443 for oooi-check.example.com",
		"no answer from 192.168.100.3:7443 for server name oooi-check.invalid",
		"no way to 10.128.0.1:443",
	}))

	for _, name := range []string{"dhcp", "dns", "ntp"} {
		stop[name]()
	}
	api.Close()
	v.pod.Serve(t, "10.128.0.1:443", func(net.Conn) {})
	for _, device := range []string{"net1", "eth0"} {
		v.edge.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "1")
	}
	results := tried(t, v.machine, plan, "--edge-macs", "02:00:00:00:00:99")
	g.Expect(results).To(ContainElements(
		"an edge has 192.168.100.3: Error VIPForeign",
		// The kernel limits how many ICMP messages about closed ports it sends.
		MatchRegexp(`^time of 192\.168\.100\.3: Warning Connection(Refused|Silent)$`),
		MatchRegexp(`^name api\.example\.com: Error NameUnanswered, Error Connection(Refused|Silent)$`),
		"DHCP: Error DHCPSilent",
		"kube-apiserver:6443 at 192.168.100.3:6443: Error ConnectionClosed",
		"no way to 10.128.0.1:443: Error HostReached",
	))
	stop["proxy"]()
	g.Expect(tried(t, v.machine, plan)).To(ContainElement("kube-apiserver:6443 at 192.168.100.3:6443: Error ConnectionRefused"))
}

// TestTryForwardsNothing: a pod that would be a way from the VLAN to the pod network ends immediately.
func TestTryForwardsNothing(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t)
	v.machine.Sysctl(t, "net/ipv4/conf/eth0/forwarding", "1")
	out, err := command(t, v.machine, wire.Try, "--plan", triedPlan(t), "--interface", "eth0").CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(out)).To(ContainSubstring("nothing is tried: the kernel would forward packets from or to eth0"))
}

// tried are the results of `oooi-edge try` in n: their names, and the severities and causes of their problems.
func tried(t *testing.T, n *netns.Namespace, plan string, more ...string) (out []string) {
	t.Helper()
	var results []network.TrialResult
	c := command(t, n, append([]string{wire.Try, "--plan", plan, "--interface", "eth0"}, more...)...)
	c.Env = append(c.Env, wire.APIServerVariable+"=10.128.0.1")
	text, err := c.Output()
	if err == nil {
		err = json.Unmarshal(text, &results)
	}
	if err != nil {
		t.Fatalf("try: %v\n%s", err, text)
	}
	for _, r := range results {
		var found []string
		for _, p := range r.Problems {
			found = append(found, string(p.Severity)+" "+string(p.Cause))
		}
		out = append(out, strings.TrimSuffix(r.Name+": "+strings.Join(found, ", "), ": "))
	}
	return out
}
