package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
)

// accessPort is the port of CONNECT requests.
const accessPort = 3128

// A door is an edge with an access proxy between a pod and the VM worker-1, which is v.machine.
type door struct {
	vlan
	dir, plan string
}

// newDoor writes the plan and the leases. Start runs the access proxy.
func newDoor(t *testing.T) door {
	t.Helper()
	d := door{vlan: newVLAN(t, blueService+"/32", blueNextHop+"/32"), dir: fakes.RunDir(t)}
	d.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	d.machine.Route(t, "10.128.0.0/24", "192.168.100.4") // The weak host model.
	d.plan = filepath.Join(d.dir, "plan.json")
	bluePlan(t, d.plan, netip.MustParseAddr(blueService), "api.blue.example.com")
	changePlan(t, d.plan, func(n *network.Network) { n.Services = []network.Service{network.ServiceDHCP, network.ServiceDNS} })
	d.open(t, network.AccessDestination{Name: "nodes", Port: 10250}, network.AccessDestination{Name: "nodes", Port: 22, Listen: 2222})
	if err := os.MkdirAll(wire.Dir(d.dir, "dhcp"), 0o755); err != nil {
		t.Fatal(err)
	}
	leases := `[{"address":"192.168.100.20","mac":"` + d.machine.MAC(t, "eth0") + `","vm":"worker-1","expires":"2999-01-01T00:00:00Z"},
	  {"address":"192.168.100.21","mac":"02:00:00:00:00:03","vm":"worker-2","expires":"2999-01-01T00:00:00Z"},
	  {"address":"10.128.0.1","mac":"02:00:00:00:00:02","vm":"pod","expires":"2999-01-01T00:00:00Z"}]`
	if err := sharedfiles.Replace(wire.File(d.dir, "dhcp", wire.LeaseCache), []byte(leases)); err != nil {
		t.Fatal(err)
	}
	return d
}

// open replaces the destinations of the plan.
func (d door) open(t *testing.T, all ...network.AccessDestination) {
	t.Helper()
	changePlan(t, d.plan, func(n *network.Network) { n.Access = network.Access{Port: accessPort, Destinations: all} })
}

// args start the access proxy as in a pod.
func (d door) args() []string {
	return []string{"access", "--plan", d.plan, "--run-dir", d.dir, "--watched-by", "dhcp"}
}

// through opens a connection through the access proxy, which forward dials.
func through(t *testing.T, forward forwardFunc, proxy, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit)
	defer cancel()
	return dial.Dialer{Proxy: proxy, Forward: forward}.DialContext(ctx, "tcp", address)
}

type forwardFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// from dials from an address of a namespace. Empty: the kernel chooses it.
func from(t *testing.T, n *netns.Namespace, address string) forwardFunc {
	local := &net.TCPAddr{IP: net.ParseIP(address)}
	return func(ctx context.Context, _, to string) (c net.Conn, err error) {
		n.Do(t, func() {
			c, err = (&net.Dialer{Timeout: patience.Limit, LocalAddr: local}).DialContext(ctx, "tcp4", to)
		})
		return c, err
	}
}

// asked opens a connection through the access proxy, and returns what the destination says at once, or the error.
func asked(t *testing.T, n *netns.Namespace, proxy, address string) string {
	t.Helper()
	c, err := through(t, from(t, n, ""), proxy, address)
	return said(c, err)
}

// plain connects to a port that needs no CONNECT, and returns what it says, or why not.
func plain(t *testing.T, n *netns.Namespace, at string) string {
	t.Helper()
	c, err := from(t, n, "")(t.Context(), "tcp", at)
	return said(c, err)
}

// said returns what a connection says until it ends, or why there is none.
func said(c net.Conn, err error) string {
	if err != nil {
		return err.Error()
	}
	defer func() { _ = c.Close() }()
	return line(c)
}

// line reads what c says until it ends.
func line(c net.Conn) string {
	_ = c.SetDeadline(time.Now().Add(patience.Limit))
	b, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b))
}

// tells returns a server that answers with what, and with the caller and the port of a connection.
func tells(what string) func(net.Conn) {
	return func(c net.Conn) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		fmt.Fprintf(c, "%s for %s\n", what, host)
	}
}

const atEdge = "10.128.0.2:3128"

