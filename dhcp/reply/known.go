// This file declares what replies depend on.

package reply

import (
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
)

// Leases is the read access to leases. leases.Table implements it.
type Leases interface {
	// At returns the lease on an address, expired or not.
	At(netip.Addr) (network.Lease, bool)
	// Of returns the lease of a MAC; of several, the one that expires last.
	Of(mac string) (network.Lease, bool)
	// OfVM returns all leases of the VM of this name, in no order.
	OfVM(name string) []network.Lease
	// OfVMs returns the leases of all VMs for whose names selected returns true, in no order.
	OfVMs(selected func(name string) bool) []network.Lease
	// Unassigned returns the lowest address in [first, last] that has no lease.
	Unassigned(first, last netip.Addr) (netip.Addr, bool)
	// Free returns the lowest address in [first, last] with a lease that is free at now
	// (network.Lease.Free, for a VM that exists).
	Free(first, last netip.Addr, now time.Time, leaseTime time.Duration) (netip.Addr, bool)
	// Taken counts the addresses in [first, last] with a lease that is not free at now, and those
	// of them that are in quarantine.
	Taken(first, last netip.Addr, now time.Time, leaseTime time.Duration) (taken, quarantined int)
}

// VMs is the read access to the VMs of the cluster.
type VMs interface {
	// VM returns the name of the VM with this MAC, and the address that KubeVirt
	// reports for it: one in the network's CIDR if there is one, else another (zero: none).
	VM(mac string) (name string, address netip.Addr, ok bool)
	// Reporter returns the MAC of the VM for which KubeVirt reports address. Empty:
	// none.
	Reporter(address netip.Addr) string
	// All returns the MACs of all VMs, each with the address that KubeVirt reports for it
	// (as VM returns it), in no order.
	All() iter.Seq2[string, netip.Addr]
	// Gone reports that no VM of this name existed in the last five minutes. False if that
	// is not certain.
	Gone(name string) bool
	// Ready returns nil once all VMs were read. Until then the server assigns nothing,
	// since a VM may already have the address.
	Ready() error
}

// NoVMs has no VMs: every client gets its address from the pool.
type NoVMs struct{}

// VM returns no VM.
func (NoVMs) VM(string) (string, netip.Addr, bool) { return "", netip.Addr{}, false }

// Reporter returns no MAC.
func (NoVMs) Reporter(netip.Addr) string { return "" }

// All returns no VMs.
func (NoVMs) All() iter.Seq2[string, netip.Addr] { return func(func(string, netip.Addr) bool) {} }

// Gone is always false.
func (NoVMs) Gone(string) bool { return false }

// Ready returns nil.
func (NoVMs) Ready() error { return nil }

// Known is what a reply depends on, besides the plan and the time.
type Known struct {
	Leases Leases
	VMs    VMs
	// Offered returns the MAC to which an address was offered a moment ago. Empty: none. This
	// avoids equal offers to VMs that start together. The write before the ACK decides which
	// client gets the address.
	Offered func(netip.Addr) string
	// InUse returns the MAC of a host that answered for an address recently. Empty: none. Spared:
	// the address is not offered even if no other one is free. Nil: no address was probed. InUse
	// affects only offers to clients with another MAC.
	InUse func(netip.Addr) (mac string, spared bool)
	// GoneVMs returns the result of OfGoneVMs, which may be slightly old. Nil: the leases are
	// searched at each use.
	GoneVMs func() []network.Lease
	// PoolRemaining returns how many more addresses unknown clients may get. Nil: there is no
	// limit.
	PoolRemaining func() int
	// Complete: all leases and VMs were read.
	Complete bool
	// Fresh: the store answered recently (Store.Fresh). False: the peer may have changed any of
	// the leases since.
	Fresh bool
	// Shared: a peer writes the same leases. False: this server knows all changes.
	Shared bool
}

// goneVMs returns the leases of VMs that are gone, sorted by address.
func (k Known) goneVMs() []network.Lease {
	if k.GoneVMs != nil {
		return k.GoneVMs()
	}
	return OfGoneVMs(k.Leases, k.VMs)
}

// OfGoneVMs returns the leases of all VMs that are gone, sorted by address.
func OfGoneVMs(leases Leases, vms VMs) []network.Lease {
	all := leases.OfVMs(vms.Gone)
	slices.SortFunc(all, func(a, b network.Lease) int { return a.Address.Compare(b.Address) })
	return all
}
