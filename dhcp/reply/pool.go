// This file counts how many addresses of the pool are assigned, declined and free. The result depends only on
// leases and KubeVirt's reports, so it is the same on both edges.

package reply

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// PoolOf returns how many addresses of n's pool are assigned, declined and free at now. The pool is the addresses
// that a client without a reservation can get.
func PoolOf(n network.Network, k Known, now time.Time) reported.PoolUse {
	return poolUse(client{n: n, known: k, now: now, mac: "none"}, Ranges(n))
}

func poolUse(newcomer client, pool []network.Range) reported.PoolUse {
	var out reported.PoolUse
	k, free := newcomer.known, func(l network.Lease) bool { return l.Free(newcomer.now, newcomer.leaseTime(), false) }
	for _, r := range pool {
		taken, quarantined := k.Leases.Taken(r.First, r.Last, newcomer.now, newcomer.leaseTime())
		out.Size += r.Size()
		out.Assigned += taken - quarantined
		out.Declined += quarantined
	}
	for _, l := range k.goneVMs() {
		if within(pool, l.Address) && !free(l) && newcomer.available(l.Address) {
			out.Assigned--
		}
	}
	for mac, reported := range k.VMs.All() {
		if l, ok := k.Leases.At(reported); within(pool, reported) && k.VMs.Reporter(reported) == mac && (!ok || free(l)) {
			out.Assigned++
		}
	}
	out.Free = out.Size - out.Assigned - out.Declined
	return out
}

// ReservationsInUse returns the reservations of n whose address another client has at now, in the order of the
// plan. The MAC of an address in quarantine is empty. Clients without a lease are left out.
func ReservationsInUse(n network.Network, k Known, now time.Time) []reported.ReservationInUse {
	var out []reported.ReservationInUse
	for _, r := range n.DHCP.Reservations {
		c := newClient(n, k, r.MAC, now)
		if own, ok := k.Leases.Of(r.MAC); !ok || !own.Held(now) || own.Address == r.Address || c.available(r.Address) {
			continue
		}
		l, _ := k.Leases.At(r.Address)
		by := cmp.Or(k.VMs.Reporter(r.Address), l.MAC)
		out = append(out, reported.ReservationInUse{UsedAddress: reported.UsedAddress{Address: r.Address, MAC: by}, ReservedFor: r.MAC})
	}
	return out
}

// Ranges returns the addresses that a client without a reservation can get, sorted, at most maxProbes of the range.
func Ranges(n network.Network) []network.Range {
	size := n.DHCP.Range.Size()
	if size == 0 {
		return nil
	}
	first := n.DHCP.Range.First
	all := network.Range{First: first, Last: network.AddressOf(network.Number(first) + uint32(min(size, maxProbes)-1))}
	holes := slices.Clone(n.DHCP.Exclude)
	add := func(a netip.Addr) {
		if all.Contains(a) {
			holes = append(holes, network.Range{First: a, Last: a})
		}
	}
	for a := range ours(n) {
		add(a)
	}
	for _, a := range n.DHCP.Named {
		add(a)
	}
	for _, r := range n.DHCP.Reservations {
		add(r.Address)
	}
	return all.Without(holes)
}

// ours returns the addresses that are never assigned: those of edges and of the router, reserved addresses, and
// published ones. Some may be zero.
func ours(n network.Network) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, e := range n.Edges {
			if !yield(e.Address) {
				return
			}
		}
		for _, some := range [][]netip.Addr{{n.NextHopVIP, n.ServiceVIP, n.DHCP.Router}, n.ReservedAddresses, n.PublishedAddresses} {
			for _, a := range some {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// within reports whether a is in one of the sorted ranges.
func within(sorted []network.Range, a netip.Addr) bool {
	i, ok := slices.BinarySearchFunc(sorted, a, func(r network.Range, a netip.Addr) int { return r.First.Compare(a) })
	return ok || i > 0 && sorted[i-1].Contains(a)
}
