// This file stores leases as files, one for each address, for a server without a
// cluster. Each file is written, flushed and renamed atomically.

package dhcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/network"
)

// Files stores leases in memory, and in a directory if one is given.
type Files struct {
	dir  string
	lock *os.File

	mu     sync.RWMutex
	leases map[netip.Addr]network.Lease
	byMAC  map[string]netip.Addr
}

// OpenFiles reads the leases in dir and locks it. The address of an unreadable file is
// not assigned. With an empty dir, leases exist only in memory.
func OpenFiles(dir string) (*Files, error) {
	f := &Files{dir: dir, leases: map[netip.Addr]network.Lease{}, byMAC: map[string]netip.Addr{}}
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
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var read []network.Lease
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		a, err := netip.ParseAddr(name)
		if !ok || err != nil {
			continue
		}
		read = append(read, readFile(filepath.Join(dir, e.Name()), a))
	}
	// Of several leases of a MAC, the one that expires last counts.
	slices.SortFunc(read, func(a, b network.Lease) int { return a.Expires.Compare(b.Expires) })
	for _, l := range read {
		f.put(l)
	}
	return f, nil
}

func readFile(path string, a netip.Addr) network.Lease {
	var l network.Lease
	b, err := os.ReadFile(path)
	if err == nil && json.Unmarshal(b, &l) == nil && l.Address == a {
		return l
	}
	return network.Lease{Address: a, Expires: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Close unlocks the directory.
func (f *Files) Close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Ready returns nil: OpenFiles has read everything.
func (f *Files) Ready() error { return nil }

// At returns the lease on an address.
func (f *Files) At(a netip.Addr) (network.Lease, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	l, ok := f.leases[a]
	return l, ok
}

// Of returns the lease of a MAC; of several, the one written last.
func (f *Files) Of(mac string) (network.Lease, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	l, ok := f.leases[f.byMAC[mac]]
	return l, ok
}

// All returns all leases, in no order.
func (f *Files) All() []network.Lease {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Collect(maps.Values(f.leases))
}

// Replace writes next if was is the stored lease of its address.
func (f *Files) Replace(_ context.Context, was, next network.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leases[next.Address] != was {
		return fmt.Errorf("lease on %s: %w", next.Address, fs.ErrExist)
	}
	if f.dir != "" {
		b, err := json.Marshal(next)
		if err == nil {
			err = writeFile(f.dir, next.Address.String()+".json", append(b, '\n'))
		}
		if err != nil {
			return err
		}
	}
	f.put(next)
	return nil
}

// Remove deletes a lease if it still equals was.
func (f *Files) Remove(_ context.Context, was network.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leases[was.Address] != was {
		return nil
	}
	if f.dir != "" {
		if err := os.Remove(filepath.Join(f.dir, was.Address.String()+".json")); err != nil {
			return err
		}
		if err := syncDir(f.dir); err != nil {
			return err
		}
	}
	delete(f.leases, was.Address)
	if f.byMAC[was.MAC] == was.Address {
		delete(f.byMAC, was.MAC)
	}
	return nil
}

// put stores l in memory. The caller holds the lock or is alone.
func (f *Files) put(l network.Lease) {
	if old, ok := f.leases[l.Address]; ok && f.byMAC[old.MAC] == l.Address {
		delete(f.byMAC, old.MAC)
	}
	f.leases[l.Address] = l
	if l.MAC != "" {
		f.byMAC[l.MAC] = l.Address
	}
}

// writeFile writes atomically and durably.
func writeFile(dir, name string, content []byte) error {
	t, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(content)
	if err == nil {
		err = t.Sync()
	}
	err = errors.Join(err, t.Close())
	if err == nil {
		err = os.Rename(t.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