// TestAccess: a pod reaches what the plan opens, from the edge's own address. A VM finds no port, whatever it routes. All follows
// the plan, and without access no socket is open.
func TestAccess(t *testing.T) {
	g, d := NewWithT(t), newDoor(t)
	d.machine.Serve(t, "0.0.0.0:10250", tells("kubelet"))
	d.machine.Serve(t, "0.0.0.0:22", tells("ssh"))
	d.pod.Serve(t, "0.0.0.0:10250", tells("a pod"))
	d.edge.Serve(t, "127.0.0.1:10250", tells("the edge itself"))
	p := start(t, d.edge, d.args()...)
	from := func(address string) func() string {
		return func() string { return asked(t, d.pod, atEdge, address) }
	}
	g.Eventually(from("worker-1:10250")).Should(Equal("kubelet for 192.168.100.4"))
	for _, name := range []string{"worker-1.blue.example.com:10250", "192.168.100.20:10250", "WORKER-1.:10250"} {
		g.Expect(from(name)()).To(Equal("kubelet for 192.168.100.4"))
	}
	for _, closed := range []string{
		"worker-1:10255", "127.0.0.1:10250", "10.128.0.1:10250", "10.128.0.2:3128", "pod:10250", "169.254.169.254:10250", "192.168.100.4:10250", blueService + ":10250", blueNextHop + ":10250",
	} {
		g.Expect(from(closed)()).To(HaveSuffix("403 the destination is not open"), closed)
	}
	// A VM that configures the address of another one.
	d.machine.Address(t, "eth0", "192.168.100.21/24")
	g.Expect(from("worker-2:10250")()).To(HaveSuffix("502 the destination does not answer: another host has the address of the VM"))
	g.Expect(asked(t, d.edge, "127.0.0.1:3128", "worker-1:10250")).To(Equal("kubelet for 192.168.100.4"), "a forwarded port of the pod")
	g.Expect(plain(t, d.pod, "10.128.0.2:2222")).To(Equal("ssh for 192.168.100.4"))
	g.Expect(plain(t, d.edge, "127.0.0.1:2222")).To(ContainSubstring("refused"))
	g.Expect(listening(t, d.edge)).To(ConsistOf("0.0.0.0%eth0:3128", "0.0.0.0%eth0:2222", "127.0.0.1%lo:3128", "127.0.0.1:10250"))
	g.Expect(openPorts(t, d.machine, "10.128.0.2", 1, 65535)).To(BeEmpty(), "a VM that routes by the edge")
	for _, at := range []string{"192.168.100.4", blueService, blueNextHop} {
		g.Expect(openPorts(t, d.machine, at, 1, 4000)).To(BeEmpty(), "a VM at %s", at)
	}
	g.Expect(openPorts(t, d.pod, "10.128.0.2", 1, 4000)).To(Equal([]int{2222, accessPort}), "the scan finds what is open")
	g.Eventually(p.String).Should(And(
		MatchRegexp(`"msg":"tunnel ended",.*"caller":"10\.128\.0\.1:\d+","asked":"worker-1:10250","destination":"nodes","destinationPort":10250,"dialed":"192\.168\.100\.20:10250","sent":0,"received":26,"seconds":[\d.e-]+,"end":"closed"`),
		MatchRegexp(`"msg":"caller refused",.*"asked":"10\.128\.0\.2:3128","status":403,"why":"the destination is not open"`),
	))

	d.open(t, network.AccessDestination{Name: "nodes", Port: 22, Listen: 2223})
	g.Eventually(func() string { return plain(t, d.pod, "10.128.0.2:2223") }).Should(Equal("ssh for 192.168.100.4"))
	g.Expect(plain(t, d.pod, "10.128.0.2:2222")).To(ContainSubstring("refused"))
	g.Expect(from("worker-1:10250")()).To(HaveSuffix("403 the destination is not open"))
	changePlan(t, d.plan, func(n *network.Network) {
		n.Access.Accounts, n.Access.Audience = []string{"backup/tool"}, "oooi-access.clusters-blue"
		n.Access.Destinations[0].Listen = 0 // A plain port carries no token.
	})
	g.Eventually(from("worker-1:22")).Should(HaveSuffix("401 a token is missing"))
	g.Expect(plain(t, d.pod, "10.128.0.2:2223")).To(ContainSubstring("refused"))
	changePlan(t, d.plan, func(n *network.Network) { n.Access = network.Access{} })
	g.Eventually(func() []string { return listening(t, d.edge) }).Should(ConsistOf("127.0.0.1:10250"))
}
