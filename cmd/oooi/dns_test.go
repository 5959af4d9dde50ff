package main

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
)

// A vlan is an edge between VMs and the pod network, and one VM and
// one pod to ask it. The edge's forwarding is off.
type vlan struct{ edge, machine, pod *netns.Namespace }

func newVLAN(t *testing.T, edgeAddresses ...string) vlan {
	t.Helper()
	netns.Require(t, "dig", "ss")
	v := vlan{edge: netns.New(t), machine: netns.New(t), pod: netns.New(t)}
	segment, pods := netns.NewSegment(t), netns.NewSegment(t)
	segment.Attach(t, v.edge, "net1", "", append([]string{"192.168.100.4/24"}, edgeAddresses...)...)
	segment.Attach(t, v.machine, "eth0", "", "192.168.100.20/24")
	pods.Attach(t, v.edge, "eth0", "", "10.128.0.2/24")
	pods.Attach(t, v.pod, "eth0", "", "10.128.0.1/24")
	v.edge.Route(t, "0.0.0.0/0", "10.128.0.1")
	v.pod.Route(t, "192.168.100.0/24", "10.128.0.2")
	for _, device := range []string{"net1", "eth0"} {
		v.edge.Sysctl(t, "net/ipv4/conf/"+device+"/forwarding", "0")
	}
	return v
}

// bluePlan writes blue's plan whole, as a mounted ConfigMap changes.
func bluePlan(t *testing.T, file string, service netip.Addr, record string) {
	t.Helper()
	cidr := netip.MustParsePrefix("192.168.100.0/24")
	p := network.Plan{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue", Domain: "blue.example.com"},
		Networks: []network.Network{{
			Name:       "clusters.vlan100",
			Services:   []network.Service{network.ServiceDNS},
			CIDR:       cidr,
			NextHopVIP: netip.MustParseAddr("192.168.100.2"),
			ServiceVIP: service,
			Edges:      []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}},
			DNS: network.DNS{
				Upstreams: network.Upstreams{Mode: network.UpstreamNone},
				Views: []network.View{{
					Name: "machines", Clients: []netip.Prefix{cidr}, Zones: []string{"blue.example.com"},
					Records: []network.Record{{Name: record, Addresses: []netip.Addr{service}}},
				}},
			},
		}},
	}
	if err := os.WriteFile(file+".new", p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// A program is a running subcommand.
type program struct {
	mu  sync.Mutex
	log bytes.Buffer
}

// Write implements io.Writer.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *program) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start runs a subcommand in n until the test ends, when it must end well on
// SIGTERM.
func start(t *testing.T, n *netns.Namespace, args ...string) *program {
	t.Helper()
	p := &program{}
	c := command(t, n, args...)
	c.Stdout, c.Stderr = p, p
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("oooi %s: %v", strings.Join(args, " "), err)
		}
		if t.Failed() {
			t.Logf("oooi %s said:\n%s", strings.Join(args, " "), p.said())
		}
	})
	return p
}

// command is a subcommand in n. The context outlives the test's, so that the
// program is there for its own end.
func command(t *testing.T, n *netns.Namespace, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := n.Command(context.WithoutCancel(t.Context()), self, args...)
	c.Env = append(os.Environ(), asCommand+"=1")
	return c
}

const blueService = "192.168.100.3"

func TestDNSAnswersOnItsDeviceOnly(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	start(t, v.edge, "dns", "--plan", file, "--run-dir", dir)
	g.Eventually(func() error { return command(t, v.edge, "edge", "probe", "dns", "--run-dir", dir).Run() }, "20s").Should(Succeed())

	for _, transport := range []string{"+notcp", "+tcp"} {
		out := v.machine.Run(t, "dig", transport, "+short", "@"+blueService, "api.blue.example.com")
		g.Expect(strings.TrimSpace(out)).To(Equal(blueService))
	}
	// By the weak host model the pod's packets reach the edge at every address;
	// the kernel's refusal says that they did, and that no socket is for them.
	for _, transport := range []string{"+notcp", "+tcp"} {
		for _, at := range []string{blueService, "10.128.0.2", "192.168.100.4"} {
			out, err := v.pod.Command(t.Context(), "dig", transport, "+tries=1", "+time=5", "@"+at, "api.blue.example.com").CombinedOutput()
			g.Expect(err).To(HaveOccurred(), "%s %s: %s", at, transport, out)
			g.Expect(string(out)).To(ContainSubstring("connection refused"), "%s %s", at, transport)
		}
	}
	g.Expect(v.edge.Run(t, "ss", "-Hlnu")).To(MatchRegexp(`^UNCONN\s+\d+\s+\d+\s+192\.168\.100\.3%net1:53\s[^\n]*\n$`))
	g.Expect(v.edge.Run(t, "ss", "-Hlnt")).To(MatchRegexp(`^LISTEN\s+\d+\s+\d+\s+192\.168\.100\.3%net1:53\s[^\n]*\n$`))
}

func TestDNSWaitsForItsAddressAndFollowsThePlan(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	p := start(t, v.edge, "dns", "--plan", file, "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, v.edge, "edge", "probe", "dns", "--run-dir", dir).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	ask := func(at, name string) func() string {
		return func() string {
			out, _ := v.machine.Command(t.Context(), "dig", "+tries=1", "+time=1", "+short", "@"+at, name).Output()
			return strings.TrimSpace(string(out))
		}
	}
	g.Eventually(probe, "20s").Should(Equal("oooi: dns: not ready: waiting for 192.168.100.3 on interface net1"))
	g.Expect(p.said()).To(ContainSubstring("waiting for 192.168.100.3"))

	v.edge.Address(t, "net1", blueService+"/32")
	g.Eventually(ask(blueService, "api.blue.example.com"), "20s").Should(Equal(blueService))
	g.Eventually(probe, "20s").Should(BeEmpty())

	bluePlan(t, file, netip.MustParseAddr(blueService), "oauth.blue.example.com")
	g.Eventually(ask(blueService, "oauth.blue.example.com"), "20s").Should(Equal(blueService))
	g.Expect(ask(blueService, "api.blue.example.com")()).To(BeEmpty())

	v.edge.Address(t, "net1", "192.168.100.8/32")
	bluePlan(t, file, netip.MustParseAddr("192.168.100.8"), "oauth.blue.example.com")
	g.Eventually(ask("192.168.100.8", "oauth.blue.example.com"), "20s").Should(Equal("192.168.100.8"))

	v.edge.Run(t, "ip", "address", "del", "192.168.100.8/32", "dev", "net1")
	g.Eventually(probe, "20s").Should(ContainSubstring("waiting for 192.168.100.8"))
	v.edge.Address(t, "net1", "192.168.100.8/32")
	g.Eventually(ask("192.168.100.8", "oauth.blue.example.com"), "20s").Should(Equal("192.168.100.8"))
}
