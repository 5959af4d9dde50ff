// This file declares where the server keeps leases.

package dhcp

import (
	"context"
	"net/netip"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A Store keeps leases beyond the life of the server.
type Store interface {
	reply.Leases
	// Ready returns nil once all leases were read. Until then the server assigns
	// nothing.
	Ready() error
	// Fresh returns nil while the leases can be read and written: what they are kept in
	// answered lately. It returns immediately.
	Fresh() error
	// Confirm reads the lease on an address and those of a MAC again, from what they are
	// kept in. An error: it did not answer.
	Confirm(ctx context.Context, mac string, address netip.Addr) error
	// Replace writes next if was is the stored lease of next.Address (the zero Lease:
	// none), and returns when it is durable. fs.ErrExist: another writer changed the
	// address, and the store knows the new lease.
	Replace(ctx context.Context, was, next network.Lease) error
	// Remove deletes a lease if it still equals was.
	Remove(ctx context.Context, was network.Lease) error
	// All returns all known leases, in no order.
	All() []network.Lease
}
