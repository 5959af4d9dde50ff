// This file declares where the server keeps leases.

package dhcp

import (
	"context"
	"net/netip"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// A Store holds the leases of a network. In a cluster, its storage is the API server.
type Store interface {
	reply.Leases
	// Ready returns nil once all leases were read. Until then the server assigns nothing.
	Ready() error
	// Fresh returns nil while the storage behind the Store can be read and written. It returns
	// immediately.
	Fresh() error
	// Confirm reads the lease on an address and the leases of a MAC from the storage again. It
	// returns an error if the storage did not answer.
	Confirm(ctx context.Context, mac string, address netip.Addr) error
	// Replace writes next durably in place of was, the lease that the caller read on the same
	// address. A zero was means that the address had no lease. It returns fs.ErrExist if another
	// writer has changed the address since. The store then knows the current lease.
	Replace(ctx context.Context, was, next network.Lease) error
	// Remove deletes a lease, unless it has changed since the caller read it.
	Remove(ctx context.Context, was network.Lease) error
	// All returns all known leases, in no order.
	All() []network.Lease
}
