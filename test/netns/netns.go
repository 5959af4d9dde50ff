// Package netns makes network namespaces and Ethernet segments between them, for
// tests that need a kernel's own addresses, routes and devices. Everything it
// makes lives in namespaces of its own and is gone after the test; what a killed
// test left behind is removed by the next.
//
// It needs root and iproute2. Without them a test is skipped, or fails where the
// environment says CI=true.
package netns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	prefix = "oooi-test-"
	folder = "/run/netns"
)

// made counts the namespaces of this process, since their names are the whole
// machine's.
var made atomic.Int64

// A Namespace is one network namespace, its loopback up.
type Namespace struct {
	// Name as `ip netns` shows it.
	Name   string
	handle netns.NsHandle
	link   *netlink.Handle
}

// A Segment is one Ethernet segment: a bridge in a namespace of its own.
type Segment struct {
	ns     *Namespace
	bridge netlink.Link
	ports  int
	cables map[cable]netlink.Link
}

// A cable is named by what it ends in.
type cable struct{ namespace, device string }

// Require skips the test, or fails it on CI, where namespaces can't be made or
// one of the programs is not there.
func Require(t testing.TB, programs ...string) {
	t.Helper()
	missing := ""
	if os.Geteuid() != 0 {
		missing = "root"
	}
	for _, p := range append(programs, "ip") {
		if _, err := exec.LookPath(p); err != nil {
			missing = p
		}
	}
	switch {
	case missing == "":
	case os.Getenv("CI") == "true":
		t.Fatalf("this test needs %s", missing)
	default:
		t.Skipf("this test needs %s", missing)
	}
}

// New makes a namespace.
func New(t testing.TB) *Namespace {
	t.Helper()
	Require(t)
	sweep()
	n := &Namespace{Name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	must(t, err)
	defer func() { _ = home.Close() }()
	n.handle, err = netns.NewNamed(n.Name)
	must(t, err)
	must(t, netns.Set(home))
	t.Cleanup(func() {
		n.link.Close()
		_ = n.handle.Close()
		if err := netns.DeleteNamed(n.Name); err != nil {
			t.Errorf("remove namespace %s: %v", n.Name, err)
		}
	})
	n.link, err = netlink.NewHandleAt(n.handle)
	must(t, err)
	lo, err := n.link.LinkByName("lo")
	must(t, err)
	must(t, n.link.LinkSetUp(lo))
	return n
}

// sweep removes the namespaces of test processes that are gone.
func sweep() {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		pid, _, _ := strings.Cut(rest, "-")
		if id, err := strconv.Atoi(pid); !ok || err != nil || unix.Kill(id, 0) != unix.ESRCH {
			continue
		}
		_ = netns.DeleteNamed(e.Name())
	}
}

// NewSegment makes a segment with nobody on it.
func NewSegment(t testing.TB) *Segment {
	t.Helper()
	s := &Segment{ns: New(t), bridge: &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge"}}, cables: map[cable]netlink.Link{}}
	must(t, s.ns.link.LinkAdd(s.bridge))
	must(t, s.ns.link.LinkSetUp(s.bridge))
	return s
}

// Attach gives n a device on s, up, with these addresses. An empty mac leaves
// it to the kernel.
func (s *Segment) Attach(t testing.TB, n *Namespace, device, mac string, addresses ...string) {
	t.Helper()
	s.ports++
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = "port"+strconv.Itoa(s.ports), s.bridge.Attrs().Index
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: device, PeerNamespace: netlink.NsFd(n.handle)}
	if mac != "" {
		hw, err := net.ParseMAC(mac)
		must(t, err)
		veth.PeerHardwareAddr = hw
	}
	must(t, s.ns.link.LinkAdd(veth))
	must(t, s.ns.link.LinkSetUp(veth))
	s.cables[cable{n.Name, device}] = veth
	l, err := n.link.LinkByName(device)
	must(t, err)
	must(t, n.link.LinkSetUp(l))
	carries(t, s.ns.link, attrs.Name)
	carries(t, n.link, device)
	for _, a := range addresses {
		n.Address(t, device, a)
	}
}

// Pull pulls the cable of n's device: it loses its carrier.
func (s *Segment) Pull(t testing.TB, n *Namespace, device string) {
	t.Helper()
	must(t, s.ns.link.LinkSetDown(s.cables[cable{n.Name, device}]))
}

