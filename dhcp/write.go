// This file makes verdicts durable, confirms refusals, and writes late leases once the store can be written. A late lease is a
// renewal that was granted before it was written.

package dhcp

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network"
)

// Fresh returns nil while the leases can be read and written (Store.Fresh).
func (s *Server) Fresh() error { return s.Store.Fresh() }

// write makes the verdict durable, and returns it. If another writer changed the address meanwhile, write decides again. If
// the lease cannot be written, the result has no Answer, or one that promises only what the stored lease allows.
func (s *Server) write(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) reply.Verdict {
	begin, confirmed := time.Now(), false
	for range tries {
		if v.Confirm && !confirmed {
			if err := s.Store.Confirm(ctx, v.MAC, v.Address); err != nil {
				s.line(slog.LevelWarn, "request not refused, leases not read", v.MAC, "not-fresh", "address", v.Address, "err", err)
				return v.Instead(reply.NotFresh)
			}
			v, confirmed = s.decideAgain(n, request), true
			continue
		}
		if !v.Next.Address.IsValid() {
			return v
		}
		// If the store does not answer, a write only wastes time. writeLate retries a renewal whose write failed a moment ago.
		err := s.Store.Fresh()
		if err == nil && reply.Uses(request) && !v.Anyway.IsZero() && s.failedLately(v.Next.Address) {
			err = errLate
		}
		if err == nil {
			err = s.replace(ctx, v.Was, v.Next)
		}
		switch {
		case err == nil:
			s.Metrics.wrote("written", begin)
			s.late.Delete(v.Next.Address)
			if !reply.Uses(request) {
				s.mu.Lock()
				s.budgets.wrote.Add(v.Next, s.Now())
				s.offers.Remove(v.Next.Address)
				s.mu.Unlock()
			}
			return v
		case errors.Is(err, fs.ErrExist):
			v = s.decideAgain(n, request)
			continue
		}
		if reply.Remembers(request) && s.PeerServes != nil && s.PeerServes() {
			// The peer may have assigned the address to another client. This client retries.
			s.Metrics.wrote("failed", begin)
			return v.Instead(reply.LeftToPeer)
		}
		if left := min(time.Duration(n.DHCP.LeaseTime), v.Anyway.Sub(s.Now())); left >= time.Second {
			s.Metrics.wrote("later", begin)
			s.line(slog.LevelWarn, "lease renewed, write deferred", v.MAC, "later", "address", v.Address, "left", left, "err", err)
			s.late.Put(v.Next)
			if !errors.Is(err, errLate) {
				s.mu.Lock()
				s.failed.Add(v.Next.Address, s.Now())
				s.mu.Unlock()
			}
			reply.PutTimes(v.Answer.Options, left, v.MAC)
			v.Remove = network.Lease{} // The client keeps its previous lease until the new one is written.
			return v
		}
		s.Metrics.wrote("failed", begin)
		v.Remove = network.Lease{}
		s.line(slog.LevelError, "lease not written, request not granted", v.MAC, "not-written", "address", v.Address, "err", err)
		v.Answer = nil
		return v
	}
	s.Metrics.wrote("contended", begin)
	v.Answer, v.Remove = nil, network.Lease{}
	return v
}

// errLate is the error for a renewal whose lease already waits for writeLate.
var errLate = errors.New("a write failed a moment ago")

// failedLately reports whether the lease on a could not be written a moment ago.
func (s *Server) failedLately(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed.Lately(a, s.Now())
}

// decideAgain returns the verdict from the current leases.
func (s *Server) decideAgain(n network.Network, request *dhcpv4.DHCPv4) reply.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.decide(n, request)
}

// mayRemove reserves the removal of a lease, which may take until the store's timeout. False: the lease is being
// removed already, or there are too many removals. The caller holds the lock.
func (s *Server) mayRemove(l network.Lease) bool {
	if s.removing[l.Address] || len(s.removing) >= maxRemoving {
		return false
	}
	s.removing[l.Address] = true
	return true
}

// remove removes a lease. mayRemove has reserved the removal.
func (s *Server) remove(ctx context.Context, l network.Lease) {
	defer func() {
		s.mu.Lock()
		delete(s.removing, l.Address)
		s.mu.Unlock()
	}()
	if err := s.Store.Remove(ctx, l); err != nil {
		s.line(slog.LevelWarn, "lease not deleted", l.MAC, "not-deleted", "address", l.Address, "err", err)
	}
	if late, ok := s.late.At(l.Address); ok && late.MAC == l.MAC {
		s.late.DeleteIf(late)
	}
}

// writeLate writes the late leases whose address has no lease of another client.
func (s *Server) writeLate(ctx context.Context) {
	all := s.late.All()
	s.Metrics.unwritten(len(all))
	if s.Store.Fresh() != nil {
		return // Each write would wait until it times out.
	}
	for _, l := range all {
		was, ok := s.Store.At(l.Address)
		if !ok || was.MAC == l.MAC && was.Expires.Before(l.Expires) {
			if err := s.replace(ctx, was, l); err != nil {
				// The next write would probably fail, too. After a conflict, the next call sees the new lease.
				return
			}
		}
		s.late.DeleteIf(l)
	}
}
