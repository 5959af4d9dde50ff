// This file decides which address a client gets. It decides the same for the
// same MAC, plan and leases wherever it runs; it never reads a clock or writes.

package dhcp

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
)

// maxProbes is how many addresses of a range are looked at for one client. A
// larger range is never full of leases that we could keep.
const maxProbes = 1 << 16

// A client is one MAC on one network at one time.
type client struct {
	n     network.Network
	known Known
	now   time.Time
	mac   string
	// machine is the name of the cluster's machine with this MAC. Empty: none.
	machine string
	// reported is the address its machine is reported to have.
	reported netip.Addr
}

func newClient(n network.Network, k Known, mac string, now time.Time) client {
	c := client{n: n, known: k, now: now, mac: mac}
	name, reported, ok := k.Machines.Machine(mac)
	if ok {
		c.machine, c.reported = name, reported
	} else if l, ok := k.Leases.Of(mac); ok && !k.Machines.Gone(l.Machine) {
		// Machines may not have been seen yet; the lease remembers.
		c.machine = l.Machine
	}
	return c
}

func (c client) leaseTime() time.Duration { return time.Duration(c.n.DHCP.LeaseTime) }

// reservation of this client, zero where it has none.
func (c client) reservation() netip.Addr {
	for _, r := range c.n.DHCP.Reservations {
		if r.MAC == c.mac {
			return r.Address
		}
	}
	return netip.Addr{}
}

// address is the one for this client: what it has, as long as the plan lets it
// keep that; else its reservation; else the hint (option 50, or what it says it
// has); else a place in the range that follows from its MAC. False: there is none
// for it now.
func (c client) address(hint netip.Addr) (netip.Addr, bool) {
	if a := c.own(); a.IsValid() && (c.holds(a) || c.room()) {
		return a, true
	}
	if a := c.reservation(); a.IsValid() {
		return a, c.available(a)
	}
	if !c.room() {
		return netip.Addr{}, false
	}
	if hint.IsValid() && c.permitted(hint) && c.available(hint) {
		return hint, true
	}
	return c.probe()
}

// own is the address the client has already, by lease or by what its machine is
// reported to have; a lease that has run out says less than a report. Zero: none
// that it may keep.
func (c client) own() netip.Addr {
	l, ok := c.known.Leases.Of(c.mac)
	leased := ok && c.keeps(l.Address) && c.available(l.Address)
	reported := c.reported.IsValid() && c.keeps(c.reported) && c.available(c.reported)
	switch {
	case leased && (l.Held(c.now) || !reported):
		return l.Address
	case reported:
		return c.reported
	}
	return netip.Addr{}
}

// holds says whether a is the client's by a lease that lasts, so that nobody else
// could get it.
func (c client) holds(a netip.Addr) bool {
	l, ok := c.known.Leases.At(a)
	return ok && l.MAC == c.mac && !l.Free(c.now, c.leaseTime(), false)
}

// permitted says whether the plan lets this client begin to use a.
func (c client) permitted(a netip.Addr) bool {
	if r := c.reservation(); r.IsValid() {
		return a == r
	}
	return c.n.DHCP.Range.Contains(a) && c.allowed(a)
}

// keeps says whether the plan lets this client keep a, which it has. A machine
// that runs keeps an address outside of the range, too: it was there before us, or
// the range was moved since, and a node whose address changes is lost to its
// cluster until somebody mends it. Its own word is not enough: that address may be
// in what another server gives. What is ours, excluded, or reserved for another it
// does not keep, and its own reservation moves it as soon as that is free.
func (c client) keeps(a netip.Addr) bool {
	r := c.reservation()
	if r.IsValid() && (a == r || c.available(r)) {
		return a == r
	}
	return (c.n.DHCP.Range.Contains(a) || c.machine != "" && isHost(c.n.CIDR, a)) && c.allowed(a)
}

// allowed says whether a is neither ours nor excluded nor another's reservation.
func (c client) allowed(a netip.Addr) bool {
	for _, r := range c.n.DHCP.Reservations {
		if r.Address == a {
			return r.MAC == c.mac
		}
	}
	return !c.ours(a) && !c.excluded(a)
}

func (c client) excluded(a netip.Addr) bool {
	return slices.ContainsFunc(c.n.DHCP.Exclude, func(r network.Range) bool { return r.Contains(a) })
}

// ours says whether a is an edge's, the router's, or published: never given,
// whatever the plan's range says.
func (c client) ours(a netip.Addr) bool {
	return a == c.n.NextHop || a == c.n.ServiceAddress || a == c.n.DHCP.Router ||
		slices.Contains(c.n.ReservedAddresses, a) || slices.Contains(c.n.PublishedAddresses, a) ||
		slices.ContainsFunc(c.n.Edges, func(e network.Edge) bool { return e.Address == a })
}

// available says whether nobody else has a.
func (c client) available(a netip.Addr) bool {
	if l, ok := c.known.Leases.At(a); ok {
		if l.MAC == c.mac {
			return true
		}
		gone := l.Machine != "" && c.known.Machines.Gone(l.Machine)
		// What was declined is left alone but by the machine that is reported to use
		// it all the same: whoever declined it was not that machine, or was mistaken.
		mistaken := l.MAC == "" && c.machine != "" && c.reported == a
		if !mistaken && !l.Free(c.now, c.leaseTime(), gone) {
			return false
		}
	}
	by := c.known.Machines.Reporter(a)
	return by == "" || by == c.mac
}

// probe looks at the range from the MAC's place on. Addresses that nobody ever
// had come first, then those whose lease is long over, then those that were only
// offered.
func (c client) probe() (netip.Addr, bool) {
	size, ok := rangeSize(c.n.DHCP.Range)
	if !ok {
		return netip.Addr{}, false
	}
	first, start := number(c.n.DHCP.Range.First), place(c.mac)%size
	var used, offered netip.Addr
	for i := range min(size, maxProbes) {
		a := address(first + uint32((start+i)%size))
		if !c.permitted(a) || !c.available(a) {
			continue
		}
		_, had := c.known.Leases.At(a)
		by := c.known.Offered(a)
		switch {
		case by != "" && by != c.mac:
			offered = either(offered, a)
		case had:
			used = either(used, a)
		default:
			return a, true
		}
	}
	a := either(used, offered)
	return a, a.IsValid()
}

// rangeSize is how many addresses r has; false where it has none.
func rangeSize(r network.Range) (uint64, bool) {
	if !r.First.Is4() || !r.Last.Is4() || r.Last.Less(r.First) {
		return 0, false
	}
	return uint64(number(r.Last)-number(r.First)) + 1, true
}

func either(a, b netip.Addr) netip.Addr {
	if a.IsValid() {
		return a
	}
	return b
}

// place is the same for the same MAC on every edge and in every version.
func place(mac string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(mac))
	x := h.Sum64()
	// FNV leaves neighbouring MACs near each other; mix as MurmurHash3 ends.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// isHost says whether a is one that a host of p may have: not its first (the
// network's) or its last (everybody's).
func isHost(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && a != p.Masked().Addr() && a != broadcast(p)
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
