// This file answers questions that the plan does not answer: from the cache, from upstreams, or with an expired
// answer. Equal questions of several clients are asked once.

package dns

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"

	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// maxQuestions limits the questions that wait for upstreams at the same time. Equal questions share a socket.
	maxQuestions = 512
	// maxLarge is how many answers are fetched and sent over TCP at the same time. Each takes up to 5 MiB: 64 KiB of
	// maximally compressed names, unpacked, copied and packed.
	maxLarge = 16
	// patience is how long a client waits for upstreams if there is an expired answer (RFC 8767 section 5: client
	// response timer).
	patience = time.Second
)

// A forwarder asks one Upstream for all views. It is safe for concurrent use.
type forwarder struct {
	upstream *Upstream
	metrics  *Metrics
	now      func() time.Time

	mu      sync.Mutex
	caches  map[string]*cache
	flights map[flightKey]*flight
	// waiting and large hold the functions that end clients' waits.
	waiting, large *shares.Shares[context.CancelFunc]
}

// A flightKey identifies equal questions.
type flightKey struct {
	view      string
	question  question
	transport string
}

// A flight is one question to upstreams, for which clients wait.
type flight struct {
	key flightKey
	// cache is the cache of the view when the flight began. A view that was replaced has another one.
	cache *cache
	// Field by is the client that asked first.
	by     shares.Client
	ctx    context.Context
	cancel context.CancelFunc
	// Field waiting counts the clients that wait. At 0, the flight is canceled.
	waiting int
	// answer is set before done is closed. Nil: no server answered.
	done   chan struct{}
	answer *dns.Msg
}

func newForwarder(u *Upstream, m *Metrics) *forwarder {
	return &forwarder{
		upstream: u, metrics: m, now: time.Now,
		caches: map[string]*cache{}, flights: map[flightKey]*flight{},
		waiting: shares.New[context.CancelFunc](maxQuestions, true), large: shares.New[context.CancelFunc](maxLarge, true),
	}
}

// setViews gives each view an equal part of the memory. New views, and those for which keep is false, start with an
// empty cache.
func (s *forwarder) setViews(keep map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.caches {
		if !keep[name] {
			delete(s.caches, name)
			s.metrics.cacheGone(name)
		}
	}
	for name := range keep {
		c, lost := s.caches[name], 0
		if c != nil {
			lost = c.resize(cacheBytes / len(keep))
		} else {
			c = newCache(cacheBytes / len(keep))
			s.caches[name] = c
		}
		s.metrics.cached(name, c.answers.Used(), lost)
	}
}

// retire drops all answers, and retires the Upstream. servers are the upstreams of the next forwarder.
func (s *forwarder) retire(servers []netip.AddrPort) {
	s.setViews(nil)
	s.upstream.retire(servers)
}

// known returns the answer to r if no upstream is needed. Nil: an upstream must be asked.
func (s *forwarder) known(view string, c shares.Client, r *dns.Msg) (*dns.Msg, by) {
	down := s.upstream.down()
	if down {
		s.upstream.wants(c, asksFor(r)) // For probes: a server that answers this question is alive again.
	}
	e, what, now := s.find(view, asksFor(r))
	switch {
	case what == fresh:
		return e.answer(r, what, now), byCache
	case what == staleNow || what == stale && down:
		return e.answer(r, what, now), byStale
	case what == failed || down:
		return failure(r), byUpstream
	}
	return nil, byUpstream
}

func (s *forwarder) find(view string, q question) (*entry, state, time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if c := s.caches[view]; c != nil {
		used := c.answers.Used()
		e, what := c.find(q, now)
		if c.answers.Used() != used {
			s.metrics.cached(view, c.answers.Used(), 0)
		}
		return e, what, now
	}
	return nil, unknown, now
}

// ask returns the answer to r from upstreams, within seconds. The caller calls function done after it has sent the
// answer.
func (s *forwarder) ask(view string, c shares.Client, r *dns.Msg, tcp bool) (answer *dns.Msg, source by, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	answer, source = s.wait(ctx, flightKey{view, asksFor(r), "udp"}, c, r)
	if !tcp || !answer.Truncated {
		return answer, source, cancel
	}
	// Only clients over TCP get long answers.
	s.mu.Lock()
	h, lost := s.large.Take(c, 1, cancel)
	s.mu.Unlock()
	s.shed(shedLarge, h == nil, lost)
	if h == nil {
		return failure(r), byUpstream, cancel
	}
	done = func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.large.Give(h)
	}
	defer func() {
		if answer == nil { // After a panic.
			done()
		}
	}()
	answer, source = s.wait(ctx, flightKey{view, asksFor(r), "tcp"}, c, r)
	return answer, source, done
}

