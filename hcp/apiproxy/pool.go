// This file divides what there is among callers.

package apiproxy

import (
	"net"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A pool is shared by all callers: bytes of bodies or of requests, or connections.
type pool struct {
	mu   sync.Mutex
	free int64
	// callers are those with a share now, by IP address: a caller has no name yet, and can invent tokens.
	callers map[string]*caller
}

// A caller's bodies wait for each other before they wait for those of others. So one caller's bodies are never ahead of
// another's by more than parsedBodies.
type caller struct {
	shares int
	held   int64 // by them
	parsed *semaphore.Weighted
}

func newPool(size int64) *pool { return &pool{free: size, callers: map[string]*caller{}} }

// A share is what one body, request or connection has.
type share struct {
	of      *pool
	address string
	caller  *caller // nil: it is released
	size    int64
}

// share returns a share of nothing for a caller at an address with a port. Its release is due.
func (p *pool) share(remote string) *share {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.callers[host] == nil {
		p.callers[host] = &caller{parsed: semaphore.NewWeighted(parsedBodies)}
	}
	p.callers[host].shares++
	return &share{of: p, address: host, caller: p.callers[host]}
}

// take takes n. No caller has more than what is still free: alone it has half at most, and a part is always left for the
// others.
func (s *share) take(n int64) bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if n > 0 && s.caller.held+n > s.of.free-n {
		return false
	}
	s.of.free -= n
	s.caller.held += n
	s.size += n
	return true
}

// release gives all back, once. Nil: nothing was taken.
func (s *share) release() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.caller == nil {
		return
	}
	s.of.free += s.size
	s.caller.held -= s.size
	if s.caller.shares--; s.caller.shares == 0 {
		delete(s.of.callers, s.address)
	}
	s.caller = nil
}
