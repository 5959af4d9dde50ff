// This file caches leases in a file, so that a server that restarts without the API server still
// knows its VMs. Once the API server answers, its data replaces them.

package kube

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/signal"
)

// The pause after each write of the cache. It is short, since DNS knows a VM's name only once its
// lease is in the cache. It is cachePause times as long as the write took (5 ms for 3,000 VMs), so
// that constant changes take a tenth of a core.
const (
	cachePause    = 10
	shortestPause = 20 * time.Millisecond
	longestPause  = 2 * time.Second
)

// LoadCache loads the leases in file, if it exists. Call it before the leases are used.
func (s *Leases) LoadCache(file string) error {
	all, err := sharedfiles.ReadLeases(file)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range all {
		if _, known := s.versions[l.Address]; !known {
			s.Put(l.Bounded(time.Now()))
			s.versions[l.Address] = ""
		}
	}
	return nil
}

// KeepCache writes the leases to file until ctx ends. Once the API server was read, it drops loaded
// leases that do not exist.
func (s *Leases) KeepCache(ctx context.Context, file string, log *slog.Logger) {
	var dropping sync.WaitGroup
	defer dropping.Wait()
	dropping.Go(func() {
		if signal.Poll(ctx, s.seen) {
			s.dropCached()
		}
	})
	for changed := s.signal.Changed(); ; changed = s.signal.Changed() {
		begin := time.Now()
		if err := s.write(file); err != nil {
			log.Warn("leases not cached", "file", file, "err", err)
		}
		pause := time.After(min(max(cachePause*time.Since(begin), shortestPause), longestPause))
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-pause:
		}
	}
}

// dropCached removes the loaded leases that the API server does not have.
func (s *Leases) dropCached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, version := range s.versions {
		if version == "" {
			s.drop(a)
		}
	}
	s.signal.Notify()
}

func (s *Leases) write(file string) error {
	b, err := json.Marshal(s.All())
	if err != nil {
		return err
	}
	return sharedfiles.Replace(file, b)
}
