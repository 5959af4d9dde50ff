// This file writes leases again that the API server has lost: its etcd was restored to an older state. A client that was
// promised an address keeps it. Of two leases on one address, the one that was written later is kept.

package kube

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// leaseEvents distinguish a lease that a new list lacks from one whose deletion was watched.
type leaseEvents struct {
	cache.ResourceEventHandler
	s *Leases
}

// OnDelete implements cache.ResourceEventHandler.
func (h leaseEvents) OnDelete(o any) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		call(h.s.observeAbsence, last.Obj)
		return
	}
	h.ResourceEventHandler.OnDelete(o)
}

// observeAbsence records that a list lacks o. readLost then finds out whether the lease was deleted or lost.
func (s *Leases) observeAbsence(o *keptLease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.versions[o.lease.Address]; ok && o.err == nil {
		s.mayBeLost(o.lease.Address, true)
	}
}

// mayBeLost makes readLost read the lease on a. lacked: the API server has no such lease. The caller holds the lock.
func (s *Leases) mayBeLost(a netip.Addr, lacked bool) { s.lost[a] = s.lost[a] || lacked }

// answered records the result of a request to list or to watch leases.
func (s *Leases) answered(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch.answered(err, time.Now())
}

// readLost reads each lease that may be lost, until a read fails.
func (s *Leases) readLost(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.lost))
	s.mu.Unlock()
	for _, a := range all {
		ctx, cancel := context.WithTimeout(ctx, writeTimeout)
		err := s.read(ctx, a)
		cancel()
		if err != nil {
			return
		}
	}
}

// read records the lease on a as the API server has it, or that there is none. If the API server lost the lease that this edge
// knows, read writes it again.
func (s *Leases) read(ctx context.Context, a netip.Addr) error {
	known, before, there := s.stored(a)
	o, err := s.objects.Get(ctx, wire.LeaseName(s.network, a), metav1.GetOptions{})
	s.fresh.read(err, time.Now())
	var now *keptLease
	switch {
	case err == nil:
		now = newKeptLease(o)
	case !apierrors.IsNotFound(err):
		return err
	}
	if there && s.isLost(known, before, now) && s.binds(known, now) {
		return s.writeAgain(ctx, known, before, now)
	}
	s.settle(a, before, now)
	return nil
}

// isLost reports whether the API server lost this version of l. Parameter now is the lease that it has on the address instead,
// or nil. The API server lost l if lease now is older, or has the same version but differs: a restored etcd assigns each version
// again. A missing lease is lost if a list lacked it, or while the watch is interrupted. Otherwise it was deleted, and the watch
// is late.
func (s *Leases) isLost(l network.Lease, version string, now *keptLease) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now != nil {
		return older(now.ResourceVersion, version) || now.ResourceVersion == version && !s.knows(now)
	}
	return version != "" && (s.watch.lasts(time.Now()) || s.lost[l.Address])
}

// binds reports whether l, which the API server lost, must be written again, since its client may still use the address.
// Parameter now is the lease that the API server has on the address instead, or nil.
func (s *Leases) binds(l network.Lease, now *keptLease) bool {
	s.mu.Lock()
	written := s.written[l.Address]
	s.mu.Unlock()
	if l.Blocked() || l.Free(time.Now(), s.leaseTime(), false) || now != nil && !now.written.Before(written) {
		return false
	}
	// A client that has a later lease on another address no longer uses this one.
	later := func(other network.Lease) bool { return other.Address != l.Address && other.Expires.After(l.Expires) }
	return l.MAC == "" || !slices.ContainsFunc(s.OfMAC(l.MAC), later)
}

// writeAgain writes l. Parameter now is the lease that the API server has on the address instead, or nil. If another edge was
// faster, the lease stays lost and is read again.
func (s *Leases) writeAgain(ctx context.Context, l network.Lease, before string, now *keptLease) error {
	version := ""
	if now != nil {
		version = now.ResourceVersion
	}
	out, err := s.writeObject(ctx, l, version)
	if err == nil {
		s.settle(l.Address, before, newKeptLease(out))
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mayBeLost(l.Address, now == nil)
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// settle records o, the answer to a request. Nil: there is no lease. Parameter before is the version that was known when the
// request began. If that is still the known version, the answer replaces the known lease, even with an older one.
func (s *Leases) settle(a netip.Addr, before string, o *keptLease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, ok := s.versions[a]
	if version == before {
		delete(s.lost, a)
		if o == nil && ok {
			s.drop(a)
			s.signal.Notify()
		} else if o != nil && !s.knows(o) {
			delete(s.versions, a)
		}
	}
	if o != nil && o.err == nil {
		s.put(o)
	}
}

// writeObject replaces this version of l's object, or creates the object if version is empty.
func (s *Leases) writeObject(ctx context.Context, l network.Lease, version string) (out *coordinationv1.Lease, err error) {
	object := leaseobject.Of(s.network, l, s.leaseTime(), time.Now())
	if object.ResourceVersion = version; version == "" {
		out, err = s.objects.Create(ctx, object, metav1.CreateOptions{FieldManager: wire.Owner})
	} else {
		out, err = s.objects.Update(ctx, object, metav1.UpdateOptions{FieldManager: wire.Owner})
	}
	s.fresh.wrote(err, time.Now())
	return out, err
}
