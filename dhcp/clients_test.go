package dhcp_test

import (
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/dhcp"
	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/udp"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// vms are the VMs of a cluster, by MAC.
type vms map[string]string

func (m vms) VM(mac string) (string, netip.Addr, bool) {
	name, ok := m[mac]
	return name, netip.Addr{}, ok
}
func (m vms) All() iter.Seq2[string, netip.Addr] {
	return func(yield func(string, netip.Addr) bool) {
		for mac := range m {
			if !yield(mac, netip.Addr{}) {
				return
			}
		}
	}
}
func (m vms) Reporter(netip.Addr) string { return "" }
func (m vms) Ready() error               { return nil }
func (m vms) Gone(name string) bool {
	for _, n := range m {
		if n == name {
			return false
		}
	}
	return true
}

// A site is an edge that serves DHCP on a segment.
type site struct {
	t       testing.TB
	n       network.Network
	segment *netns.Segment
	edge    *netns.Namespace
	memory  *leases.Memory
	counted *prometheus.Registry
	// stop ends the server, as when its edge is gone.
	stop func()
}

func segment(t testing.TB) *netns.Segment { return netns.NewSegment(t) }

// serve keeps leases in memory.
func serve(t testing.TB, n network.Network) site {
	t.Helper()
	netns.Require(t)
	memory := &leases.Memory{}
	s := serveFrom(t, n, memory)
	s.memory = memory
	return s
}

func serveFrom(t testing.TB, n network.Network, store dhcp.Store, settings ...func(*dhcp.Server)) site {
	t.Helper()
	return serveOn(t, segment(t), n, store, settings...)
}

// serveOn is the first edge of n on a segment, or the one that settings say.
func serveOn(t testing.TB, on *netns.Segment, n network.Network, store dhcp.Store, settings ...func(*dhcp.Server)) site {
	t.Helper()
	server := &dhcp.Server{Edge: 1, Store: store, VMs: vms{mac1: "blue-worker-1"}}
	for _, set := range settings {
		set(server)
	}
	s := newSite(t, on, n, server.Edge)
	s.serve(server, s.listen(1, 4<<20))
	return s
}

// newSite is an edge of n that does not serve yet.
func newSite(t testing.TB, on *netns.Segment, n network.Network, number int) site {
	t.Helper()
	s := site{t: t, n: n, segment: on, edge: netns.New(t), counted: prometheus.NewRegistry()}
	own := n.Edges[number-1].Address.String() + "/" + strconv.Itoa(n.CIDR.Bits())
	on.Attach(t, s.edge, "net1", "", own, n.NextHopVIP.String()+"/32", n.ServiceVIP.String()+"/32")
	return s
}

// serve serves on sockets until the test or stop ends it.
func (s *site) serve(server *dhcp.Server, sockets udp.Sockets) {
	s.t.Helper()
	server.Metrics = dhcp.NewMetrics(s.counted)
	if server.Network == nil {
		server.Network = func() network.Network { return s.n }
	}
	if server.Log == nil {
		server.Log = slog.New(slog.NewTextHandler(s.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, sockets) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(s.stop)
}

// listen opens the sockets of the edge. With one for broadcasts, the server receives them in the order
// in which they are sent. Each receives into a buffer of so many bytes. 0: the kernel's default.
func (s site) listen(broadcasts, buffer int) (sockets udp.Sockets) {
	s.t.Helper()
	at := []netip.AddrPort{netip.AddrPortFrom(s.n.ServiceVIP, 67)}
	for range broadcasts {
		at = append(at, netip.MustParseAddrPort("0.0.0.0:67"))
	}
	s.edge.Do(s.t, func() {
		conns, err := socket.ListenPackets(s.t.Context(), "net1", at...)
		if err != nil {
			s.t.Error(err)
			return
		}
		for _, c := range conns {
			if buffer > 0 {
				_ = c.SetReadBuffer(buffer)
			}
		}
		if sockets, err = udp.New(conns[0], conns[1:]...); err != nil {
			s.t.Error(err)
		}
	})
	if s.t.Failed() {
		s.t.FailNow()
	}
	return sockets
}

// script does what a client's own script does with what it got, and writes down
// what that was.
const script = `#!/bin/sh
reason=${reason:-$1}
env | grep -E '^(new_|ip=|subnet=|router=|dns=|staticroutes=|lease=|hostname=|domain=|search=|mtu=|ntpsrv=|message=)' | sort > "$RECORD.$reason.tmp"
mv "$RECORD.$reason.tmp" "$RECORD.$reason"
ip=${ip:-$new_ip_address}
case $reason in
bound|renew|BOUND|REBOOT|RENEW|REBIND)
	ip addr flush dev net1
	ip addr add "$ip/24" dev net1
	if [ -n "$staticroutes" ]; then
		set -- $staticroutes
		while [ $# -gt 1 ]; do ip route replace "$1" via "$2" onlink dev net1; shift 2; done
	fi
	# dhclient gives the bytes: width, the destination's, the router's.
	set -- $new_rfc3442_classless_static_routes
	while [ $# -gt 4 ]; do
		w=$1; shift; d=
		for at in 0 8 16 24; do if [ "$w" -gt $at ]; then d=$d.$1; shift; else d=$d.0; fi; done
		ip route replace "${d#.}/$w" via "$1.$2.$3.$4" onlink dev net1; shift 4
	done ;;
deconfig|RELEASE|EXPIRE|STOP)
	ip addr flush dev net1 ;;
esac
`

// A guest is a namespace on the segment with a foreign client in it.
type guest struct {
	site
	ns     *netns.Namespace
	dir    string
	record string
}

func (s site) guest(mac string) guest {
	s.t.Helper()
	g := guest{site: s, ns: netns.New(s.t), dir: s.t.TempDir()}
	s.segment.Attach(s.t, g.ns, "net1", mac)
	g.record = filepath.Join(g.dir, "got")
	g.write("script", script, 0o700)
	g.write("dhclient.conf", "option rfc3442-classless-static-routes code 121 = array of unsigned integer 8;\nrequest subnet-mask, broadcast-address, routers, rfc3442-classless-static-routes, domain-name, domain-name-servers, domain-search, host-name, interface-mtu, ntp-servers;\ntimeout 20;\n", 0o600)
	return g
}

func (g guest) write(name, content string, mode os.FileMode) {
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(content), mode); err != nil {
		g.t.Fatal(err)
	}
}

func (g guest) read(name string) string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(b)
}

// start runs a client until stop; stop ends it with a signal of its choice.
func (g guest) start(program string, args ...string) (stop func(os.Signal)) {
	g.t.Helper()
	c := g.ns.Command(context.WithoutCancel(g.t.Context()), program, args...)
	c.Env = append(os.Environ(), "RECORD="+g.record)
	c.Stdout, c.Stderr = g.t.Output(), g.t.Output()
	confine(c)
	if err := c.Start(); err != nil {
		g.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	stop = func(s os.Signal) { _ = c.Process.Signal(s) }
	g.t.Cleanup(func() {
		_ = c.Cancel()
		<-ended
	})
	return stop
}

// run runs a client to its end.
func (g guest) run(program string, args ...string) error {
	c := g.ns.Command(g.t.Context(), program, args...)
	c.Env = append(os.Environ(), "RECORD="+g.record)
	c.Stdout, c.Stderr = g.t.Output(), g.t.Output()
	confine(c)
	return c.Run()
}

// confine puts a program into a process group, which is killed as a whole. Output is read for 5 s after the program's end, since what it
// left keeps the pipe open.
func confine(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 5 * time.Second
}

// got has the variables that the client's script was given.
func (g guest) got(reason string) map[string]string {
	out := map[string]string{}
	b, _ := os.ReadFile(g.record + "." + reason)
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		out[k] = v
	}
	return out
}

func (g guest) address() string {
	for _, p := range g.ns.Addresses(g.t, "net1") {
		return p.Addr().String()
	}
	return ""
}

func (g guest) udhcpc(args ...string) []string {
	return append([]string{"-f", "-i", "net1", "-s", filepath.Join(g.dir, "script"), "-O", "121", "-O", "119", "-O", "26", "-O", "42"}, args...)
}

func (g guest) dhclient(args ...string) []string {
	return append(args, "-4", "-cf", filepath.Join(g.dir, "dhclient.conf"), "-lf", filepath.Join(g.dir, "leases"),
		"-pf", filepath.Join(g.dir, "pid"), "-sf", filepath.Join(g.dir, "script"), "-e", "RECORD="+g.record, "net1")
}

// gets waits until the client has the address and the routes of the plan.
func (g guest) gets(address string) {
	g.t.Helper()
	w := NewWithT(g.t)
	w.Eventually(g.address, patience.Limit, "50ms").Should(Equal(address))
	w.Eventually(func() string {
		out, _ := exec.Command("ip", "-n", g.ns.Name, "route").Output()
		return string(out)
	}, patience.Limit, "50ms").Should(And(
		ContainSubstring("default via 192.168.100.2 "),
		ContainSubstring("192.168.100.3 via 192.168.100.2 "),
		ContainSubstring("10.240.0.200 via 192.168.100.2 "),
	))
}
