// This file caches leases in a file, so that a server that restarts while the API server
// is unavailable still knows its VMs. The API server's data replaces the cache once it is
// read.

package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

// cacheInterval is how often changes are written. A change is lost only if the server
// stops within it while the API server is unavailable.
const cacheInterval = 2 * time.Second

// ReadLeaseCache returns the leases in file, none if it is missing.
func ReadLeaseCache(file string) ([]network.Lease, error) {
	shared := sharedFile{name: file, limit: maxLeaseFile}
	b, err := shared.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []network.Lease
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("cached leases: %w", err)
	}
	return all, nil
}

// LoadCache loads the leases in file. A missing file is no error. Call it before the
// leases are used.
func (s *Leases) LoadCache(file string) error {
	all, err := ReadLeaseCache(file)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range all {
		if _, known := s.byAddr[l.Address]; !known {
			s.put(l, "")
		}
	}
	return nil
}

// KeepCache writes the leases to file until ctx ends. Once the API server was read, it
// drops loaded leases that no longer exist.
func (s *Leases) KeepCache(ctx context.Context, file string, log *slog.Logger) {
	var dropping sync.WaitGroup
	defer dropping.Wait()
	dropping.Go(func() {
		if poll(ctx, s.seen) {
			s.dropCached()
		}
	})
	tick := time.NewTicker(cacheInterval)
	defer tick.Stop()
	for changed := s.signal.changed(); ; changed = s.signal.changed() {
		if err := s.write(file); err != nil {
			log.Warn("leases not cached", "file", file, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// dropCached removes the loaded leases that the API server does not have.
func (s *Leases) dropCached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, r := range s.byAddr {
		if r.version == "" {
			s.unindex(a)
		}
	}
	s.signal.notify()
}

func (s *Leases) write(file string) error {
	b, err := json.Marshal(s.All())
	if err != nil {
		return err
	}
	return ReplaceFile(file, b)
}
