// This file stores DHCP leases as Lease objects (coordination.k8s.io), one for each address.
// Creating the object is the compare-and-swap on the address, so two edges cannot assign one
// address twice.

package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// writeTimeout limits one write. After that the client has to ask again.
const writeTimeout = 5 * time.Second

// Leases holds the leases of one network, in memory and as Lease objects.
type Leases struct {
	// LeaseTime returns the clients' lease time, for readers of the objects. Nil: unknown.
	LeaseTime func() time.Duration

	objects leaseObjects
	network string
	seen    func() bool
	signal  signal.Signal
	fresh   freshness

	leases.Table
	// mu is held while the table and the versions change together.
	mu sync.Mutex
	// versions are the resource versions of the leases' objects. Empty: the lease comes from the
	// cache file.
	versions map[netip.Addr]string
	// written is when the API server wrote the leases' objects.
	written map[netip.Addr]time.Time
	// Field lost has the addresses whose lease the API server may have lost. True: a list or a read
	// lacked it.
	lost  map[netip.Addr]bool
	watch interruption
}

// Leases watches the leases of the named network until ctx ends.
func (k *Kube) Leases(ctx context.Context, name string) *Leases {
	s := &Leases{objects: k.leases, network: name, versions: map[netip.Addr]string{}, written: map[netip.Addr]time.Time{}, lost: map[netip.Addr]bool{}}
	only := func(o *metav1.ListOptions) {
		o.LabelSelector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: wire.LeaseLabels(name)})
	}
	l := k.lister(k.clients.coordination, "leases", only)
	_, s.seen = follow(ctx, l, &coordinationv1.Lease{}, keepLease, leaseEvents{on(s.take, s.observeDeletion), s}, s.answered)
	return s
}

// Ready returns nil once all existing leases were read. Do not promise new leases before that.
func (s *Leases) Ready() error {
	if !s.seen() {
		return errors.New("leases have not been read from the API server yet")
	}
	return nil
}

// Changed returns a channel that is closed at the next change.
func (s *Leases) Changed() <-chan struct{} { return s.signal.Changed() }

func (s *Leases) leaseTime() time.Duration {
	if s.LeaseTime == nil {
		return 0
	}
	return s.LeaseTime()
}

// stored returns the lease on address a, and the version of its object.
func (s *Leases) stored(a netip.Addr) (l network.Lease, version string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok = s.At(a)
	return l, s.versions[a], ok
}

// Replace writes lease next durably. Parameter was must be the current lease on that address,
// zero if there is none. fs.ErrExist: another edge has changed the lease since.
func (s *Leases) Replace(ctx context.Context, was, next network.Lease) error {
	now, version, there := s.stored(next.Address)
	if there != was.Address.IsValid() || there && now != was {
		return fmt.Errorf("lease on %s: %w", next.Address, fs.ErrExist)
	}
	if there && version == "" {
		return errors.New("the lease has not been read from the API server yet")
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	out, err := s.writeObject(ctx, next, version)
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), there && apierrors.IsNotFound(err):
		// Read the current holder now, so that the client is offered another address.
		if err := s.read(ctx, next.Address); err != nil {
			return writeError(err)
		}
		return errors.Join(fs.ErrExist, err)
	case err != nil:
		return writeError(err)
	}
	s.take(newKeptLease(out))
	return nil
}

// Remove deletes a lease durably, unless it has changed.
func (s *Leases) Remove(ctx context.Context, was network.Lease) error {
	now, version, there := s.stored(was.Address)
	if !there || now != was {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := s.objects.Delete(ctx, wire.LeaseName(s.network, was.Address), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{ResourceVersion: &version},
	})
	s.fresh.wrote(err, time.Now())
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.forget(was.Address, version)
	return nil
}

// take records a lease, unless a newer version is known. A watch may lag behind the edge's own
// writes, or the API server may have lost the newer version.
func (s *Leases) take(o *keptLease) {
	if o.err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(o)
}

// put records a lease as take does. The caller holds the lock.
func (s *Leases) put(o *keptLease) {
	l := o.lease.Bounded(time.Now())
	switch old, ok := s.versions[l.Address]; {
	case ok && s.knows(o):
		return
	case ok && (o.ResourceVersion == old || older(o.ResourceVersion, old)):
		s.mayBeLost(l.Address, false)
		return
	}
	l.Version = o.ResourceVersion
	s.Put(l)
	s.versions[l.Address], s.written[l.Address] = o.ResourceVersion, o.written
	delete(s.lost, l.Address)
	s.signal.Notify()
}

// knows reports whether o is the known lease on its address. The caller holds the lock.
func (s *Leases) knows(o *keptLease) bool {
	known, ok := s.At(o.lease.Address)
	return ok && s.versions[known.Address] == o.ResourceVersion && known.AsWritten() == o.lease.Bounded(time.Now()).AsWritten()
}

// observeDeletion records that o was deleted.
func (s *Leases) observeDeletion(o *keptLease) {
	if o.err == nil {
		s.forget(o.lease.Address, o.ResourceVersion)
	}
}

// forget removes the lease on address a, unless a newer version is known.
func (s *Leases) forget(a netip.Addr, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch old, ok := s.versions[a]; {
	case !ok:
		return
	case older(version, old):
		s.mayBeLost(a, false)
		return
	}
	s.drop(a)
	s.signal.Notify()
}

// drop removes the lease on address a. The caller holds the lock.
func (s *Leases) drop(a netip.Addr) {
	s.Delete(a)
	delete(s.versions, a)
	delete(s.written, a)
	delete(s.lost, a)
}

// older reports whether resource version a is before b. If they are not numbers, older returns
// false, so the version that arrives last is kept.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
