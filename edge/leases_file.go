// This file remembers leases beside the API server, so that a server which starts
// anew while that is away still knows its machines. What the API server says wins
// as soon as it is heard.

package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/cldmnky/oooi/network"
)

// rememberAgain is how often a change is written down; one is lost only where the
// server ends within it and the API server is away too.
const rememberAgain = 2 * time.Second

// Recall begins with the leases in file; where there is none, with nothing. Call
// it before the leases are used.
func (s *Leases) Recall(file string) error {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all []network.Lease
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		return fmt.Errorf("remembered leases: %w", err)
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

// Remember keeps the leases in file until ctx ends, and drops what was recalled
// and is not so any more as soon as the API server is heard.
func (s *Leases) Remember(ctx context.Context, file string, log *slog.Logger) {
	var forgetting sync.WaitGroup
	defer forgetting.Wait()
	forgetting.Go(func() {
		if poll(ctx, s.seen) {
			s.forgetRecalled()
		}
	})
	tick := time.NewTicker(rememberAgain)
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

// forgetRecalled drops what the API server does not have any more.
func (s *Leases) forgetRecalled() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, r := range s.byAddr {
		if r.version == "" {
			s.cut(a)
		}
	}
	s.signal.notify()
}

func (s *Leases) write(file string) error {
	b, err := json.Marshal(s.All())
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
