// This file says what the answers depend on, as small interfaces: who has which
// address, and which machines there are. It holds no lease itself.

package dhcp

import (
	"context"
	"net/netip"

	"github.com/cldmnky/oooi/network"
)

// Leases is what is known of who has which address.
type Leases interface {
	// At is the lease on an address, expired or not.
	At(netip.Addr) (network.Lease, bool)
	// Of is the lease of a MAC, the one that lasts longest where there are several.
	Of(mac string) (network.Lease, bool)
}

// A Store keeps leases so that they outlive the server.
type Store interface {
	Leases
	// Ready is nil when every lease that there was is known. Until then nothing
	// new is promised.
	Ready() error
	// Replace writes next where was is what is known of next.Address (the zero
	// Lease: nothing), and returns when it is durable. An error that is
	// fs.ErrExist: somebody else wrote that address, and is known by now.
	Replace(ctx context.Context, was, next network.Lease) error
	// Remove deletes a lease where it is still as was says.
	Remove(ctx context.Context, was network.Lease) error
	// All leases that are known, in no order.
	All() []network.Lease
}

// Machines is what is known of the cluster's machines.
type Machines interface {
	// Machine is the name of the machine with this MAC, and the address it is
	// reported to have on the network, zero where none.
	Machine(mac string) (name string, address netip.Addr, ok bool)
	// Reporter is the MAC of the machine that is reported to have address. Empty:
	// none is.
	Reporter(address netip.Addr) string
	// Gone says that there surely is no machine of this name.
	Gone(name string) bool
	// Ready is nil when every machine that there was is known. Until then nothing
	// new is promised: a machine may have it.
	Ready() error
}

// NoMachines knows none: every client is served from the pool.
type NoMachines struct{}

// Machine is none.
func (NoMachines) Machine(string) (string, netip.Addr, bool) { return "", netip.Addr{}, false }

// Reporter is nobody.
func (NoMachines) Reporter(netip.Addr) string { return "" }

// Gone is never sure.
func (NoMachines) Gone(string) bool { return false }

// Ready is nil: there is nothing to wait for.
func (NoMachines) Ready() error { return nil }

// Known is everything that an answer depends on beside the plan and the clock.
type Known struct {
	Leases   Leases
	Machines Machines
	// Offered is the MAC that an address was offered to a moment ago, so that two
	// machines that start together are not offered the same. Empty: to none. It
	// is a courtesy: the write before the ACK decides.
	Offered func(netip.Addr) string
	// Room is how many more addresses clients may get that are no machines (Room).
	// Nil: there is no limit, as where machines can't be told from others.
	Room func() int
	// Complete: every lease and every machine that there was is known.
	Complete bool
}

// Late are leases that were granted while they could not be written, by address.
// They are only ever known clients' own.
type Late map[netip.Addr]network.Lease

// Over is what is known together: a late lease counts as long as nobody else is
// written at its address.
func (l Late) Over(written Leases) Leases { return layered{l, written} }

type layered struct {
	late    Late
	written Leases
}

// At is the late lease, or the written one.
func (l layered) At(a netip.Addr) (network.Lease, bool) {
	written, ok := l.written.At(a)
	late, is := l.late[a]
	if is && (!ok || written.MAC == late.MAC && written.Expires.Before(late.Expires)) {
		return late, true
	}
	return written, ok
}

// Of is the lease of a MAC that lasts longest.
func (l layered) Of(mac string) (network.Lease, bool) {
	best, ok := l.written.Of(mac)
	for _, late := range l.late {
		if now, is := l.At(late.Address); is && now.MAC == mac && (!ok || best.Expires.Before(now.Expires)) {
			best, ok = now, true
		}
	}
	return best, ok
}
