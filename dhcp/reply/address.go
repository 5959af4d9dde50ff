// This file decides which address a client gets: the same on every edge for equal MAC, plan and leases. It
// reads no clock and writes nothing. The search of the range is in search.go.

package reply

import (
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
)

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
	// scarce: no other address is free, so addresses that other hosts seem to use are offered, unless they are
	// spared.
	scarce bool
}

func newClient(n network.Network, k Known, mac string, now time.Time) client {
	c := client{n: n, known: k, now: now, mac: mac}
	name, reported, ok := k.VMs.VM(mac)
	if ok {
		c.vm, c.reported = name, reported
	} else if l, ok := k.Leases.Of(mac); ok && !k.VMs.Gone(l.VM) {
		// Not all VMs may have been read yet, so the name comes from the lease.
		c.vm = l.VM
	}
	return c
}

func (c client) leaseTime() time.Duration { return time.Duration(c.n.DHCP.LeaseTime) }

// reservation returns the reserved address of this client. Zero: none.
func (c client) reservation() netip.Addr {
	for _, r := range c.n.DHCP.Reservations {
		if r.MAC == c.mac {
			return r.Address
		}
	}
	return netip.Addr{}
}

// address returns the address for this client: its current address if the plan permits that. Of several,
// the hint (option 50 or ciaddr) selects one. Else the client gets its reservation, else the hint, else an
// address of the range that depends on its MAC. A reservation is ignored while another client uses its
// address. False: no address is available.
func (c client) address(hint netip.Addr) (netip.Addr, bool) {
	if hint.IsValid() && c.holds(hint) && c.keeps(hint) {
		return hint, true
	}
	if a := c.own(); a.IsValid() && (c.holds(a) || c.room()) {
		return a, true
	}
	if a := c.reservation(); a.IsValid() && c.available(a) {
		return a, true
	}
	if !c.room() {
		return netip.Addr{}, false
	}
	wanted := hint.IsValid() && c.permitted(hint) && c.available(hint)
	if wanted && (!c.last(hint) || c.known.Offered(hint) == c.mac) {
		return hint, true
	}
	a, ok := c.probe()
	if wanted && c.last(a) {
		return hint, true
	}
	return a, ok
}

// own returns the address that the client has and may keep. It is the address of its lease, the one that
// KubeVirt reports, or the one of the VM's former MAC. A report takes precedence over an expired lease.
// Zero: none.
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
	return c.inherited()
}

// inherited returns the address of the VM's former MAC. KubeVirt gives a VM a new MAC at a restart, and a
// node whose address changes is lost to its cluster. Zero: none.
func (c client) inherited() netip.Addr {
	if c.vm == "" || !c.known.Complete {
		return netip.Addr{}
	}
	var last network.Lease
	for _, l := range c.known.Leases.OfVM(c.vm) {
		if c.inherits(l) && c.keeps(l.Address) && c.available(l.Address) && (!last.Address.IsValid() || leases.Later(l, last)) {
			last = l
		}
	}
	return last.Address
}

// inherits reports whether l belongs to this VM, with a MAC that no VM has any longer.
func (c client) inherits(l network.Lease) bool {
	if c.vm == "" || l.VM != c.vm || l.MAC == "" || !c.known.Complete {
		return false
	}
	_, _, exists := c.known.VMs.VM(l.MAC)
	_, _, is := c.known.VMs.VM(c.mac)
	return is && !exists
}

// holds reports whether the client has a lease on a that keeps other clients from getting a.
func (c client) holds(a netip.Addr) bool {
	l, ok := c.known.Leases.At(a)
	return ok && l.MAC == c.mac && !l.Free(c.now, c.leaseTime(), false)
}

// permitted reports whether the plan permits this client to start using a.
func (c client) permitted(a netip.Addr) bool {
	if r := c.reservation(); r.IsValid() && c.available(r) {
		return a == r
	}
	return c.n.DHCP.Range.Contains(a) && !slices.Contains(c.n.DHCP.Named, a) && c.allowed(a) && !c.inUse(a)
}

// keeps reports whether this client may keep its address a. A VM keeps the address that KubeVirt reports for it, whatever
// the plan is by now, unless an edge or the router has it: a node whose address changes is lost to its cluster. A guest
// agent can report any address. So a VM keeps one that is reserved for another client only if it also has the lease, from
// before the reservation. Other addresses are kept as long as the plan permits it. A VM also keeps one outside the range,
// since it may be older than oooi or the range. An unknown client does not, since the address may belong to another
// server's pool. A client whose reservation is free keeps only the reserved address.
func (c client) keeps(a netip.Addr) bool {
	if a == c.reported && isHost(c.n.CIDR, a) {
		return !c.ours(a) && (c.holds(a) || !c.reservedForAnother(a))
	}
	r := c.reservation()
	if r.IsValid() && (a == r || c.available(r)) {
		return a == r
	}
	return (c.n.DHCP.Range.Contains(a) || c.vm != "" && isHost(c.n.CIDR, a)) && c.allowed(a)
}

// allowed reports whether a is not an address of oooi or the router, not excluded, and not reserved for
// another client.
func (c client) allowed(a netip.Addr) bool {
	return !c.ours(a) && !c.reservedForAnother(a) && (a == c.reservation() || !c.excluded(a))
}

func (c client) reservedForAnother(a netip.Addr) bool {
	return slices.ContainsFunc(c.n.DHCP.Reservations, func(r network.Reservation) bool { return r.Address == a && r.MAC != c.mac })
}

func (c client) excluded(a netip.Addr) bool {
	return slices.ContainsFunc(c.n.DHCP.Exclude, func(r network.Range) bool { return r.Contains(a) })
}

// ours reports whether a is never assigned, since an edge or the router has it, or since it is reserved or
// published.
func (c client) ours(a netip.Addr) bool {
	for b := range ours(c.n) {
		if a == b {
			return true
		}
	}
	return false
}

// available reports whether a is not in use by another client.
func (c client) available(a netip.Addr) bool {
	if l, ok := c.known.Leases.At(a); ok {
		if l.MAC == c.mac {
			return true
		}
		// A declined address is in quarantine, but not for the VM that uses it according to KubeVirt. Another
		// client declined it, or the VM was mistaken.
		mistaken := l.MAC == "" && c.vm != "" && c.reported == a
		if !mistaken && !c.inherits(l) && !l.Free(c.now, c.leaseTime(), c.gone(l)) {
			return false
		}
	}
	by := c.known.VMs.Reporter(a)
	return by == "" || by == c.mac
}

// inUse reports whether another host seems to use a, so that a is not offered.
func (c client) inUse(a netip.Addr) bool {
	if c.known.InUse == nil {
		return false
	}
	mac, spared := c.known.InUse(a)
	return mac != "" && mac != c.mac && (spared || !c.scarce)
}

// gone reports whether l belongs to a VM that is gone, and no other VM has its MAC.
func (c client) gone(l network.Lease) bool {
	if l.VM == "" || !c.known.VMs.Gone(l.VM) {
		return false
	}
	_, _, exists := c.known.VMs.VM(l.MAC)
	return !exists
}

// last reports whether a is the last resort for other clients: its lease has not expired, but its VM is
// gone.
func (c client) last(a netip.Addr) bool {
	l, ok := c.known.Leases.At(a)
	return ok && l.MAC != c.mac && !l.Free(c.now, c.leaseTime(), false) && c.gone(l)
}

// isHost reports whether a is in p, and neither its network nor its broadcast address.
func isHost(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && a != p.Masked().Addr() && a != Broadcast(p)
}
