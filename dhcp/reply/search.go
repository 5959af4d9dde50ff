// This file searches the range for an address for a client without one. It uses an index of the leases, so the time does
// not depend on how full the range is.

package reply

import (
	"cmp"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// maxProbes is how many addresses of a range are searched for one client. In a larger range, one of these is assumed to be
// free.
const maxProbes = 1 << 16

// maxPassed is how many addresses a search skips because they were offered to other clients. A host that invents MACs gets
// so many offers that a search without a limit would take milliseconds.
const maxPassed = 1024

// probe searches the range, from a start that depends on the MAC. It prefers addresses in this order: without a lease,
// with an expired lease, of VMs that are gone, offered to another client.
func (c client) probe() (netip.Addr, bool) {
	parts := c.parts()
	var offered netip.Addr
	passed := 0
	free := func(first, last netip.Addr) (netip.Addr, bool) {
		return c.known.Leases.Free(first, last, c.now, c.leaseTime())
	}
	for _, search := range []func(first, last netip.Addr) (netip.Addr, bool){c.known.Leases.Unassigned, free} {
		for _, p := range parts {
			for a, ok := search(p.First, p.Last); ok; a, ok = search(a.Next(), p.Last) {
				if c.permitted(a) && c.available(a) {
					if !c.offeredToAnother(a) {
						return a, true
					}
					offered = cmp.Or(offered, a)
					if passed++; passed == maxPassed {
						return offered, true
					}
				}
				if a == p.Last {
					break
				}
			}
		}
	}
	a, also := c.ofGoneVM(parts)
	a = cmp.Or(a, offered, also)
	return a, a.IsValid()
}

// ofGoneVM returns two addresses of parts whose VM is gone. Result free is the first one that was not offered to another
// client. Result offered is the first one before it that was.
func (c client) ofGoneVM(parts []network.Range) (free, offered netip.Addr) {
	all := c.known.goneVMs()
	for _, p := range parts {
		first, _ := slices.BinarySearchFunc(all, p.First, func(l network.Lease, a netip.Addr) int { return l.Address.Compare(a) })
		for _, l := range all[first:] {
			a := l.Address
			if !p.Contains(a) {
				break
			}
			if !c.permitted(a) || !c.available(a) {
				continue
			}
			if !c.offeredToAnother(a) {
				return a, offered
			}
			offered = cmp.Or(offered, a)
		}
	}
	return netip.Addr{}, offered
}

// offeredToAnother reports whether a was offered to another client a moment ago.
func (c client) offeredToAnother(a netip.Addr) bool {
	by := c.known.Offered(a)
	return by != "" && by != c.mac
}

// parts returns the range without addresses that no new client gets (Exclude and Named): from the place of the MAC (see place) to the end, and then from the
// beginning. It has at most maxProbes addresses.
func (c client) parts() []network.Range {
	r := c.n.DHCP.Range
	size := uint64(r.Size())
	if size == 0 {
		return nil
	}
	start := place(c.mac) % size
	at := func(i uint64) netip.Addr { return network.AddressOf(network.Number(r.First) + uint32(i)) }
	left := min(size, maxProbes)
	to := min(size-start, left)
	turned := []network.Range{{First: at(start), Last: at(start + to - 1)}}
	if left -= to; left > 0 {
		turned = append(turned, network.Range{First: r.First, Last: at(left - 1)})
	}
	holes := slices.Clone(c.n.DHCP.Exclude)
	for _, a := range c.n.DHCP.Named {
		holes = append(holes, network.Range{First: a, Last: a})
	}
	var out []network.Range
	for _, part := range turned {
		out = append(out, part.Without(holes)...)
	}
	return out
}

// place returns a number that depends only on the MAC: it is the same on every edge and in every version.
func place(mac string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(mac))
	x := h.Sum64()
	// FNV maps similar MACs to similar values. These are the first steps of MurmurHash3's finalizer, which must not change.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
