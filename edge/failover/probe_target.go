// This file selects the VMs to probe, and an address that no VM is known to have.

package failover

import (
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/network"
)

// probedAtOnce is how many VMs one probe asks.
const probedAtOnce = 8

// A census holds the addresses on the network that this edge knows.
type census struct {
	// leased are the addresses of DHCP leases, neighbors those of the kernel's table. A VM can add any address to
	// neighbors, but not to leased.
	leased, neighbors []netip.Addr
	// edges are the addresses of this edge and of its peer. They are never probed.
	edges []netip.Addr
	// cidr is the network's CIDR. Addresses outside of it are ignored. If it is invalid, all addresses are ignored.
	cidr netip.Prefix
}

// probed returns the VMs that the nth probe asks, at most probedAtOnce. Successive values of n
// select different VMs in turn. If there are enough leased addresses, half of the VMs have one.
// So a VM with many addresses does not keep the others from being asked.
func (c census) probed(n int) []netip.Addr {
	leased, neighbors := c.vms(c.leased, nil), c.vms(c.neighbors, c.leased)
	half := probedAtOnce / 2
	fromLeased := min(len(leased), max(half, probedAtOnce-len(neighbors)))
	out := inTurn(leased, n, fromLeased)
	return append(out, inTurn(neighbors, n, probedAtOnce-fromLeased)...)
}

// vms returns the addresses in parameter all that may belong to VMs, except those in parameter without. The
// result is sorted, without duplicates.
func (c census) vms(all, without []netip.Addr) []netip.Addr {
	var out []netip.Addr
	for _, a := range all {
		if c.cidr.Contains(a) && !slices.Contains(c.edges, a) && !slices.Contains(without, a) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}

// inTurn returns the nth group of count elements of parameter all. After the last element comes the first one.
func inTurn(all []netip.Addr, n, count int) []netip.Addr {
	var out []netip.Addr
	for i := range min(count, len(all)) {
		out = append(out, all[(n*count+i)%len(all)])
	}
	return out
}

// unused returns an address of the CIDR that no known host has. Successive values of n return
// different addresses. False: there is none.
func (c census) unused(n int) (netip.Addr, bool) {
	var free []netip.Addr
	for a := network.HostAddress(c.cidr, -1); a.IsValid() && c.cidr.Contains(a) && a != c.cidr.Masked().Addr() && len(free) < targetsInTurn; a = a.Prev() {
		if !slices.Contains(c.edges, a) && !slices.Contains(c.leased, a) && !slices.Contains(c.neighbors, a) {
			free = append(free, a)
		}
	}
	if len(free) == 0 {
		return netip.Addr{}, false
	}
	return free[n%len(free)], true
}
