// This file declares what replies depend on: leases and VMs. It stores no lease.

package dhcp

import (
	"context"
	"net/netip"

	"github.com/cldmnky/oooi/network"
)

// Leases is the read access to leases.
type Leases interface {
	// At returns the lease on an address, expired or not.
	At(netip.Addr) (network.Lease, bool)
	// Of returns the lease of a MAC; of several, the one that expires last.
	Of(mac string) (network.Lease, bool)
}

// A Store keeps leases beyond the life of the server.
type Store interface {
	Leases
	// Ready returns nil once all leases were read. Until then the server assigns
	// nothing.
	Ready() error
	// Replace writes next if was is the stored lease of next.Address (the zero Lease:
	// none), and returns when it is durable. fs.ErrExist: another writer changed the
	// address, and the store knows the new lease.
	Replace(ctx context.Context, was, next network.Lease) error
	// Remove deletes a lease if it still equals was.
	Remove(ctx context.Context, was network.Lease) error
	// All returns all known leases, in no order.
	All() []network.Lease
}

// VMs is the read access to the VMs of the cluster.
type VMs interface {
	// VM returns the name of the VM with this MAC, and the address that KubeVirt
	// reports for it on the network (zero: none).
	VM(mac string) (name string, address netip.Addr, ok bool)
	// Reporter returns the MAC of the VM for which KubeVirt reports address. Empty:
	// none.
	Reporter(address netip.Addr) string
	// Gone reports that no VM of this name exists. False if that is not certain.
	Gone(name string) bool
	// Ready returns nil once all VMs were read. Until then the server assigns nothing,
	// since a VM may have the address.
	Ready() error
}

// NoVMs knows no VM: every client gets its address from the pool.
type NoVMs struct{}

// VM returns none.
func (NoVMs) VM(string) (string, netip.Addr, bool) { return "", netip.Addr{}, false }

// Reporter returns none.
func (NoVMs) Reporter(netip.Addr) string { return "" }

// Gone is always false.
func (NoVMs) Gone(string) bool { return false }

// Ready returns nil.
func (NoVMs) Ready() error { return nil }

// Known is what a reply depends on, besides the plan and the time.
type Known struct {
	Leases Leases
	VMs    VMs
	// Offered returns the MAC to which an address was offered a moment ago. Empty: none.
	// It avoids equal offers to VMs that start together. The write before the ACK
	// decides.
	Offered func(netip.Addr) string
	// PoolRemaining returns how many more addresses unknown clients may get. Nil: no
	// limit, since VMs are not known.
	PoolRemaining func() int
	// Complete: all leases and VMs were read.
	Complete bool
}

// Late holds leases that were granted but could not be written, by address. All are
// renewals of known clients.
type Late map[netip.Addr]network.Lease

// Over returns the late leases on top of the written ones. A late lease counts while
// no other client has its address.
func (l Late) Over(written Leases) Leases { return layered{l, written} }

type layered struct {
	late    Late
	written Leases
}

// At returns the late lease, or the written one.
func (l layered) At(a netip.Addr) (network.Lease, bool) {
	written, ok := l.written.At(a)
	late, is := l.late[a]
	if is && (!ok || written.MAC == late.MAC && written.Expires.Before(late.Expires)) {
		return late, true
	}
	return written, ok
}

// Of returns the lease of a MAC that expires last.
func (l layered) Of(mac string) (network.Lease, bool) {
	best, ok := l.written.Of(mac)
	for _, late := range l.late {
		if now, is := l.At(late.Address); is && now.MAC == mac && (!ok || best.Expires.Before(now.Expires)) {
			best, ok = now, true
		}
	}
	return best, ok
}
