package main

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// A vlan is an edge between VMs and the pod network, and one VM and
// one pod to ask it. The edge's forwarding is off.
type vlan struct {
	edge, machine, pod *netns.Namespace
	segment            *netns.Segment
}

func newVLAN(t *testing.T, edgeAddresses ...string) vlan {
	t.Helper()
	netns.Require(t, "dig", "ss")
	v := vlan{edge: netns.New(t), machine: netns.New(t), pod: netns.New(t)}
	segment, pods := netns.NewSegment(t), netns.NewSegment(t)
	v.segment = segment
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
					Name: "vms", Clients: []netip.Prefix{cidr}, Zones: []string{"blue.example.com"},
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

// start runs a subcommand in n until the test ends, when it must end well on
// SIGTERM.
func start(t *testing.T, n *netns.Namespace, args ...string) *programs.Output {
	t.Helper()
	p, stop := startUntil(t, n, args...)
	t.Cleanup(stop)
	return p
}

// startUntil is start, and stop ends the subcommand.
func startUntil(t *testing.T, n *netns.Namespace, args ...string) (p *programs.Output, stop func()) {
	t.Helper()
	p = &programs.Output{}
	c := command(t, n, args...)
	c.Stdout, c.Stderr = p, p
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = 5 * time.Second // What it leaves, such as an Envoy, keeps the pipe open.
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return p, func() {
		kill := func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
		defer kill()
		defer time.AfterFunc(patience.Limit, kill).Stop()
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("oooi-edge %s: %v", strings.Join(args, " "), err)
		}
		if t.Failed() {
			t.Logf("oooi-edge %s said:\n%s", strings.Join(args, " "), p)
		}
	}
}

// command is a subcommand in n. The context outlives the test's, so that the
// program is there for its own end.
func command(t *testing.T, n *netns.Namespace, args ...string) *exec.Cmd {
	t.Helper()
	self, env := programs.Self(t)
	c := n.Command(context.WithoutCancel(t.Context()), self, args...)
	c.Env = env
	return c
}

const blueService = "192.168.100.3"

// serve runs a server of blue's plan at the service VIP. It returns when the server is ready: its
// run directory, and its output.
func (v vlan) serve(t *testing.T, server string) (dir string, p *programs.Output) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	p = start(t, v.edge, server, "--plan", file, "--run-dir", dir)
	NewWithT(t).Eventually(func() error { return command(t, v.edge, "probe", server, "--run-dir", dir).Run() }).Should(Succeed())
	return dir, p
}

func TestDNSAnswersOnItsDeviceOnly(t *testing.T) {
	g := NewWithT(t)
	v := newVLAN(t, blueService+"/32")
	_, _ = v.serve(t, "dns")

	for _, transport := range []string{"+notcp", "+tcp"} {
		out := v.machine.Run(t, "dig", transport, "+short", "@"+blueService, "api.blue.example.com")
		g.Expect(strings.TrimSpace(out)).To(Equal(blueService))
	}
	// By the weak host model the pod's packets reach the edge at every address;
	// the kernel's refusal says that they did, and that no socket is for them.
	for _, transport := range []string{"+notcp", "+tcp"} {
		for _, at := range []string{blueService, "10.128.0.2", "192.168.100.4"} {
			out, err := v.pod.Command(t.Context(), "dig", transport, "+tries=1", "+time=60", "@"+at, "api.blue.example.com").CombinedOutput()
			g.Expect(err).To(HaveOccurred(), "%s %s: %s", at, transport, out)
			g.Expect(string(out)).To(ContainSubstring("connection refused"), "%s %s", at, transport)
		}
	}
	g.Expect(v.edge.Run(t, "ss", "-Hlnu")).To(MatchRegexp(`^(UNCONN\s+\d+\s+\d+\s+(192\.168\.100\.3|\[::ffff:192\.168\.100\.3\])%net1:53\s[^\n]*\n)+$`))
	g.Expect(v.edge.Run(t, "ss", "-Hlnt")).To(MatchRegexp(`^LISTEN\s+\d+\s+\d+\s+192\.168\.100\.3%net1:53\s[^\n]*\n$`))
}

func TestDNSWaitsForItsAddressAndFollowsThePlan(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	v := newVLAN(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	bluePlan(t, file, netip.MustParseAddr(blueService), "api.blue.example.com")
	p := start(t, v.edge, "dns", "--plan", file, "--run-dir", dir)
	probe := func() string {
		out, _ := command(t, v.edge, "probe", "dns", "--run-dir", dir).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	ask := func(at, name string) func() string {
		return func() string {
			// It asks again.
			out, _ := v.machine.Command(t.Context(), "dig", "+tries=1", "+time=1", "+short", "@"+at, name).Output()
			return strings.TrimSpace(string(out))
		}
	}
	g.Eventually(probe).Should(Equal("oooi-edge: dns: not ready: waiting for 192.168.100.3 on interface net1"))
	g.Eventually(p.String).Should(ContainSubstring("waiting for 192.168.100.3"))

	v.edge.Address(t, "net1", blueService+"/32")
	g.Eventually(ask(blueService, "api.blue.example.com")).Should(Equal(blueService))
	g.Eventually(probe).Should(BeEmpty())

	bluePlan(t, file, netip.MustParseAddr(blueService), "oauth.blue.example.com")
	g.Eventually(ask(blueService, "oauth.blue.example.com")).Should(Equal(blueService))
	g.Expect(ask(blueService, "api.blue.example.com")()).To(BeEmpty())

	v.edge.Address(t, "net1", "192.168.100.8/32")
	bluePlan(t, file, netip.MustParseAddr("192.168.100.8"), "oauth.blue.example.com")
	g.Eventually(ask("192.168.100.8", "oauth.blue.example.com")).Should(Equal("192.168.100.8"))

	v.edge.Run(t, "ip", "address", "del", "192.168.100.8/32", "dev", "net1")
	g.Eventually(probe).Should(ContainSubstring("waiting for 192.168.100.8"))
	v.edge.Address(t, "net1", "192.168.100.8/32")
	g.Eventually(ask("192.168.100.8", "oauth.blue.example.com")).Should(Equal("192.168.100.8"))
}