// wait returns the answer to r from the flight for k, which it may start.
func (s *forwarder) wait(ctx context.Context, k flightKey, c shares.Client, r *dns.Msg) (*dns.Msg, by) {
	slot, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	f, h := s.join(k, c, cancel)
	if f == nil {
		cancel()
		return failure(r), byUpstream
	}
	leave := func() {
		s.leave(f, h)
		cancel()
	}
	stays := false
	defer func() {
		if !stays {
			leave()
		}
	}()
	var late <-chan time.Time
	e, what, now := s.find(k.view, k.question)
	if what == stale || what == staleNow {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-f.done:
	case <-slot.Done():
		return failure(r), byUpstream
	case <-late:
		// The flight continues, to fill the cache, unless another client takes the slot.
		stop()
		stays = true
		go func() {
			defer leave()
			select {
			case <-f.done:
			case <-slot.Done():
			}
		}()
		return e.answer(r, stale, now), byStale
	}
	if f.answer != nil && f.answer.Rcode != dns.RcodeServerFailure {
		return filled(r, f.answer.Copy()), byUpstream
	}
	if e, what, now := s.find(k.view, k.question); what == staleNow || what == stale {
		return e.answer(r, what, now), byStale
	}
	return failure(r), byUpstream
}

// join returns the flight for k, and the slot of c in it. Nil: c gets no slot.
func (s *forwarder) join(k flightKey, c shares.Client, cancel context.CancelFunc) (*flight, *shares.Holding[context.CancelFunc]) {
	s.upstream.wants(c, k.question)
	f, h, lost := s.board(k, c, cancel)
	s.shed(shedUpstream, h == nil, lost)
	if h == nil {
		return nil, nil
	}
	return f, h
}

// board is the part of join that needs the lock. The functions in result lost end the wait of clients that lost their
// slots.
func (s *forwarder) board(k flightKey, c shares.Client, cancel context.CancelFunc) (f *flight, h *shares.Holding[context.CancelFunc], lost []context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, lost = s.waiting.Take(c, 1, cancel)
	f = s.flights[k]
	if h != nil && (f == nil || f.cache != s.caches[k.view]) {
		f = &flight{key: k, cache: s.caches[k.view], by: c, done: make(chan struct{})}
		f.ctx, f.cancel = context.WithCancel(context.Background())
		s.flights[k] = f
		go func() {
			if !s.upstream.guard.run(func() { s.fly(f) }) {
				s.land(f, nil)
			}
		}()
	}
	if h != nil {
		f.waiting++
	}
	return f, h, lost
}

func (s *forwarder) leave(f *flight, h *shares.Holding[context.CancelFunc]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.Give(h)
	if f.waiting--; f.waiting > 0 {
		return
	}
	f.cancel()
	if s.flights[f.key] == f {
		delete(s.flights, f.key)
	}
}

// fly asks upstreams, and stores the answer in the cache.
func (s *forwarder) fly(f *flight) {
	answer, err := s.upstream.ask(f.ctx, query(f.key.question), f.key.transport)
	var wire []byte
	var ttl time.Duration
	if answer != nil {
		// OPT records are hop by hop.
		answer.Extra = slices.DeleteFunc(answer.Extra, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeOPT })
		answer.Compress = true
		if ttl = lifetime(answer, s.now()); ttl > 0 && answer.Len() <= maxCached {
			if packed, err := answer.Pack(); err == nil {
				wire = bytes.Clone(packed) // The slice packed has capacity for uncompressed names.
			}
		}
	}
	defer s.land(f, answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.caches[f.key.view]
	if c == nil || c != f.cache || f.ctx.Err() != nil || errors.Is(err, errAllDown) {
		return
	}
	lost := 0
	switch {
	case wire != nil:
		lost = c.store(f.key.question, f.by, wire, ttl, s.now())
	case answer == nil || answer.Rcode == dns.RcodeServerFailure:
		lost = c.fail(f.key.question, f.by, s.now())
	}
	s.metrics.cached(f.key.view, c.answers.Used(), lost)
}

// land ends f with answer, unless f has already ended.
func (s *forwarder) land(f *flight, answer *dns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-f.done:
		return
	default:
	}
	f.answer = answer
	if s.flights[f.key] == f {
		delete(s.flights, f.key)
	}
	close(f.done)
}

// shed ends the wait of the clients that lost their slots, and counts them, and a client that was refused.
func (s *forwarder) shed(what string, refused bool, lost []context.CancelFunc) {
	for _, cancel := range lost {
		cancel()
	}
	if refused {
		s.metrics.shed(what, 1)
	}
	s.metrics.shed(what, len(lost))
}
