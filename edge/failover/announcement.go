// This file sends a failover announcement, and reports where announcements have no effect.
// It does not decide when to announce, and needs no privilege.

package failover

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/device"
)

// announce makes the kernel broadcast "who has <unused address>, tell nextHop" three
// times, a second apart. Each host with an ARP entry for nextHop updates it with the
// sender's MAC. The kernel broadcasts in order to find the receiver of a datagram that is
// sent from nextHop. Successive values of n use different targets. If a router answers for
// a target, the kernel asks only once; so each cause has several announcements.
func announce(device string, nextHop netip.Addr, n int) error {
	known, err := neighbors(device)
	if err != nil {
		return fmt.Errorf("announcing %s: %w", nextHop, err)
	}
	to, err := target(n, known)
	if err != nil {
		return fmt.Errorf("announcing %s: %w", nextHop, err)
	}
	// The datagram stays on the link, whatever the routes are.
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(nextHop, 0)), Control: edge.Control(device, unix.SO_DONTROUTE)}
	const discard = 9
	c, err := d.Dial("udp4", netip.AddrPortFrom(to, discard).String())
	if err != nil {
		return fmt.Errorf("announcing %s: %w", nextHop, err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte{0}); err != nil {
		return fmt.Errorf("announcing %s: %w", nextHop, err)
	}
	return nil
}

// An IgnoredError says that announcements have no effect, because the kernel sends ARP
// requests from another address than the next-hop VIP.
type IgnoredError struct {
	// ARPAnnounce is the sysctl arp_announce in force, 1 or 2.
	ARPAnnounce int
	// Source is the address that ARP requests are sent from.
	Source netip.Addr
}

// Error implements error.
func (e *IgnoredError) Error() string {
	return fmt.Sprintf("failover is degraded: with arp_announce=%d the kernel sends ARP requests from %s, so announcements have no effect",
		e.ARPAnnounce, e.Source)
}

// Degraded returns nil if announcements of nextHop work on device, else an *IgnoredError,
// ErrAnswered, or why it cannot check. Without them only the VMs' own kernels notice a lost edge, after 40 to 50 s. It
// reads <root>/proc/sys/net/ipv4/conf/{all,device}/arp_announce, of which the larger
// counts; root is "/" outside of tests. Above 0 the kernel sends ARP requests from the
// device's first address, so nextHop must be first. A router with proxy ARP may also have
// answered for all targets.
func Degraded(root, device string, nextHop netip.Addr) error {
	known, err := neighbors(device)
	if err != nil {
		return fmt.Errorf("checking announcements of %s: %w", nextHop, err)
	}
	if _, err := target(0, known); err != nil {
		return fmt.Errorf("failover is degraded: %w", err)
	}
	level := 0
	for _, i := range []string{"all", device} {
		b, err := os.ReadFile(filepath.Join(root, "proc/sys/net/ipv4/conf", i, "arp_announce"))
		if err != nil {
			return fmt.Errorf("checking announcements of %s: %w", nextHop, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return fmt.Errorf("checking announcements of %s: arp_announce of %s: %w", nextHop, i, err)
		}
		level = max(level, n)
	}
	if level == 0 {
		return nil
	}
	first, err := firstAddress(device)
	if err != nil {
		return fmt.Errorf("checking announcements of %s: %w", nextHop, err)
	}
	if first == nextHop {
		return nil
	}
	return &IgnoredError{ARPAnnounce: level, Source: first}
}

// firstAddress returns the IPv4 address that an interface was given first.
func firstAddress(name string) (netip.Addr, error) {
	s, err := device.Read(name)
	if err != nil {
		return netip.Addr{}, err
	}
	if first := s.First(); first.IsValid() {
		return first, nil
	}
	return netip.Addr{}, fmt.Errorf("%s has no IPv4 address", name)
}
