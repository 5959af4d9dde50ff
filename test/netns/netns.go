// Package netns creates network namespaces and Ethernet segments between them, for tests
// that need a kernel's own addresses, routes and devices. Each test removes what it
// created. The next test removes what a killed test left.
//
// It needs root and iproute2. Without them a test is skipped, or fails if the environment
// has CI=true. OOOI_UNIT skips it.
package netns

import (
	"context"
	"encoding/json"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
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
	handle *os.File
}

// A Segment is one Ethernet segment: a bridge in a namespace of its own, or the bridge of a Node.
type Segment struct {
	ns *Namespace
	// bridge is its device.
	bridge string
	nodes  int
	ports  int
	drops  int
	cables map[cable]string // the segment's end of each
}

// A cable is named after the namespace and the device at its end.
type cable struct{ namespace, device string }

// Require skips the test, or fails it on CI, where namespaces can't be made or
// one of the programs is not there. OOOI_UNIT skips it.
func Require(t testing.TB, needed ...string) {
	t.Helper()
	programs.RequireRoot(t)
	for _, name := range append(needed, "ip") {
		programs.RequireInstalled(t, name)
	}
}

// New makes a namespace.
func New(t testing.TB) *Namespace {
	t.Helper()
	Require(t)
	sweep()
	n := &Namespace{Name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	_, err := ip("netns", "add", n.Name)
	must(t, err)
	t.Cleanup(func() {
		if n.handle != nil {
			_ = n.handle.Close()
		}
		if _, err := ip("netns", "delete", n.Name); err != nil {
			t.Errorf("remove namespace %s: %v", n.Name, err)
		}
	})
	n.handle, err = os.Open(filepath.Join(folder, n.Name))
	must(t, err)
	n.ip(t, "link", "set", "lo", "up")
	return n
}

// ip runs iproute2's program and returns what it printed.
func ip(args ...string) ([]byte, error) {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return out, nil
}

// ip is like the function, in the namespace.
func (n *Namespace) ip(t testing.TB, args ...string) []byte {
	t.Helper()
	out, err := ip(append([]string{"-n", n.Name}, args...)...)
	must(t, err)
	return out
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
		_, _ = ip("netns", "delete", e.Name())
	}
}

// NewSegment makes a segment with no ports.
func NewSegment(t testing.TB) *Segment {
	t.Helper()
	return newBridge(t, New(t), "bridge")
}

func newBridge(t testing.TB, ns *Namespace, name string) *Segment {
	t.Helper()
	ns.ip(t, "link", "add", name, "type", "bridge")
	ns.ip(t, "link", "set", name, "up")
	return &Segment{ns: ns, bridge: name, cables: map[cable]string{}}
}

// Bridge returns the namespace that the bridge is in. The packets that the bridge forwards pass the namespace's iptables.
func (s *Segment) Bridge(t testing.TB) *Namespace {
	t.Helper()
	s.ns.ip(t, "link", "set", s.bridge, "type", "bridge", "nf_call_iptables", "1")
	return s.ns
}

// Node makes the bridge of a node. An uplink connects it to s, the switch.
func (s *Segment) Node(t testing.TB) *Segment {
	t.Helper()
	s.nodes++
	node := newBridge(t, s.ns, "node"+strconv.Itoa(s.nodes))
	up, down := node.bridge+"-up", node.bridge+"-down"
	s.ns.ip(t, "link", "add", up, "master", node.bridge, "type", "veth", "peer", "name", down)
	s.ns.ip(t, "link", "set", down, "master", s.bridge, "up")
	s.ns.ip(t, "link", "set", up, "up")
	s.ns.carries(t, up)
	s.ns.carries(t, down)
	return node
}

// Move moves the other end of n's device from s to another Node of the same switch. The device keeps its carrier. The
// bridges learn where its MAC is when it sends.
func (s *Segment) Move(t testing.TB, n *Namespace, device string, to *Segment) {
	t.Helper()
	key := cable{n.Name, device}
	s.ns.ip(t, "link", "set", s.cables[key], "master", to.bridge)
	to.cables[key] = s.cables[key]
	delete(s.cables, key)
}

// Attach gives n a device on s, up, with these addresses. An empty mac leaves
// it to the kernel.
func (s *Segment) Attach(t testing.TB, n *Namespace, device, mac string, addresses ...string) {
	t.Helper()
	s.ports++
	port := fmt.Sprintf("%s-%d", s.bridge, s.ports)
	args := []string{"link", "add", port, "master", s.bridge, "type", "veth", "peer", "name", device, "netns", n.Name}
	if mac != "" {
		args = append(args, "address", mac)
	}
	s.ns.ip(t, args...)
	s.ns.ip(t, "link", "set", port, "up")
	s.cables[cable{n.Name, device}] = port
	n.ip(t, "link", "set", device, "up")
	s.ns.carries(t, port)
	n.carries(t, device)
	for _, a := range addresses {
		n.Address(t, device, a)
	}
}

// Announce makes the kernel of n announce each address of its device, by gratuitous ARP, as it does for
// a new device of some CNI plugins. Attach does not: the bridge would drop the first packets of a new device.
func (n *Namespace) Announce(t testing.TB, device string) {
	t.Helper()
	n.Sysctl(t, "net/ipv4/conf/"+device+"/arp_notify", "1")
	// A MAC that is set, even if it is the same, is announced.
	n.ip(t, "link", "set", device, "address", n.MAC(t, device))
}

