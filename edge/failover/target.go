// This file selects the address that an announcement asks for: one that no host has or
// answers for. It never sends.

package failover

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"strings"
)

// targetsInTurn is how many targets announcements rotate through. The kernel asks for a
// target for three seconds, and asks again at once only after that. Each address of an
// announcement needs a target of its own, since the kernel asks in one name.
const targetsInTurn = 8 * mostAddresses

// ErrAnswered is why announcements are impossible on a network.
var ErrAnswered = errors.New("a router answers for every address (proxy ARP), so the kernel asks for none: disable proxy ARP on its interface on this network")

// unusedAddresses returns addresses that no host has: the first and the last 256 of
// 169.254/16 are reserved (RFC 3927 section 2.1). It omits the network address and the
// broadcast address. An address inside the network's CIDR may belong to a host, and has no
// effect at arp_announce=2; see Degraded.
//
// A router with proxy ARP answers for all of them. An answered address is in the kernel's
// table, so the kernel does not ask again, and the address works for one announcement.
// Above 128 entries the kernel removes those that were unused for a minute (gc_thresh1,
// gc_stale_time). With default settings the addresses do not run out.
func unusedAddresses() []netip.Addr {
	var first, last []netip.Addr
	for i := range 255 {
		first = append(first, netip.AddrFrom4([4]byte{169, 254, 0, byte(i + 1)}))
		last = append(last, netip.AddrFrom4([4]byte{169, 254, 255, byte(i)}))
	}
	return append(last, first...)
}

// target returns the nth address that announcements ask for. Known are the entries of
// the kernel's neighbor table.
func target(n int, known map[netip.Addr]string) (netip.Addr, error) {
	var free []netip.Addr
	for _, a := range unusedAddresses() {
		if _, answered := known[a]; !answered {
			free = append(free, a)
		}
		if len(free) == targetsInTurn {
			break
		}
	}
	if len(free) == 0 {
		return netip.Addr{}, ErrAnswered
	}
	return free[n%len(free)], nil
}

// neighbors returns the MACs in the kernel's table for device. It reads thread-self,
// because /proc/net is that of the process's first thread.
func neighbors(device string) (map[netip.Addr]string, error) {
	f, err := os.Open("/proc/thread-self/net/arp")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	out := map[netip.Addr]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		// IP address, HW type, Flags, HW address, Mask, Device; 0x2 is ATF_COM.
		w := strings.Fields(s.Text())
		if len(w) != 6 || w[2] == "0x0" || w[5] != device {
			continue
		}
		if a, err := netip.ParseAddr(w[0]); err == nil {
			out[a] = strings.ToLower(w[3])
		}
	}
	return out, nil
}
