// This file searches ranges of addresses. A search reads eight bytes for each address, in
// order, so a full /16 takes about 50 microseconds.

package leases

import (
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/network"
)

// pages hold when the lease on each IPv4 address ends, by the first three bytes of the address.
type pages map[uint32]*page

// A page is one /24.
type page struct {
	ends [256]end
	used int
}

// An end is the second in which a lease expires, times two. The end of a quarantine is one more, so
// odd ends are quarantines. 0: no lease.
type end int64

func endOf(l network.Lease) end {
	seconds := l.Expires.Unix()
	if l.Expires.Nanosecond() > 0 {
		seconds++
	}
	out := end(2 * max(seconds, 1))
	if l.MAC == "" {
		out++
	}
	return out
}

func (p pages) put(l network.Lease) {
	if !l.Address.Is4() {
		return
	}
	n := network.Number(l.Address)
	one := p[n>>8]
	if one == nil {
		one = &page{}
		p[n>>8] = one
	}
	if one.ends[n&0xff] == 0 {
		one.used++
	}
	one.ends[n&0xff] = endOf(l)
}

func (p pages) remove(a netip.Addr) {
	if !a.Is4() {
		return
	}
	n := network.Number(a)
	one := p[n>>8]
	if one == nil || one.ends[n&0xff] == 0 {
		return
	}
	one.ends[n&0xff] = 0
	if one.used--; one.used == 0 {
		delete(p, n>>8)
	}
}

// Unassigned returns the lowest IPv4 address in [first, last] that has no lease.
func (t *Table) Unassigned(first, last netip.Addr) (netip.Addr, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for n, end := uint64(network.Number(first)), uint64(network.Number(last)); n <= end; {
		one := t.pages[uint32(n>>8)]
		if one == nil {
			return network.AddressOf(uint32(n)), true
		}
		if one.used == len(one.ends) {
			n = (n | 0xff) + 1
			continue
		}
		for stop := min(n|0xff, end); n <= stop; n++ {
			if one.ends[n&0xff] == 0 {
				return network.AddressOf(uint32(n)), true
			}
		}
	}
	return netip.Addr{}, false
}

// Free returns the lowest IPv4 address in [first, last] with a lease that is free at now. See
// network.Lease.Free, for a VM that exists.
func (t *Table) Free(first, last netip.Addr, now time.Time, leaseTime time.Duration) (netip.Addr, bool) {
	client, quarantine := limits(now, leaseTime)
	var found netip.Addr
	t.each(first, last, func(n uint64, ends []end) bool {
		for i, e := range ends {
			if e != 0 && e.over(client, quarantine) {
				found = network.AddressOf(uint32(n) + uint32(i))
				return false
			}
		}
		return true
	})
	return found, found.IsValid()
}

// Taken counts the IPv4 addresses in [first, last] with a lease that is not free at now, and those
// of them that are in quarantine.
func (t *Table) Taken(first, last netip.Addr, now time.Time, leaseTime time.Duration) (taken, quarantined int) {
	client, quarantine := limits(now, leaseTime)
	t.each(first, last, func(_ uint64, ends []end) bool {
		for _, e := range ends {
			if e != 0 && !e.over(client, quarantine) {
				taken++
				quarantined += int(e & 1)
			}
		}
		return true
	})
	return taken, quarantined
}

// limits returns the latest end of a client's lease, and of a quarantine, with which the address is
// free at now.
func limits(now time.Time, leaseTime time.Duration) (client, quarantine end) {
	return end(2 * now.Add(-leaseTime).Unix()), end(2*now.Unix() + 1)
}

// over reports whether the address of a lease that ends at e is free. client and quarantine are
// from limits.
func (e end) over(client, quarantine end) bool {
	if e&1 == 1 {
		return e <= quarantine
	}
	return e <= client
}

// each calls f for each page of the addresses in [first, last], in order, until f returns false. f
// gets the number of an address, and the ends of the leases from this address on. The read lock is
// held.
func (t *Table) each(first, last netip.Addr, f func(n uint64, ends []end) bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for n, end := uint64(network.Number(first)), uint64(network.Number(last)); n <= end; n = (n | 0xff) + 1 {
		if one := t.pages[uint32(n>>8)]; one != nil && !f(n, one.ends[n&0xff:min(n|0xff, end)&0xff+1]) {
			return
		}
	}
}
