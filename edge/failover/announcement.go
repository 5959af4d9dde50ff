// This file sends failover announcements, selects the address that each ARP request asks for, and reports why
// announcements have no effect on a network. due.go decides when to announce.

package failover

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/network"
)

// mostAddresses is how many addresses one announcement names: the next-hop VIP, the service VIP and
// three more.
const mostAddresses = 5

// named returns the addresses in parameter all that the nth announcement names. If there are too many, these are the
// first two, and a group of the others that changes with n.
func named(all []netip.Addr, n int) []netip.Addr {
	if len(all) <= mostAddresses {
		return all
	}
	return append(slices.Clone(all[:2]), inTurn(all[2:], n, mostAddresses-2)...)
}

// announce sends a datagram from each of addresses to an unused address, over the named device. To find the receiver, the
// kernel broadcasts "who has <unused address>, tell <address>" three times, a second apart. Each host with an ARP entry
// for <address> stores the sender's MAC in that entry. Successive values of n use different unused addresses, since the
// kernel asks only once for an address that a router answers. If one address fails, announce continues with the others,
// and returns the errors together.
func announce(name string, addresses []netip.Addr, n int) error {
	known, err := device.Neighbors(name)
	if err != nil {
		return fmt.Errorf("announcing %s: %w", network.AddressList(addresses), err)
	}
	var errs []error
	for i, a := range named(addresses, n) {
		to, err := target(n*mostAddresses+i, known)
		if err != nil {
			return fmt.Errorf("announcing %s: %w", network.AddressList(addresses), err)
		}
		if err := device.Solicit(name, a, to); err != nil {
			errs = append(errs, fmt.Errorf("announcing %s: %w", a, err))
		}
	}
	return errors.Join(errs...)
}

// An IgnoredError reports that announcements have no effect, because the kernel sends ARP requests from another address.
type IgnoredError struct {
	// Addresses are those that cannot be announced.
	Addresses []netip.Addr
	// ARPAnnounce is the sysctl arp_announce in force, 1 or 2.
	ARPAnnounce int
	// Source is the sender of ARP requests.
	Source netip.Addr
}

// Error implements error.
func (e *IgnoredError) Error() string {
	return fmt.Sprintf("failover is degraded: with arp_announce=%d the kernel sends ARP requests from %s, so announcements of %s have no effect",
		e.ARPAnnounce, e.Source, network.AddressList(e.Addresses))
}

// Degraded returns nil if announcements of addresses work on the named interface, else an *IgnoredError, ErrAnswered, or
// another error if it cannot check. Without announcements only the clients' own kernels notice a lost edge, after 40 to
// 50 s. It reads <root>/proc/sys/net/ipv4/conf/{all,name}/arp_announce, and uses the larger value. root is "/" outside of
// tests. If the value is above 0, the kernel sends ARP requests for targets outside of the network from the device's
// first address (inet_select_addr). So no other address can be announced.
func Degraded(root, name string, addresses ...netip.Addr) error {
	known, err := device.Neighbors(name)
	if err != nil {
		return fmt.Errorf("checking announcements of %s: %w", network.AddressList(addresses), err)
	}
	if _, err := target(0, known); err != nil {
		return fmt.Errorf("failover is degraded: %w", err)
	}
	level, err := device.IPv4Setting(root, name, "arp_announce")
	if err != nil {
		return fmt.Errorf("checking announcements of %s: %w", network.AddressList(addresses), err)
	}
	if level == 0 {
		return nil
	}
	first, err := device.FirstAddress(name)
	if err != nil {
		return fmt.Errorf("checking announcements of %s: %w", network.AddressList(addresses), err)
	}
	ignored := slices.DeleteFunc(slices.Clone(addresses), func(a netip.Addr) bool { return a == first })
	if len(ignored) == 0 {
		return nil
	}
	return &IgnoredError{Addresses: ignored, ARPAnnounce: level, Source: first}
}

// targetsInTurn is how many targets announcements rotate through. The kernel asks for a target for three seconds, always
// with the same sender address. So each address of an announcement needs a target of its own.
const targetsInTurn = 8 * mostAddresses

// ErrAnswered is the error of Degraded on a network where announcements are impossible.
var ErrAnswered = errors.New("a router answers for every address (proxy ARP), so the kernel asks for none: disable proxy ARP on its interface on this network")

// unusedAddresses returns addresses that no host has: the first and the last 256 of
// 169.254/16 are reserved (RFC 3927 section 2.1). It omits the network address and the
// broadcast address. An address inside the network's CIDR may belong to a host, and has no
// effect at arp_announce=2; see Degraded.
//
// A router with proxy ARP answers for all of them. An address that was answered is in the kernel's neighbor table. The
// kernel does not ask for it again, so each address works for one announcement. If the table has more than 128 entries,
// the kernel removes those that were unused for a minute (gc_thresh1, gc_stale_time). With default settings the addresses
// do not run out.
func unusedAddresses() []netip.Addr {
	var first, last []netip.Addr
	for i := range 255 {
		first = append(first, netip.AddrFrom4([4]byte{169, 254, 0, byte(i + 1)}))
		last = append(last, netip.AddrFrom4([4]byte{169, 254, 255, byte(i)}))
	}
	return append(last, first...)
}

// target returns an unused address that is not in parameter known, the kernel's neighbor table. Successive values of n
// rotate through targetsInTurn unused addresses. The error is ErrAnswered if known has all unused addresses.
func target(n int, known []device.Neighbor) (netip.Addr, error) {
	var free []netip.Addr
	for _, a := range unusedAddresses() {
		if device.MACIn(known, a) == "" {
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
