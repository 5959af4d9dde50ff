package socket_test

import (
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/test/netns"
)

// TestSharedSocketsAdmitNoOther: another container of the edge, which has the same user, cannot join the sockets of a server, and all
// packets reach them. They are spread over the sockets.
func TestSharedSocketsAdmitNoOther(t *testing.T) {
	t.Run("on its device", func(t *testing.T) { sharedSockets(t, "192.0.2.1") })
	t.Run("on the device of the VIPs", func(t *testing.T) { sharedSockets(t, "192.0.2.3") })
}

func sharedSockets(t *testing.T, address string) {
	g := NewWithT(t)
	segment := netns.NewSegment(t)
	e, vm := netns.New(t), netns.New(t)
	segment.Attach(t, e, "net1", "", "192.0.2.1/24")
	segment.Attach(t, vm, "net1", "", "192.0.2.9/24")
	e.Dummy(t, "vips", "192.0.2.3/32")
	at := netip.MustParseAddrPort(address + ":53")
	var shared socket.Shared
	var err, missing error
	e.Do(t, func() {
		shared, err = socket.ListenShared(t.Context(), "net1", at, 17)
		_, missing = socket.ListenShared(t.Context(), "no-such-device", at, 3)
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(shared.Unprotected).NotTo(HaveOccurred())
	g.Expect(missing).To(MatchError(ContainSubstring("bind socket to no-such-device")))
	g.Expect(e.Run(t, "ss", "-Hlnu", "-4")).To(MatchRegexp(`^(UNCONN\s+\d+\s+\d+\s+192\.0\.2\.\d%net1:53\s[^\n]*\n){17}$`))
	for _, options := range [][]int{{unix.SO_REUSEPORT}, {unix.SO_REUSEADDR}, {unix.SO_REUSEPORT, unix.SO_REUSEADDR}} {
		e.Do(t, func() {
			c := net.ListenConfig{Control: socket.Control("net1", options...)}
			_, err = c.ListenPacket(t.Context(), "udp4", at.String())
		})
		g.Expect(err).To(MatchError(ContainSubstring("address already in use")), "options %v", options)
	}
	vm.SetNeighbour(t, "net1", address, e.MAC(t, "net1"), true) // Few packets wait for an answer to ARP.
	const packets = 400
	vm.Do(t, func() {
		for range packets {
			c, err := net.Dial("udp", at.String())
			g.Expect(err).NotTo(HaveOccurred())
			_, err = c.Write([]byte("question"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Close()).To(Succeed())
		}
	})
	var received, used atomic.Int32
	for _, c := range shared.Conns {
		go func() {
			for first, b := true, make([]byte, 100); ; first = false {
				if _, err := c.Read(b); err != nil {
					return
				}
				if first {
					used.Add(1)
				}
				received.Add(1)
			}
		}()
	}
	g.Eventually(received.Load, "1m").Should(BeEquivalentTo(packets))
	g.Expect(used.Load()).To(BeNumerically(">", 8))
	shared.Close()
	e.Do(t, func() { shared, err = socket.ListenShared(t.Context(), "net1", at, 17) })
	g.Expect(err).NotTo(HaveOccurred(), "the address is free again")
	shared.Close()
}
