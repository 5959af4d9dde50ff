package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/agent"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// proxied writes a plan whole that carries these ports to pod at 10.128.0.1.
func proxied(t *testing.T, file string, ports ...uint16) {
	t.Helper()
	api := network.Backend{Name: "kube-apiserver:6443", Service: "kube-apiserver", Port: 6443, ClusterIP: netip.MustParseAddr("10.128.0.1")}
	var listeners []network.Listener
	for _, port := range ports {
		listeners = append(listeners, network.Listener{Address: netip.MustParseAddr(blueService), Port: port, Default: api.Name})
	}
	carries(t, file, api, listeners...)
}

// carries writes a plan whole with one backend.
func carries(t *testing.T, file string, to network.Backend, listeners ...network.Listener) {
	t.Helper()
	p := network.Plan{
		Cluster: network.Cluster{Namespace: "clusters", Name: "blue"},
		Networks: []network.Network{{
			Name: "clusters.vlan100", Primary: true,
			Services:   []network.Service{network.ServiceProxy},
			CIDR:       netip.MustParsePrefix("192.168.100.0/24"),
			NextHopVIP: netip.MustParseAddr("192.168.100.2"), ServiceVIP: netip.MustParseAddr(blueService),
			Edges:     []network.Edge{{Number: 1, Address: netip.MustParseAddr("192.168.100.4")}},
			Listeners: listeners, Backends: []network.Backend{to},
		}},
	}
	if err := os.WriteFile(file+".new", p.JSON(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// greeter sends its address to each client, and echoes every line.
func greeter(t *testing.T, n *netns.Namespace, at string) {
	t.Helper()
	n.Serve(t, at, func(c net.Conn) {
		_, _ = io.WriteString(c, "the API\n")
		_, _ = io.Copy(c, c)
	})
}

// greeted returns the greeting that a VM gets from an address, and the connection.
func greeted(t *testing.T, n *netns.Namespace, at string) (string, net.Conn, error) {
	t.Helper()
	var c net.Conn
	var err error
	n.Do(t, func() { c, err = net.DialTimeout("tcp4", at, patience.Limit) })
	if err != nil {
		return "", nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), c, err
}

// TestProxyStartsAnEnvoy: from a plan in a file to a connection, and to an end
// that leaves no Envoy.
func TestProxyStartsAnEnvoy(t *testing.T) {
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t)
	greeter(t, v.pod, "10.128.0.1:6443")
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	proxied(t, file, 6443)
	// A run directory whose path is too long for a socket would hide what is tested.
	run, err := os.MkdirTemp("", "oooi-run-")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	start(t, v.edge, "proxy", "--plan", file, "--run-dir", run, "--envoy", program)
	probe := func() string {
		out, _ := command(t, v.edge, "probe", "proxy", "--run-dir", run).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	g.Eventually(probe).Should(Equal("oooi-edge: proxy: not ready: waiting for 192.168.100.3 on interface net1"))
	v.edge.Address(t, "net1", blueService+"/32")
	g.Eventually(probe).Should(BeEmpty())
	said, stay, err := greeted(t, v.machine, blueService+":6443")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(said).To(Equal("the API"))

	proxied(t, file, 6443, 7443)
	g.Eventually(func() (string, error) {
		said, _, err := greeted(t, v.machine, blueService+":7443")
		return said, err
	}).Should(Equal("the API"))
	g.Eventually(probe).Should(BeEmpty())
	_, err = io.WriteString(stay, "still there?\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bufio.NewReader(stay).ReadString('\n')).To(Equal("still there?\n"))

	v.edge.Run(t, "ip", "address", "del", blueService+"/32", "dev", "net1")
	g.Eventually(probe).Should(ContainSubstring("waiting for 192.168.100.3"))
	g.Eventually(func() string { return v.edge.Run(t, "ss", "-Hlnt") }).Should(BeEmpty())
	v.edge.Address(t, "net1", blueService+"/32")
	g.Eventually(probe).Should(BeEmpty())

	g.Expect(scraped(t, wire.Socket(run, "proxy"))).To(ContainSubstring("downstream_cx_total"), "Envoy's counters")
	g.Expect(v.edge.Run(t, "ss", "-Hlnt")).NotTo(MatchRegexp(`(?m)^LISTEN\s+\d+\s+\d+\s+[^%]+:\d+\s`), "every socket is bound to its device")
}

func scraped(t *testing.T, socket string) string {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://edge/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestProxyNextToAnEnvoy: as in a pod, either process may end while the other one
// continues.
func TestProxyNextToAnEnvoy(t *testing.T) {
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	greeter(t, v.pod, "10.128.0.1:6443")
	run := fakes.RunDir(t)
	file := filepath.Join(run, "plan.json")
	proxied(t, file, 6443)
	probe := func() string {
		out, _ := command(t, v.edge, "probe", "proxy", "--run-dir", run).CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	args := []string{"proxy", "--plan", file, "--run-dir", run, "--no-envoy"}
	first := command(t, v.edge, args...)
	g.Expect(first.Start()).To(Succeed())
	t.Cleanup(func() { _ = first.Process.Kill(); _ = first.Wait() })
	g.Eventually(probe).Should(Equal("oooi-edge: proxy: not ready: Envoy is not connected"))
	source, err := inforce.New(file, inforce.Selection{}, nil, slog.New(slog.DiscardHandler))
	g.Expect(err).NotTo(HaveOccurred())
	n, asked := source.Current().Network, agent.NewServers(run)
	go asked.Follow(t.Context(), func() network.Network { return n }, source.Changed)
	serves := func() error { return asked.Err(n) }
	g.Eventually(serves).Should(MatchError(ContainSubstring("Envoy does not answer")))

	startEnvoy := func() *exec.Cmd {
		e := v.edge.Command(context.WithoutCancel(t.Context()), program, resources.Arguments(resources.NewDirs(wire.EnvoyDirs(run)), "test", resources.NewLimits(0, 0))...)
		g.Expect(e.Start()).To(Succeed())
		t.Cleanup(func() { _ = e.Process.Kill(); _ = e.Wait() })
		return e
	}
	e := startEnvoy()
	g.Eventually(probe).Should(BeEmpty())
	g.Eventually(serves).Should(Succeed())
	_, stay, err := greeted(t, v.machine, blueService+":6443")
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(first.Process.Kill()).To(Succeed())
	_ = first.Wait()
	said, _, err := greeted(t, v.machine, blueService+":6443")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(said).To(Equal("the API"), "without us")
	g.Eventually(serves).Should(Succeed(), "so no VM is moved")
	start(t, v.edge, args...)
	g.Eventually(probe).Should(BeEmpty())
	_, err = io.WriteString(stay, "still there?\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bufio.NewReader(stay).ReadString('\n')).To(Equal("still there?\n"))

	g.Expect(e.Process.Signal(syscall.SIGKILL)).To(Succeed())
	_ = e.Wait()
	g.Eventually(serves).ShouldNot(Succeed())
	g.Eventually(probe).Should(Equal("oooi-edge: proxy: not ready: Envoy is not connected"))
	startEnvoy()
	g.Eventually(probe).Should(BeEmpty())
	said, _, err = greeted(t, v.machine, blueService+":6443")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(said).To(Equal("the API"), "an Envoy that is new")
}

// TestProxyToAnExternalHost resolves the host with the system's resolver.
func TestProxyToAnExternalHost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32")
	v.resolves(t, "mirror.example.com")
	var l net.Listener
	var err error
	v.pod.Do(t, func() { l, err = net.Listen("tcp4", "10.128.0.1:5000") })
	g.Expect(err).NotTo(HaveOccurred())
	mirror := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the mirror") }))
	mirror.Listener = l
	mirror.StartTLS()
	t.Cleanup(mirror.Close)

	file := filepath.Join(t.TempDir(), "plan.json")
	outside := network.Backend{Kind: network.BackendExternal, Name: "mirror.example.com:5000", Host: "mirror.example.com", Port: 5000}
	carries(t, file, outside, network.Listener{
		Address: netip.MustParseAddr(blueService), Port: 5000,
		Forwards: []network.Forward{{ServerNames: []string{outside.Host}, Backend: outside.Name}},
	})
	said := start(t, v.edge, "proxy", "--plan", file, "--envoy", program)
	get := func(serverName string) (string, error) {
		c := http.Client{Timeout: patience.Limit, Transport: &http.Transport{
			DisableKeepAlives: true, TLSClientConfig: &tls.Config{ServerName: serverName, InsecureSkipVerify: true},
			DialContext: func(context.Context, string, string) (c net.Conn, err error) {
				v.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", blueService+":5000", patience.Limit) })
				return c, err
			},
		}}
		resp, err := c.Get("https://" + serverName + ":5000/")
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	g.Eventually(func() (string, error) { return get(outside.Host) }).Should(Equal("the mirror"))
	_, err = get("other.example.com")
	g.Expect(err).To(HaveOccurred())
	g.Eventually(said.String).Should(MatchRegexp(
		`msg="connection ended" .*cluster=clusters/blue .*source=192.168.100.20:\d+ address=192.168.100.3:5000 serverName=other.example.com backend="" .* flags=NR`),
		"a VM wants a host that is not allowed")
	g.Expect(said.String()).NotTo(ContainSubstring("serverName=mirror.example.com"), "by default, failures are logged")
}

// resolves has the resolver of the edge answer that name is the pod.
func (v vlan) resolves(t *testing.T, name string) {
	t.Helper()
	var questions net.PacketConn
	var err error
	v.pod.Do(t, func() { questions, err = net.ListenPacket("udp4", "10.128.0.1:53") })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answers := &dns.Server{PacketConn: questions, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		if q.Question[0].Name == name+"." && q.Question[0].Qtype == dns.TypeA {
			a, _ := dns.NewRR(name + ". 60 IN A 10.128.0.1")
			m.Answer = append(m.Answer, a)
		}
		_ = w.WriteMsg(m)
	})}
	go func() { _ = answers.ActivateAndServe() }()
	t.Cleanup(func() { _ = answers.Shutdown() })
	etc(t, v.edge, "resolv.conf", "nameserver 10.128.0.1\n")
}

// etc gives programs in n a file of /etc of their own.
func etc(t *testing.T, n *netns.Namespace, name, text string) {
	t.Helper()
	dir := filepath.Join("/etc/netns", n.Name)
	NewWithT(t).Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	programs.WriteFile(t, dir, name, text)
}

// TestProxyToApps: with a plan and nothing else, `*.apps` reaches the VMs at the node port of the ingress.
func TestProxyToApps(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32", "10.240.0.200/32")
	var l net.Listener
	var err error
	v.machine.Do(t, func() { l, err = net.Listen("tcp4", "192.168.100.20:31443") })
	g.Expect(err).NotTo(HaveOccurred())
	console := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the console") }))
	console.Listener = l
	console.StartTLS()
	t.Cleanup(console.Close)
	start(t, v.edge, "proxy", "--plan", golden.Find(t, "apps-passthrough").File(t, "plan.json"), "--envoy", program)
	const name = "console.apps.blue.apps.mgmt.example.com"
	c := http.Client{Timeout: patience.Limit, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{ServerName: name, InsecureSkipVerify: true},
		DialContext: func(context.Context, string, string) (c net.Conn, err error) {
			v.machine.Do(t, func() { c, err = net.DialTimeout("tcp4", blueService+":443", patience.Limit) })
			return c, err
		},
	}}
	get := func() (string, error) {
		resp, err := c.Get("https://" + name)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	g.Eventually(get).Should(Equal("the console"))
}
