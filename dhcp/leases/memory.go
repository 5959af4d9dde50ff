// This file holds Memory, the leases of a DHCP server without a cluster.

package leases

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"sync"

	"github.com/cldmnky/oooi/network"
)

// A Memory is a Table that one DHCP server uses as its dhcp.Store. Leases end with the process. The zero
// Memory is empty.
type Memory struct {
	Table
	// writing is held from the comparison of a lease until its change.
	writing sync.Mutex
	// version counts the writes. It distinguishes equal leases that were written at different times.
	version uint64
}

// Ready returns nil: there is nothing to read.
func (*Memory) Ready() error { return nil }

// Fresh returns nil: no other process writes leases.
func (*Memory) Fresh() error { return nil }

// Confirm does nothing: no other process writes leases.
func (*Memory) Confirm(context.Context, string, netip.Addr) error { return nil }

// Replace puts next in place of the lease that the caller read. See dhcp.Store.
func (m *Memory) Replace(_ context.Context, was, next network.Lease) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if now, _ := m.At(next.Address); now != was {
		return fmt.Errorf("lease on %s: %w", next.Address, fs.ErrExist)
	}
	m.version++
	next.Version = strconv.FormatUint(m.version, 10)
	m.Put(next)
	return nil
}

// Remove deletes a lease, unless it has changed since the caller read it.
func (m *Memory) Remove(_ context.Context, was network.Lease) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.DeleteIf(was)
	return nil
}
