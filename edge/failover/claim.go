// This file makes a claim of the next hop, and says where claims can't be made.
// It never decides when; it needs no privilege.

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
)

// claim has the kernel broadcast "who has nobody, tell nextHop", three times, a
// second apart: each neighbour that has an entry for nextHop takes our MAC into
// it. It does so because it looks for the receiver of a datagram that is sent
// from nextHop. N makes successive claims ask for different nobodies. Where a router
// answers for them the kernel asks once; so each cause for a claim has several.
func claim(device string, nextHop netip.Addr, n int) error {
	known, err := neighbours(device)
	if err != nil {
		return fmt.Errorf("claim %s: %w", nextHop, err)
	}
	target, err := nobody(n, known)
	if err != nil {
		return fmt.Errorf("claim %s: %w", nextHop, err)
	}
	// On the link, whatever routes there are.
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(nextHop, 0)), Control: edge.Control(device, unix.SO_DONTROUTE)}
	const discard = 9
	c, err := d.Dial("udp4", netip.AddrPortFrom(target, discard).String())
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
// in the name of the device's first address, so that one must be nextHop. And a
// router with proxy ARP may have answered for all that claims ask for.
func Slow(root, device string, nextHop netip.Addr) error {
	known, err := neighbours(device)
	if err != nil {
		return fmt.Errorf("may %s be claimed: %w", nextHop, err)
	}
	if _, err := nobody(0, known); err != nil {
		return fmt.Errorf("take-over is slow: %w", err)
	}
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
