// This file decides which address a client gets. Equal MAC, plan and leases give the
// same address on every edge. It reads no clock and writes nothing.

package dhcp

import (
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
)

// maxProbes is how many addresses of a range are checked for one client. No larger
// range is ever full.
const maxProbes = 1 << 16

// A client is one MAC on one network at one time.
type client struct {
	n     network.Network
	known Known
	now   time.Time
	mac   string
	// vm is the name of the VM with this MAC. Empty: an unknown client.
	vm string
	// reported is the address that KubeVirt reports for the VM.
	reported netip.Addr
}

func newClient(n network.Network, k Known, mac string, now time.Time) client {
	c := client{n: n, known: k, now: now, mac: mac}
	name, reported, ok := k.VMs.VM(mac)
	if ok {
		c.vm, c.reported = name, reported
	} else if l, ok := k.Leases.Of(mac); ok && !k.VMs.Gone(l.VM) {
		// VMs may not have been read yet; the lease has the name.
		c.vm = l.VM
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

// address returns the address for this client: the one it has if the plan permits it,
// else its reservation, else the hint (option 50 or ciaddr), else a place in the range
// that depends on its MAC. False: there is none.
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

// own returns the address that the client has, from a lease or from KubeVirt's report.
// A report wins over an expired lease. Zero: none that it may keep.
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

// holds reports whether the client has a lease on a that prevents its reassignment.
func (c client) holds(a netip.Addr) bool {
	l, ok := c.known.Leases.At(a)
	return ok && l.MAC == c.mac && !l.Free(c.now, c.leaseTime(), false)
}

// permitted reports whether the plan permits this client to start using a.
func (c client) permitted(a netip.Addr) bool {
	if r := c.reservation(); r.IsValid() {
		return a == r
	}
	return c.n.DHCP.Range.Contains(a) && c.allowed(a)
}

// keeps reports whether the plan permits this client to keep its address a. A running
// VM keeps an address outside the range, too: it may be older than oooi, or the range
// has changed. A node whose address changes is lost to its cluster. The client's own
// word is not enough, since the address may belong to another server's pool. A client
// does not keep an address of an edge, an excluded one, or another's reservation. Its
// own reservation replaces its address when that one is free.
func (c client) keeps(a netip.Addr) bool {
	r := c.reservation()
	if r.IsValid() && (a == r || c.available(r)) {
		return a == r
	}
	return (c.n.DHCP.Range.Contains(a) || c.vm != "" && isHost(c.n.CIDR, a)) && c.allowed(a)
}

// allowed reports whether a is not an edge's, not excluded and not another's reservation.
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

// ours reports whether a belongs to an edge, to the router, or is published. Such an
// address is never assigned, even inside the range.
func (c client) ours(a netip.Addr) bool {
	return a == c.n.NextHopVIP || a == c.n.ServiceVIP || a == c.n.DHCP.Router ||
		slices.Contains(c.n.ReservedAddresses, a) || slices.Contains(c.n.PublishedAddresses, a) ||
		slices.ContainsFunc(c.n.Edges, func(e network.Edge) bool { return e.Address == a })
}

// available reports whether no other client has a.
func (c client) available(a netip.Addr) bool {
	if l, ok := c.known.Leases.At(a); ok {
		if l.MAC == c.mac {
			return true
		}
		gone := l.VM != "" && c.known.VMs.Gone(l.VM)
		// A declined address is in quarantine for all but the VM that KubeVirt reports to
		// use it: another client declined it, or the VM was mistaken.
		mistaken := l.MAC == "" && c.vm != "" && c.reported == a
		if !mistaken && !l.Free(c.now, c.leaseTime(), gone) {
			return false
		}
	}
	by := c.known.VMs.Reporter(a)
	return by == "" || by == c.mac
}

// probe searches the range from the place of the MAC. It prefers addresses that were
// never assigned, then those with an expired lease, then those that were offered.
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

// rangeSize returns the number of addresses of r; false if it has none.
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

// place is stable for a MAC, on every edge and in every version.
func place(mac string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(mac))
	x := h.Sum64()
	// FNV maps similar MACs to similar values; this is MurmurHash3's finalizer.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// isHost reports whether a is a host address of p: not its network or broadcast
// address.
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
