package device_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/test/netns"
)

const (
	service  = "192.0.2.1:443"
	accepted = "accepted"
	reset    = "reset"
)

// A resetting is a service with a Resetter before it, and two VMs.
type resetting struct {
	edge, vm, other *netns.Namespace
	resetter        *device.Resetter
}

func newResetting(t *testing.T) *resetting {
	t.Helper()
	vlan := netns.NewSegment(t)
	w := &resetting{edge: netns.New(t), vm: netns.New(t), other: netns.New(t)}
	vlan.Attach(t, w.edge, "net1", "", "192.0.2.1/24")
	vlan.Attach(t, w.vm, "eth0", "", "192.0.2.9/24", "198.51.100.9/24")
	vlan.Attach(t, w.other, "eth0", "", "192.0.2.10/24", "198.51.100.10/24")
	w.edge.Route(t, "198.51.100.9/32", "192.0.2.10") // Beyond a router of the same MAC as the other VM.
	w.edge.Route(t, "198.51.100.10/32", "192.0.2.10")
	var clients *device.Clients
	var err error
	w.edge.Do(t, func() { clients, err = device.OpenClients("net1") })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w.resetter = device.NewResetter(clients, func(netip.AddrPort, netip.Addr) {})
	t.Cleanup(clients.Close)
	t.Cleanup(w.resetter.Close)
	return w
}

// newRestarted resets the VM with mac at a service that has started again since.
func newRestarted(t *testing.T) (w *resetting, mac string) {
	t.Helper()
	w = newResetting(t)
	end := w.listens(t, true)
	mac = w.vm.MAC(t, "eth0")
	NewWithT(t).Expect(w.set(t, mac, "192.0.2.9")).To(Succeed())
	end()
	w.listens(t, true)
	return w, mac
}

// set resets address, by its MAC or by itself.
func (w *resetting) set(t *testing.T, mac, address string) error {
	t.Helper()
	to := device.Senders{Listeners: []netip.AddrPort{netip.MustParseAddrPort(service)}, Network: netip.MustParsePrefix("192.0.2.0/24")}
	if m, err := net.ParseMAC(mac); err == nil {
		to.MACs = []net.HardwareAddr{m}
	} else {
		to.Addresses = []netip.Addr{netip.MustParseAddr(address)}
	}
	var err error
	w.edge.Do(t, func() { err = w.resetter.Set(to) })
	return err
}

// listens accepts connections at the service, and permits sockets with its address if so asked.
func (w *resetting) listens(t *testing.T, shared bool) (end func()) {
	t.Helper()
	c := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			if set = unix.BindToDevice(int(fd), "net1"); shared && set == nil {
				set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
			}
		})
		return errors.Join(err, set)
	}}
	var l net.Listener
	var err error
	w.edge.Do(t, func() { l, err = c.Listen(t.Context(), "tcp4", service) })
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(accepted))
			_ = c.Close()
		}
	}()
	end = func() { _ = l.Close() }
	t.Cleanup(end)
	return end
}

// dial returns the result of a connection from an address of n.
func dial(t *testing.T, n *netns.Namespace, from string) (what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n.Do(t, func() {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp4", service)
		if err == nil {
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			b := make([]byte, len(accepted))
			_, err = c.Read(b)
			what = string(b)
		}
		if err != nil {
			what = err.Error()
		}
		if errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.ECONNREFUSED) {
			what = reset
		}
	})
	return what
}

// all returns the results of several connections. The kernel would choose among sockets by the client's port.
func all(t *testing.T, n *netns.Namespace, from string) string {
	t.Helper()
	first := dial(t, n, from)
	for range 20 {
		if next := dial(t, n, from); next != first {
			return first + " and " + next
		}
	}
	return first
}

// TestResetter: a VM is reset with each address, and others are accepted, behind a router with the same MAC,
// too.
func TestResetter(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	w.listens(t, true)
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(accepted))

	g.Expect(w.set(t, w.vm.MAC(t, "eth0"), "192.0.2.9")).To(Succeed())
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))

	g.Expect(w.set(t, w.other.MAC(t, "eth0"), "192.0.2.10")).To(Succeed())
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(accepted))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(reset))
	g.Expect(all(t, w.other, "198.51.100.10")).To(Equal(accepted), "a host beyond a router")

	g.Expect(w.set(t, "", "198.51.100.10")).To(Succeed())
	g.Expect(all(t, w.other, "198.51.100.10")).To(Equal(reset))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))

	g.Expect(w.resetter.Set(device.Senders{Listeners: []netip.AddrPort{netip.MustParseAddrPort(service)}})).To(Succeed())
	g.Expect(all(t, w.other, "198.51.100.10")).To(Equal(accepted))
	w.resetter.Close()
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(accepted))
}

// TestResetterOfAServiceThatStartsAgain: then the kernel counts the sockets in another order. The Resetter notices and gives way,
// so that a SYN arrives that its client sends once more. It resets again when it is told to.
func TestResetterOfAServiceThatStartsAgain(t *testing.T) {
	g := NewWithT(t)
	w, mac := newRestarted(t)
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
	g.Expect(w.set(t, mac, "192.0.2.9")).To(Succeed())
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
}