// AttachMacvlan gives n a device on s as the macvlan plugin does: the kernel announces each of
// its addresses when it comes up. The device below it is in a namespace of its own, as a node's is.
func (s *Segment) AttachMacvlan(t testing.TB, n *Namespace, device string, addresses ...string) {
	t.Helper()
	const parent = "parent"
	node := New(t)
	s.Attach(t, node, parent, "")
	node.ip(t, "link", "add", "link", parent, "name", device, "netns", n.Name, "type", "macvlan", "mode", "bridge")
	s.cables[cable{n.Name, device}] = s.cables[cable{node.Name, parent}]
	n.Sysctl(t, "net/ipv4/conf/"+device+"/arp_notify", "1")
	for _, a := range addresses {
		n.Address(t, device, a)
	}
	n.ip(t, "link", "set", device, "up")
}

// Dummy gives n a device without a link. A veth whose other end is down stands in for one of
// type dummy, which not every kernel has.
func (n *Namespace) Dummy(t testing.TB, device string, addresses ...string) {
	t.Helper()
	n.ip(t, "link", "add", device, "type", "veth", "peer", "name", "end")
	n.ip(t, "link", "set", device, "up")
	for _, a := range addresses {
		n.Address(t, device, a)
	}
}

// Pull pulls the cable of n's device: it loses its carrier.
func (s *Segment) Pull(t testing.TB, n *Namespace, device string) {
	t.Helper()
	s.ns.ip(t, "link", "set", s.cables[cable{n.Name, device}], "down")
}

// Plug puts the cable of n's device in again.
func (s *Segment) Plug(t testing.TB, n *Namespace, device string) {
	t.Helper()
	port := s.cables[cable{n.Name, device}]
	s.ns.ip(t, "link", "set", port, "up")
	s.ns.carries(t, port)
	n.carries(t, device)
}

// link is what `ip -json` says about a device and its addresses.
type link struct {
	State     string `json:"operstate"`
	MAC       string `json:"address"`
	Addresses []struct {
		Local  netip.Addr `json:"local"`
		Length int        `json:"prefixlen"`
	} `json:"addr_info"`
}

// carries waits until a device is operational. The kernel gets there some time
// after it was set up, and drops what is sent before.
func (n *Namespace) carries(t testing.TB, device string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience.Limit); ; <-tick.C {
		l, err := n.link(device)
		must(t, err)
		if l.State == "UP" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s", device, l.State)
		}
	}
}

// link is what `ip` says about a device.
func (n *Namespace) link(device string) (link, error) {
	out, err := ip("-n", n.Name, "-json", "link", "show", "dev", device)
	if err != nil {
		return link{}, err
	}
	var all []link
	if err := json.Unmarshal(out, &all); err != nil || len(all) != 1 {
		return link{}, fmt.Errorf("state of %s in namespace %s: %s", device, n.Name, out)
	}
	return all[0], nil
}

// Address adds an address ("192.0.2.1/24") to a device.
func (n *Namespace) Address(t testing.TB, device, address string) {
	t.Helper()
	n.ip(t, "address", "add", address, "dev", device)
}

// Addresses are the IPv4 addresses of a device.
func (n *Namespace) Addresses(t testing.TB, device string) []netip.Prefix {
	t.Helper()
	var all []link
	must(t, json.Unmarshal(n.ip(t, "-json", "-4", "address", "show", "dev", device), &all))
	var out []netip.Prefix
	for _, l := range all {
		for _, a := range l.Addresses {
			out = append(out, netip.PrefixFrom(a.Local, a.Length))
		}
	}
	return out
}

// MAC is a device's, in lower case with colons.
func (n *Namespace) MAC(t testing.TB, device string) string {
	t.Helper()
	l, err := n.link(device)
	must(t, err)
	return l.MAC
}

// Neighbour is the MAC that the kernel knows for an address on device. Empty: it
// knows none.
func (n *Namespace) Neighbour(t testing.TB, device, address string) string {
	t.Helper()
	var known []struct {
		MAC string `json:"lladdr"`
	}
	must(t, json.Unmarshal(n.ip(t, "-json", "-4", "neighbour", "show", "to", address, "dev", device), &known))
	for _, k := range known {
		if k.MAC != "" {
			return k.MAC
		}
	}
	return ""
}

// SetNeighbour has the kernel know mac for an address on device, as if it had
// heard so some time ago (stale), or, where it is permanent, whatever it hears.
func (n *Namespace) SetNeighbour(t testing.TB, device, address, mac string, permanent bool) {
	t.Helper()
	state := "stale"
	if permanent {
		state = "permanent"
	}
	n.ip(t, "neighbour", "replace", address, "lladdr", mac, "dev", device, "nud", state)
}

// ForgetNeighbour removes what the kernel knows about an address on device.
func (n *Namespace) ForgetNeighbour(t testing.TB, device, address string) {
	t.Helper()
	n.ip(t, "neighbour", "delete", address, "dev", device)
}

// Route adds a route to destination ("0.0.0.0/0" for all) by way of via.
func (n *Namespace) Route(t testing.TB, destination, via string) {
	t.Helper()
	n.ip(t, "route", "add", destination, "via", via)
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
		// The thread stays locked, so it ends with the goroutine and is not reused.
		runtime.LockOSThread()
		err := unix.Setns(int(n.handle.Fd()), unix.CLONE_NEWNET)
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
