// This file decides which address an announcement asks for: one that no host has or answers
// for. It never sends.

package failover

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"strings"
)

// targetsInTurn is how many targets announcements use in turn. The kernel asks for each for
// three seconds, and only after that at once again.
const targetsInTurn = 16

// errAnswered is why no announcement can be sent on a network any more.
var errAnswered = errors.New("a router on this network answers for every address (proxy ARP), so the kernel asks for none: turn proxy ARP off at its interface on this network")

// unusedAddresses are addresses that no host has: the first and the last 256 of 169.254/16
// are reserved (RFC 3927 section 2.1). The very first and last are those of the network and
// of its broadcast. An address of the edges' own network may belong to a host, and has no
// effect at arp_announce=2; see Degraded.
//
// A router with proxy ARP answers for them all. An address that it answered for is in the
// kernel's table, so the kernel asks no more and the address serves for one announcement.
// The kernel starts to forget entries that were unused for a minute when it has 128 of them
// (gc_stale_time, gc_thresh1). With default settings the addresses do not run out.
func unusedAddresses() []netip.Addr {
	var first, last []netip.Addr
	for i := range 255 {
		first = append(first, netip.AddrFrom4([4]byte{169, 254, 0, byte(i + 1)}))
		last = append(last, netip.AddrFrom4([4]byte{169, 254, 255, byte(i)}))
	}
	return append(last, first...)
}

// target is the address that the nth announcement asks for. Known are the neighbours that
// the kernel knows.
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
		return netip.Addr{}, errAnswered
	}
	return free[n%len(free)], nil
}

// neighbours are the MACs that the kernel knows on device. /proc/net would be that of the
// process's first thread.
func neighbours(device string) (map[netip.Addr]string, error) {
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
