package gate

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/test/netns"
)

// TestWithoutAnswers: a server that accepts everything replaces Envoy, which does the same without answers of the Gate. Once a VM was
// counted with its share at ports other than the API server's, it opens no other connection to such ports. It still opens connections to
// the API server, up to its share there. A Gate that hangs does not change that.
func TestWithoutAnswers(t *testing.T) {
	g := NewWithT(t)
	edge, vm, other, vlan := netns.New(t), netns.New(t), netns.New(t), netns.NewSegment(t)
	vlan.Attach(t, edge, "net1", "", "192.168.100.4/24", onVLAN+"/32")
	vlan.Attach(t, vm, "eth0", "", "192.168.100.20/24")
	vlan.Attach(t, other, "eth0", "", "192.168.100.30/24")
	api, names := onVLAN+":6443", onVLAN+":443"
	has := map[string]func() int{api: accepting(t, edge, api), names: accepting(t, edge, names)}

	var clients *device.Clients
	var err error
	edge.Do(t, func() { clients, err = device.OpenClients("net1") })
	g.Expect(err).NotTo(HaveOccurred())
	defer clients.Close()
	gate := &Gate{
		Limits: resources.NewLimits(2560<<20, 0), Each: clients.Each, Sockets: clients.Sockets, MACOf: clients.MACOf, SetAsked: func(uint32) {},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Denied: newDenied(),
	}
	gate.Serve(blue())
	gate.shares.limits = gate.Limits
	resetter := device.NewResetter(clients, gate.CountReset)
	gate.Reset = func(all []Senders) (err error) {
		edge.Do(t, func() { err = resetter.Set(deviceSenders(all)...) })
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		gate.reset(ctx)
	}()
	defer func() { cancel(); <-ended }()

	share := int(gate.shares.share())
	// Connections to one port may be counted as reset while the next port is filled.
	fill := func(at string, isAPI bool) (most int) {
		open(t, vm, at, share)
		g.Eventually(func() float64 {
			open(t, vm, at, 1)
			return deniedAt(gate, overShare, isAPI)
		}, patient).Should(BeNumerically(">", 0))
		g.Eventually(func() int {
			most = has[at]()
			return strings.Count(vm.Run(t, "ss", "-Hnt", "state", "established", "dst", at), "\n") - most
		}, patient).Should(BeZero(), "all connections are accepted or reset")
		return most
	}
	most := fill(names, false)
	open(t, vm, names, 100)
	g.Expect(has[names]()).To(Equal(most), "the kernel resets all others")
	open(t, other, names, 10)
	g.Eventually(has[names], patient).Should(Equal(most+10), "another VM")
	open(t, vm, api, 10)
	g.Eventually(has[api], patient).Should(Equal(10), "a share of its own")

	of := fill(api, true)
	open(t, vm, api, 100)
	g.Expect(has[api]()).To(Equal(of))
	gate.mu.Lock()
	defer gate.mu.Unlock()
	open(t, vm, names, 10)
	open(t, vm, api, 10)
	open(t, other, api, 10)
	g.Eventually(has[api], patient).Should(Equal(of+10), "of the other VM")
	g.Expect(has[names]()).To(Equal(most + 10))
}

// accepting accepts all connections at an address of n as Envoy does, and returns how many it has.
func accepting(t *testing.T, n *netns.Namespace, at string) (count func() int) {
	t.Helper()
	c := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			set = errors.Join(unix.BindToDevice(int(fd), "net1"), unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		})
		return errors.Join(err, set)
	}}
	var l net.Listener
	var err error
	n.Do(t, func() { l, err = c.Listen(t.Context(), "tcp4", at) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	var accepted atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			accepted.Add(1)
		}
	}()
	return func() int { return int(accepted.Load()) }
}

// deviceSenders are all as a Resetter takes them.
func deviceSenders(all []Senders) (out []device.Senders) {
	for _, s := range all {
		out = append(out, device.Senders(s))
	}
	return out
}

// open opens connections from n, which sends and reads nothing. They stay until the test ends. Each is accepted or reset: one
// that n gives up may be accepted later.
func open(t *testing.T, n *netns.Namespace, at string, count int) {
	t.Helper()
	n.Do(t, func() {
		for range count {
			if c, err := net.DialTimeout("tcp4", at, patient); err == nil {
				t.Cleanup(func() { _ = c.Close() })
			}
		}
	})
}
