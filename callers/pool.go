// Package callers divides the resources of a server among its callers, by IP address. A caller has no name before it is
// authenticated, and can invent tokens.
package callers

import (
	"context"
	"net"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A Pool is one resource: bytes of bodies or of requests, or connections.
type Pool struct {
	mu   sync.Mutex
	free int64
	turn int64
	// callers are the callers with a share, by IP address.
	callers map[string]*caller
}

type caller struct {
	shares int
	held   int64 // by these shares
	turns  *semaphore.Weighted
}

// NewPool returns a pool of this size. turn limits how much work of one caller runs at once (Share.Turn). 0: there are no turns.
func NewPool(size, turn int64) *Pool {
	return &Pool{free: size, turn: turn, callers: map[string]*caller{}}
}

// Free returns how much of the pool is free.
func (p *Pool) Free() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free
}

// Callers returns how many callers have a share.
func (p *Pool) Callers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.callers)
}

// A Share is the part of the pool that one body, request or connection holds.
type Share struct {
	of      *Pool
	address string
	caller  *caller // nil: it is released
	size    int64
}

// Share returns an empty share for the caller at remote, "host:port". The caller of Share must release it.
func (p *Pool) Share(remote string) *Share {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.callers[host] == nil {
		p.callers[host] = &caller{}
		if p.turn > 0 {
			p.callers[host].turns = semaphore.NewWeighted(p.turn)
		}
	}
	p.callers[host].shares++
	return &Share{of: p, address: host, caller: p.callers[host]}
}

// Take takes n more, or gives back -n if n is negative. It returns false if the caller would then hold more than what is still
// free. So a single caller gets at most half, and a part is always left for other callers.
func (s *Share) Take(n int64) bool {
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

// richest returns the caller that holds most, if that is more than the caller of s would hold with 1 more, else nil.
func (s *Share) richest() (most *caller) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	for _, c := range s.of.callers {
		if c.held > s.caller.held+1 && (most == nil || c.held > most.held) {
			most = c
		}
	}
	return most
}

// Size returns how much s holds.
func (s *Share) Size() int64 { return s.size }

// Turn waits until work of size n can run. n must not exceed the turn of the pool. So the work of one caller is never ahead
// of another caller's by more than one turn. Call done after the work.
func (s *Share) Turn(ctx context.Context, n int64) (done func(), err error) {
	turns := s.caller.turns
	if err := turns.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { turns.Release(n) }, nil
}

// Release gives everything back. Further calls do nothing. A nil share holds nothing.
func (s *Share) Release() {
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
