// Package leasefile keeps leases in a file, for a DHCP server without a cluster. Leases that are written at one time are
// flushed together, so that many clients wait for the disk once.
package leasefile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
)

// A Store keeps leases in memory, and in a directory if one is given.
type Store struct {
	leases.Table
	dir  string
	lock *os.File

	// flushing is held while a batch is written.
	flushing sync.Mutex
	journal  journal

	mu sync.Mutex
	// changing has the addresses of leases that are being written. changed is notified after each write.
	changing map[netip.Addr]bool
	changed  sync.Cond
	// version numbers the applied changes. It distinguishes equal leases that were written at different times.
	version atomic.Uint64
	// Field next has the changes that wait for the disk. Nil: none.
	next *batch
}

// A batch is flushed as a whole. done is closed after that. err is why the changes are not durable.
type batch struct {
	changes []change
	done    chan struct{}
	err     error
}

// Open reads the leases in dir and locks it. With an empty dir, leases exist only in memory.
func Open(dir string) (*Store, error) {
	f := &Store{dir: dir, changing: map[netip.Addr]bool{}}
	f.changed.L = &f.mu
	if dir == "" {
		return f, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if f.lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s is in use by another server: %w", dir, err), f.lock.Close())
	}
	changes, written, err := readJournal(dir)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, c := range changes {
		// A clock that is behind the last write is wrong, so it limits no lease.
		if now := time.Now(); !now.Before(written) {
			c.lease = c.lease.Bounded(now)
		}
		f.apply(c)
	}
	if f.journal, err = newJournal(dir, f.All()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close unlocks the directory.
func (f *Store) Close() error {
	if f.lock == nil {
		return nil
	}
	return errors.Join(f.journal.close(), f.lock.Close())
}

// Ready returns nil: Open has read everything.
func (f *Store) Ready() error { return nil }

// Fresh returns nil: no other process writes the files.
func (f *Store) Fresh() error { return nil }

// Confirm does nothing: no other process writes the files.
func (f *Store) Confirm(context.Context, string, netip.Addr) error { return nil }

// Replace writes a lease in place of the one that the caller read. See dhcp.Store.
func (f *Store) Replace(_ context.Context, was, next network.Lease) error {
	return f.change(change{next.Address, next}, was)
}

// Remove deletes a lease, unless it has changed since the caller read it.
func (f *Store) Remove(_ context.Context, was network.Lease) error {
	if err := f.change(change{address: was.Address}, was); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// change makes c durable, after other changes of the address. fs.ErrExist: the lease on the address has changed since
// the caller read it.
func (f *Store) change(c change, was network.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.changing[c.address] {
		f.changed.Wait()
	}
	if now, _ := f.At(c.address); now != was {
		return fmt.Errorf("lease on %s: %w", c.address, fs.ErrExist)
	}
	if f.dir == "" {
		f.apply(c)
		return nil
	}
	f.changing[c.address] = true
	b, first := f.next, f.next == nil
	if first {
		b = &batch{done: make(chan struct{})}
		f.next = b
	}
	b.changes = append(b.changes, c)
	f.mu.Unlock()
	if first {
		f.flush(b)
	}
	<-b.done
	f.mu.Lock()
	delete(f.changing, c.address)
	f.changed.Broadcast()
	return b.err
}

// flush makes a batch durable. While it waits for another flush, further changes join the batch.
func (f *Store) flush(b *batch) {
	f.flushing.Lock()
	defer f.flushing.Unlock()
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	defer close(b.done)
	if b.err = f.journal.write(b.changes); b.err != nil {
		return
	}
	for _, c := range b.changes {
		f.apply(c)
	}
	if f.journal.long() {
		// The table has all durable changes, so a new journal can begin with it. If that fails, the old journal continues.
		if next, err := newJournal(f.dir, f.All()); err == nil {
			_ = f.journal.close()
			f.journal = next
		}
	}
}

// apply makes a durable change visible to readers.
func (f *Store) apply(c change) {
	if !c.lease.Address.IsValid() {
		f.Delete(c.address)
		return
	}
	c.lease.Version = strconv.FormatUint(f.version.Add(1), 10)
	f.Put(c.lease)
}