// TestResetterLeavesAServiceThatStartsAgain at the next Set, before any connection is reset.
func TestResetterLeavesAServiceThatStartsAgain(t *testing.T) {
	g := NewWithT(t)
	w, mac := newRestarted(t)
	g.Expect(w.set(t, mac, "192.0.2.9")).To(Succeed())
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
}

// TestResetterOfTwoMACs: a VM that is reset has another MAC, too, with an address that is not reset. It cannot make the Resetter
// leave the port with it.
func TestResetterOfTwoMACs(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	w.listens(t, true)
	g.Expect(w.set(t, w.vm.MAC(t, "eth0"), "192.0.2.77")).To(Succeed()) // The edge believes that the VM's address is of another MAC.
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
}

// TestResetterWithoutAService listens nowhere, so the service is the first that does.
func TestResetterWithoutAService(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	g.Expect(w.set(t, w.vm.MAC(t, "eth0"), "192.0.2.9")).To(Succeed())
	w.listens(t, true)
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
	g.Expect(w.set(t, w.vm.MAC(t, "eth0"), "192.0.2.9")).To(Succeed())
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
}

// TestResetterOfAServiceThatDoesNotShare is an error, and nothing is reset.
func TestResetterOfAServiceThatDoesNotShare(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	w.listens(t, false)
	g.Expect(w.set(t, w.vm.MAC(t, "eth0"), "192.0.2.9")).To(MatchError(unix.EADDRINUSE))
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(accepted))
}

// TestResetterOfMany: what does not fit into the kernel's program is not reset.
func TestResetterOfMany(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	w.listens(t, true)
	to := device.Senders{Listeners: []netip.AddrPort{netip.MustParseAddrPort(service)}, Network: netip.MustParsePrefix("192.0.2.0/24")}
	for i := range 300 {
		to.Addresses = append(to.Addresses, netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}))
		to.MACs = append(to.MACs, net.HardwareAddr{2, 0, 0, 0, byte(i >> 8), byte(i)})
	}
	vm, err := net.ParseMAC(w.vm.MAC(t, "eth0"))
	g.Expect(err).NotTo(HaveOccurred())
	to.MACs[255] = vm
	w.edge.Do(t, func() { err = w.resetter.Set(to) })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all(t, w.vm, "192.0.2.9")).To(Equal(reset))
	g.Expect(all(t, w.other, "192.0.2.10")).To(Equal(accepted))
}

// TestResetterResetsNoOther while it joins a port, at which another VM opens connections without end.
func TestResetterResetsNoOther(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	mac := w.vm.MAC(t, "eth0")
	for range 20 {
		end := w.listens(t, true)
		ctx, cancel := context.WithCancel(t.Context())
		var dialed, resets atomic.Int64
		var dialing sync.WaitGroup
		for range 4 {
			dialing.Go(func() {
				for ctx.Err() == nil {
					if dial(t, w.other, "192.0.2.10") == reset {
						resets.Add(1)
					}
					dialed.Add(1)
				}
			})
		}
		g.Eventually(dialed.Load, "1m", "1ms").Should(BeNumerically(">", 20))
		g.Expect(w.set(t, mac, "192.0.2.9")).To(Succeed())
		joined := dialed.Load()
		g.Eventually(dialed.Load, "1m", "1ms").Should(BeNumerically(">", joined+20))
		cancel()
		dialing.Wait()
		w.resetter.Close()
		end()
		g.Expect(resets.Load()).To(BeZero(), "of %d", dialed.Load())
	}
}

// TestResetterKeepsFew: connections that wait for their reset count as open ones. There are few, however slow the Resetter is.
func TestResetterKeepsFew(t *testing.T) {
	g := NewWithT(t)
	w := newResetting(t)
	w.listens(t, true)
	var clients *device.Clients
	var err error
	w.edge.Do(t, func() { clients, err = device.OpenClients("net1") })
	g.Expect(err).NotTo(HaveOccurred())
	defer clients.Close()
	hold := make(chan struct{})
	r := device.NewResetter(clients, func(netip.AddrPort, netip.Addr) { <-hold })
	defer r.Close()
	defer close(hold)
	mac, err := net.ParseMAC(w.vm.MAC(t, "eth0"))
	g.Expect(err).NotTo(HaveOccurred())
	w.edge.Do(t, func() {
		err = r.Set(device.Senders{Listeners: []netip.AddrPort{netip.MustParseAddrPort(service)}, Network: netip.MustParsePrefix("192.0.2.0/24"), MACs: []net.HardwareAddr{mac}})
	})
	g.Expect(err).NotTo(HaveOccurred())
	open := func() (n int) {
		g.Expect(clients.Each(func(local, _ netip.AddrPort) {
			if local.String() == service {
				n++
			}
		})).To(Succeed())
		return n
	}
	var all []net.Conn
	w.vm.Do(t, func() {
		for range 300 {
			// The kernel drops it once enough are open.
			c, err := net.DialTimeout("tcp4", service, 2*time.Second)
			if err != nil && !errors.Is(err, unix.ECONNRESET) && open() > 10 {
				break
			}
			if err == nil {
				all = append(all, c)
			}
		}
	})
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	g.Expect(open()).To(And(BeNumerically(">", 10), BeNumerically("<", 100)))
}
