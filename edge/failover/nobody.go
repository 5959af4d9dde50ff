// This file decides which address a claim asks for: one that no host has, and that
// nobody answers for. It never sends.

package failover

import (
	"bufio"
	"errors"
	"net/netip"
	"os"
	"strings"
)

// inTurn is how many addresses claims ask for in turn where nobody answers for
// any. The kernel asks for each for three seconds, and only when it has done with
// that at once again.
const inTurn = 16

// errAnswered is said of a network where no claim can be made any more.
var errAnswered = errors.New("a router on this network answers for every address (proxy ARP), so the kernel asks for none: turn proxy ARP off at its interface on this network")

// nobodies are addresses that no host has: the first and the last 256 of
// 169.254/16 are reserved (RFC 3927 section 2.1), of which the very first and the
// very last are a network's and a broadcast's. Of the network's own, somebody may
// have any; and at arp_announce=2 none would do, see Slow.
//
// A router with proxy ARP answers for them all. What it answered for is in the
// kernel's table, which then asks nobody, so each serves for one claim. The kernel
// begins to forget what is not used for a minute when it has 128 neighbours
// (gc_stale_time, gc_thresh1), so by its defaults they don't run out.
func nobodies() []netip.Addr {
	var first, last []netip.Addr
	for i := range 255 {
		first = append(first, netip.AddrFrom4([4]byte{169, 254, 0, byte(i + 1)}))
		last = append(last, netip.AddrFrom4([4]byte{169, 254, 255, byte(i)}))
	}
	return append(last, first...)
}

// nobody is who the nth claim asks for, given the neighbours that the kernel
// knows.
func nobody(n int, known map[netip.Addr]string) (netip.Addr, error) {
	var free []netip.Addr
	for _, a := range nobodies() {
		if _, answered := known[a]; !answered {
			free = append(free, a)
		}
		if len(free) == inTurn {
			break
		}
	}
	if len(free) == 0 {
		return netip.Addr{}, errAnswered
	}
	return free[n%len(free)], nil
}

// neighbours are the MACs that the kernel knows on device. /proc/net would be the
// network namespace of the process's first thread.
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
