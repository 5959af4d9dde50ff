// This file collects what operators must know about the server: clients without an address,
// leases that are not written, addresses that other hosts use. It has no effect on replies.

package dhcp

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// reportEvery is the interval of the report and the gauges.
	reportEvery = 5 * time.Second
	// refusedFor is for how long a client that got no address is reported. Clients ask again within
	// minutes.
	refusedFor = 10 * time.Minute
	// failedFor is how long a failed write is reported, unless a later write succeeds.
	failedFor = 10 * time.Minute
	// failsSince is how long writes must fail before that is reported, since API servers restart.
	failsSince = 30 * time.Second
)

// A span is the first and the last time at which a state was noticed. Zero: the state has ended.
type span struct{ first, last time.Time }

// note extends the span to now, or begins a new span if the last time is longer ago than limit.
func (s *span) note(now time.Time, limit time.Duration) {
	if s.first.IsZero() || now.Sub(s.last) > limit {
		s.first = now
	}
	s.last = now
}

// since returns when the span began. Zero: the span is over at now.
func (s span) since(now time.Time, limit time.Duration) time.Time {
	if s.first.IsZero() || now.Sub(s.last) > limit {
		return time.Time{}
	}
	return s.first
}

// A trouble records recent problems of clients and of the store. Zero: none.
type trouble struct {
	mu sync.Mutex
	// exhausted is the span in which clients got no address, since none was free.
	exhausted span
	// created are failing writes of new leases, changed those of existing ones. A quota refuses only new
	// leases.
	created, changed failing
}

// failing is the span in which writes failed, and the last error.
type failing struct {
	span
	err error
}

// decided records the outcome of a message.
func (t *trouble) decided(o reply.Outcome, now time.Time) {
	if o != reply.Exhausted {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exhausted.note(now, refusedFor)
}

// replace calls Store.Replace, and records whether the store accepts leases.
func (s *Server) replace(ctx context.Context, was, next network.Lease) error {
	err := s.Store.Replace(ctx, was, next)
	if !errors.Is(err, fs.ErrExist) {
		s.trouble.wrote(was, err, s.Now())
	}
	return err
}

// wrote records err, the result of a write at now. Parameter was is the lease that the write replaced,
// zero if the written lease is new.
func (t *trouble) wrote(was network.Lease, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := &t.created
	if was.Address.IsValid() {
		of = &t.changed
	}
	if err == nil {
		*of = failing{}
		return
	}
	of.note(now, failedFor)
	of.err = err
}

// exhaustion returns the pool, and since when clients get no address from it. avoided is the number of
// free addresses for which other hosts answered. The result is zero if another address is free, or if no
// client was refused recently.
func (t *trouble) exhaustion(pool reported.PoolUse, avoided int, now time.Time) reported.PoolExhaustion {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := t.exhausted.since(now, refusedFor)
	if pool.Free > avoided || since.IsZero() {
		t.exhausted = span{}
		return reported.PoolExhaustion{}
	}
	return reported.PoolExhaustion{Since: since, PoolUse: pool}
}

// unwritten returns why leases are not written. The result is zero if writes succeed, or have failed
// for less than failsSince.
func (t *trouble) unwritten(now time.Time) reported.LeasesUnwritten {
	t.mu.Lock()
	defer t.mu.Unlock()
	lasts := func(f failing) bool { return !f.since(now, failedFor).IsZero() && now.Sub(f.first) >= failsSince }
	switch {
	case lasts(t.changed): // The worse case: what refuses existing leases also refuses new ones.
		return reported.LeasesUnwritten{Since: t.changed.first, RenewalsSince: t.changed.first, Error: reason(t.changed.err)}
	case lasts(t.created):
		return reported.LeasesUnwritten{Since: t.created.first, Error: reason(t.created.err)}
	}
	return reported.LeasesUnwritten{}
}

// reason returns the store's reason why a lease was not written, without names. Empty: unknown.
func reason(err error) string {
	if w, ok := errors.AsType[*leases.WriteError](err); ok {
		return w.Reason
	}
	return ""
}

// Report returns what operators must know at now, and the pool.
func (s *Server) Report(now time.Time) (reported.DHCPReport, reported.PoolUse) {
	s.mu.Lock()
	n := s.Network()
	k := s.known(n, now)
	pool, reserved, inUse := reply.PoolOf(n, k, now), reply.ReservationsInUse(n, k, now), s.conflicts.Conflicts(now, s.Store.At)
	s.mu.Unlock()
	return reported.DHCPReport{
		Exhausted:  s.trouble.exhaustion(pool, len(inUse), now),
		NotWritten: s.trouble.unwritten(now),
		InUse:      s.withDeclined(inUse, pool, now),
		Reserved:   reserved,
	}, pool
}

// withDeclined adds to parameter out the addresses of the pool that clients declined.
func (s *Server) withDeclined(out []reported.UsedAddress, pool reported.PoolUse, now time.Time) []reported.UsedAddress {
	if pool.Declined == 0 {
		return out
	}
	ranges := reply.Ranges(s.Network())
	for _, l := range s.Store.All() {
		located := slices.ContainsFunc(out, func(u reported.UsedAddress) bool { return u.Address == l.Address })
		if l.MAC == "" && !l.Blocked() && l.Held(now) && !located && slices.ContainsFunc(ranges, func(r network.Range) bool { return r.Contains(l.Address) }) {
			out = append(out, reported.UsedAddress{Address: l.Address})
		}
	}
	slices.SortFunc(out, reported.UsedAddress.Compare)
	return out
}

// Follow updates the gauges and calls report until ctx ends. report must return immediately, and may be
// nil.
func (s *Server) Follow(ctx context.Context, report func(reported.DHCPReport)) {
	every(ctx, reportEvery, func() {
		if s.Ready() != nil {
			return // The report from before a restart is better than an incomplete one.
		}
		r, pool := s.Report(time.Now())
		s.Metrics.observe(pool, len(r.InUse)+len(r.Reserved), s.late.Len())
		if report != nil {
			report(r)
		}
	})
}
