// This file hears on a VM which host ARP frames name for an address.

package networks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/test/netns"
)

// An ear has the ARP frames that arrived at a device since hears.
type ear struct{ fd int }

// A said is an ARP frame: the host with a MAC has an address, and asks for or answers about another one.
type said struct {
	mac            string
	address, about netip.Addr
}

// ethernet is the length of an Ethernet header in bytes, and arp that of a packet about IPv4 addresses.
const ethernet, arp = 14, 28

// hears opens an ear in a namespace. It is closed when the test ends.
func hears(t *testing.T, ns *netns.Namespace, device string) ear {
	t.Helper()
	const inNetworkOrder = unix.ETH_P_ARP<<8&0xff00 | unix.ETH_P_ARP>>8
	e, err := ear{}, error(nil)
	ns.Do(t, func() {
		if e.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		i, none := net.InterfaceByName(device)
		if err = none; err == nil { // A place for each frame, however long nothing reads them.
			err = errors.Join(unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 1<<24),
				unix.Bind(e.fd, &unix.SockaddrLinklayer{Protocol: inNetworkOrder, Ifindex: i.Index}))
		}
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = unix.Close(e.fd) })
	return e
}

// heard returns the frames that arrived since the last call.
func (e ear) heard() (all []said, err error) {
	frame := make([]byte, 2048)
	for {
		n, _, err := unix.Recvfrom(e.fd, frame, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return all, nil
		case errors.Is(err, unix.EINTR) || err == nil && n < ethernet+arp:
			continue
		case err != nil:
			return all, fmt.Errorf("ARP frames: %w", err)
		}
		p := frame[ethernet:]
		all = append(all, said{net.HardwareAddr(p[8:14]).String(), netip.AddrFrom4([4]byte(p[14:18])), netip.AddrFrom4([4]byte(p[24:28]))})
	}
}

// shared are the addresses of both edges that this test uses.
func (a said) shared() bool { return a.address.String() == nextHop || a.address.String() == service }

// asked reports whether a VM asked all hosts for a shared address. It asks the edge that it knows alone.
func asked(all []said) bool {
	return slices.ContainsFunc(all, func(a said) bool {
		return !a.shared() && !a.address.IsUnspecified() && said{address: a.about}.shared()
	})
}

// listen opens an ear on each VM. The function that it returns has what all of them heard since.
func (s *site) listen() (heard func() []said) {
	s.Helper()
	ears := make([]ear, len(s.vms))
	for i, v := range s.vms {
		ears[i] = hears(s.T, v.Namespace, vmDevice)
	}
	return func() (all []said) {
		s.Helper()
		for _, e := range ears {
			more, err := e.heard()
			s.g.Expect(err).NotTo(HaveOccurred())
			all = append(all, more...)
		}
		return all
	}
}

// silence is longer than the pause between two announcements of an edge that has a peer, which is 7 s at most.
const silence = 10 * time.Second

// fallsSilent waits until no edge announces shared addresses any more. Announcements ask for addresses that no host has.
func (s *site) fallsSilent() {
	s.Helper()
	e, last := hears(s.T, s.vms[0].Namespace, vmDevice), time.Now()
	s.g.Eventually(func(g Gomega) {
		all, err := e.heard()
		g.Expect(err).NotTo(HaveOccurred())
		for _, a := range all {
			if a.shared() && a.about.IsLinkLocalUnicast() {
				last = time.Now()
			}
		}
		g.Expect(time.Since(last)).To(BeNumerically(">", silence))
	}, time.Minute, "100ms").Should(Succeed(), "an edge announces all the time")
}

// neverNamed fails if VMs hear, while do runs, that the new edge that do returns has a shared address, see faulty.
func (s *site) neverNamed(do func() *pod) {
	s.Helper()
	heard, since := s.listen(), now(s.control)
	born := do()
	mac, all := born.mac(), heard()
	for _, a := range all {
		if a.mac == mac && a.shared() {
			s.faulty(since, born.announcements() > 0, asked(all), "a VM hears that the new edge has %s (%s), in a frame about %s", a.address, mac, a.about)
		}
	}
	// Both edges look for each other and for the VMs that they answer.
	s.g.Expect(all).NotTo(BeEmpty(), "VMs hear no frame at all")
}
