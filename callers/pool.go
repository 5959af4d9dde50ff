// Package callers divides what a server has among its callers, by their IP addresses: a caller has no name before it is
// authenticated, and can invent tokens. Callers behind one address count as one.
package callers

import (
	"context"
	"net"
	"sync"

	"golang.org/x/sync/semaphore"
)

// A Pool is shared by all callers: bytes of bodies or of requests, or connections.
type Pool struct {
	mu   sync.Mutex
	free int64
	turn int64
	// callers are those with a share now, by IP address.
	callers map[string]*caller
}

type caller struct {
	shares int
	held   int64 // by them
	turns  *semaphore.Weighted
}

// NewPool returns a pool of this size. Of one caller, work of at most turn runs at once (Share.Turn). 0: its shares have no turns.
func NewPool(size, turn int64) *Pool {
	return &Pool{free: size, turn: turn, callers: map[string]*caller{}}
}

// Free returns what no caller has.
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

// A Share is what one body, request or connection has.
type Share struct {
	of      *Pool
	address string
	caller  *caller // nil: it is released
	size    int64
}

// Share returns a share of nothing for a caller at an address with a port. Its Release is due.
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

// Take takes n more, or gives back -n. No caller has more than what is still free: alone it has half at most, and a part is always
// left for the others.
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

// richest returns the caller that has most, if that is more than the caller of s has with 1 more. Nil: none has.
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

// Size returns what s has.
func (s *Share) Size() int64 { return s.size }

// Turn waits until work of n can run, at most the turn of the pool. The work of one caller waits for each other, so it is never
// ahead of another caller's by more than one turn. done is due after the work.
func (s *Share) Turn(ctx context.Context, n int64) (done func(), err error) {
	turns := s.caller.turns
	if err := turns.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { turns.Release(n) }, nil
}

// Release gives all back, once. Nil: nothing was taken.
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
