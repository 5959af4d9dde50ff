// This file collects what operators must know about the server: clients without an address,
// leases that are not written, addresses that other hosts have. It decides no reply.

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
	// reportEvery is how often the report and the gauges are made.
	reportEvery = 5 * time.Second
	// refusedFor is how long a client without an address counts. Clients ask again within
	// minutes.
	refusedFor = 10 * time.Minute
	// failedFor is how long a failed write is reported, unless a later write succeeds.
	failedFor = 10 * time.Minute
	// failsSince is how long writes fail before that is reported. API servers restart.
	failsSince = 30 * time.Second
)

// A span is the first and the last time of something that lasts. Zero: it has ended.
type span struct{ first, last time.Time }

// note extends the span to now, or begins one if the last is older than limit.
func (s *span) note(now time.Time, limit time.Duration) {
	if s.first.IsZero() || now.Sub(s.last) > limit {
		s.first = now
	}
	s.last = now
}

// since returns when the span began. Zero: it is over at now.
func (s span) since(now time.Time, limit time.Duration) time.Time {
	if s.first.IsZero() || now.Sub(s.last) > limit {
		return time.Time{}
	}
	return s.first
}

// A trouble is what clients and the store met recently. The zero value is no trouble.
type trouble struct {
	mu sync.Mutex
	// exhausted: clients got no address, since none was free.
	exhausted span
	// failing writes: of new leases, and of leases that were there. A quota refuses the first
	// only.
	created, changed failing
}

// failing is the span of writes that failed, and the last error.
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

// replace is Store.Replace, and notes whether the store takes leases.
func (s *Server) replace(ctx context.Context, was, next network.Lease) error {
	err := s.Store.Replace(ctx, was, next)
	if !errors.Is(err, fs.ErrExist) {
		s.trouble.wrote(was, err, s.Now())
	}
	return err
}

// wrote records the result of a write of a lease in place of was.
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

// exhaustion is the pool, as pool returns it, since a client got no address from it. Avoided addresses
// are free, but other hosts answered for them. Zero: an address is free, or no client asked recently.
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

// unwritten returns why leases are not written. Zero: they are, or have not been for a short
// time only.
func (t *trouble) unwritten(now time.Time) reported.LeasesUnwritten {
	t.mu.Lock()
	defer t.mu.Unlock()
	lasts := func(f failing) bool { return !f.since(now, failedFor).IsZero() && now.Sub(f.first) >= failsSince }
	switch {
	case lasts(t.changed): // It is worse, and what refuses these also refuses new leases.
		return reported.LeasesUnwritten{Since: t.changed.first, RenewalsSince: t.changed.first, Error: reason(t.changed.err)}
	case lasts(t.created):
		return reported.LeasesUnwritten{Since: t.created.first, Error: reason(t.created.err)}
	}
	return reported.LeasesUnwritten{}
}

// reason is why a lease was not written, as the store says it without names. Empty: unknown.
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

// withDeclined returns out, the addresses that other hosts have, with those of the pool that clients
// declined.
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

// Follow makes the report and the gauges until ctx ends. Report must return immediately. Nil: only
// the gauges are made.
func (s *Server) Follow(ctx context.Context, report func(reported.DHCPReport)) {
	every(ctx, reportEvery, func() {
		if s.Ready() != nil {
			return // The report before a restart is better than one of a part.
		}
		r, pool := s.Report(time.Now())
		s.Metrics.observe(pool, len(r.InUse)+len(r.Reserved), s.late.Len())
		if report != nil {
			report(r)
		}
	})
}
