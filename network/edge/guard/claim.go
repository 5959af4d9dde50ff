// This file makes a claim of the next hop, and says where claims can't be made.
// It never decides when; it needs no privilege.

package guard

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/network/edge"
)

// nobodies are how many addresses claims ask for in turn. Each is unresolved
// again when its turn comes, so the kernel asks at once.
const nobodies = 16

// nobody is an address that no host has: the last 256 of 169.254/16 are reserved
// (RFC 3927 section 2.1). Of the network's own, somebody may have any; and at
// arp_announce=2 none would do, see Slow.
func nobody(n int) netip.Addr { return netip.AddrFrom4([4]byte{169, 254, 255, byte(1 + n%nobodies)}) }

// claim has the kernel broadcast "who has nobody, tell nextHop", three times, a
// second apart: each neighbour that has an entry for nextHop takes our MAC into
// it. It does so because it looks for the receiver of a datagram that is sent
// from nextHop. N makes successive claims ask for different nobodies.
func claim(device string, nextHop netip.Addr, n int) error {
	// On the link, whatever routes there are.
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(nextHop, 0)), Control: edge.Control(device, unix.SO_DONTROUTE)}
	const discard = 9
	c, err := d.Dial("udp4", netip.AddrPortFrom(nobody(n), discard).String())
	if err != nil {
		return fmt.Errorf("claim %s: %w", nextHop, err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte{0}); err != nil {
		return fmt.Errorf("claim %s: %w", nextHop, err)
	}
	return nil
}

// Slow is nil where a claim of nextHop works on device, else an error that says
// what to do; then a lost edge is noticed by the machines' kernels alone, after
// 40 to 50 seconds. It reads <root>/proc/sys/net/ipv4/conf/{all,device}/arp_announce,
// of which the larger counts; root is "/" but in tests. Above 0 the kernel asks
// in the name of the device's first address, so that one must be nextHop.
func Slow(root, device string, nextHop netip.Addr) error {
	level := 0
	for _, i := range []string{"all", device} {
		b, err := os.ReadFile(filepath.Join(root, "proc/sys/net/ipv4/conf", i, "arp_announce"))
		if err != nil {
			return fmt.Errorf("may %s be claimed: %w", nextHop, err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return fmt.Errorf("may %s be claimed: arp_announce of %s: %w", nextHop, i, err)
		}
		level = max(level, n)
	}
	if level == 0 {
		return nil
	}
	first, err := firstAddress(device)
	if err != nil {
		return fmt.Errorf("may %s be claimed: %w", nextHop, err)
	}
	if first == nextHop {
		return nil
	}
	return fmt.Errorf("take-over is slow: with arp_announce=%d the kernel asks in the name of %s, so a claim of %s does nothing: set net.ipv4.conf.all.arp_announce=0 and net.ipv4.conf.%s.arp_announce=0, or give %s the address %s first",
		level, first, nextHop, device, device, nextHop)
}

// firstAddress is the IPv4 address that device was given first.
func firstAddress(device string) (netip.Addr, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("interface %s: %w", device, err)
	}
	all, err := i.Addrs()
	if err != nil {
		return netip.Addr{}, fmt.Errorf("addresses of %s: %w", device, err)
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no IPv4 address", device)
}