// Plug puts the cable of n's device in again.
func (s *Segment) Plug(t testing.TB, n *Namespace, device string) {
	t.Helper()
	port := s.cables[cable{n.Name, device}]
	must(t, s.ns.link.LinkSetUp(port))
	carries(t, s.ns.link, port.Attrs().Name)
	carries(t, n.link, device)
}

// carries waits until a device is operational. The kernel gets there some time
// after it was set up, and drops what is sent before.
func carries(t testing.TB, h *netlink.Handle, device string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); ; <-tick.C {
		l, err := h.LinkByName(device)
		must(t, err)
		if l.Attrs().OperState == netlink.OperUp {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s", device, l.Attrs().OperState)
		}
	}
}

// Address adds an address ("192.0.2.1/24") to a device.
func (n *Namespace) Address(t testing.TB, device, address string) {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	a, err := netlink.ParseAddr(address)
	must(t, err)
	must(t, n.link.AddrAdd(l, a))
}

// Addresses are the IPv4 addresses of a device.
func (n *Namespace) Addresses(t testing.TB, device string) []netip.Prefix {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	as, err := n.link.AddrList(l, netlink.FAMILY_V4)
	must(t, err)
	var out []netip.Prefix
	for _, a := range as {
		ip, _ := netip.AddrFromSlice(a.IP.To4())
		ones, _ := a.Mask.Size()
		out = append(out, netip.PrefixFrom(ip, ones))
	}
	return out
}

// MAC is a device's, in lower case with colons.
func (n *Namespace) MAC(t testing.TB, device string) string {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	return l.Attrs().HardwareAddr.String()
}

// Neighbour is the MAC that the kernel knows for an address on device. Empty: it
// knows none.
func (n *Namespace) Neighbour(t testing.TB, device, address string) string {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	known, err := n.link.NeighList(l.Attrs().Index, netlink.FAMILY_V4)
	must(t, err)
	for _, k := range known {
		if k.IP.String() == address {
			return k.HardwareAddr.String()
		}
	}
	return ""
}

// SetNeighbour has the kernel know mac for an address on device, as if it had
// heard so some time ago (stale), or, where it is permanent, whatever it hears.
func (n *Namespace) SetNeighbour(t testing.TB, device, address, mac string, permanent bool) {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	hw, err := net.ParseMAC(mac)
	must(t, err)
	state := netlink.NUD_STALE
	if permanent {
		state = netlink.NUD_PERMANENT
	}
	must(t, n.link.NeighSet(&netlink.Neigh{LinkIndex: l.Attrs().Index, Family: netlink.FAMILY_V4, IP: net.ParseIP(address), HardwareAddr: hw, State: state}))
}

// ForgetNeighbour removes what the kernel knows of an address on device.
func (n *Namespace) ForgetNeighbour(t testing.TB, device, address string) {
	t.Helper()
	l, err := n.link.LinkByName(device)
	must(t, err)
	must(t, n.link.NeighDel(&netlink.Neigh{LinkIndex: l.Attrs().Index, Family: netlink.FAMILY_V4, IP: net.ParseIP(address)}))
}

// Route adds a route to destination ("0.0.0.0/0" for all) by way of via.
func (n *Namespace) Route(t testing.TB, destination, via string) {
	t.Helper()
	_, dst, err := net.ParseCIDR(destination)
	must(t, err)
	must(t, n.link.RouteAdd(&netlink.Route{Dst: dst, Gw: net.ParseIP(via)}))
}

// Sysctl writes a setting by its path below /proc/sys
// ("net/ipv4/conf/net1/forwarding").
func (n *Namespace) Sysctl(t testing.TB, path, value string) {
	t.Helper()
	n.Do(t, func() { must(t, os.WriteFile(filepath.Join("/proc/sys", path), []byte(value), 0)) })
}

// Do runs f in the namespace: sockets that f opens and what it reads in
// /proc/sys/net are the namespace's, and stay it. Goroutines that f starts are
// not in it, so open sockets in f and use them anywhere.
func (n *Namespace) Do(t testing.TB, f func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		// The thread is not unlocked, so it ends with the goroutine and nobody
		// else gets it.
		runtime.LockOSThread()
		err := netns.Set(n.handle)
		defer func() { done <- err }()
		if err == nil {
			f()
		}
	}()
	must(t, <-done)
}

// Command runs a program in the namespace until ctx ends. /etc/resolv.conf is the file at
// /etc/netns/<name>/resolv.conf where there is one.
func (n *Namespace) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", n.Name, program}, args...)...)
}

// Run runs a program in the namespace to its end and returns what it printed,
// output and errors together; a failing program fails the test.
func (n *Namespace) Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	out, err := n.Command(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
