// This file stores DHCP leases as Lease objects (coordination.k8s.io), one for each
// address. Creating the object is the compare-and-swap on the address, so two edges cannot
// assign one address twice. It does not choose addresses.

package edge

import (
	"cmp"
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
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

const (
	// declined is the holder of an address that a client found in use (DHCPDECLINE).
	declined = "declined"
	// writeTimeout limits one write. After it the client has to ask again.
	writeTimeout = 5 * time.Second
)

// Leases holds the leases of one network, in memory and as Lease objects.
type Leases struct {
	client    kubernetes.Interface
	namespace string
	network   string
	seen      func() bool
	signal    signal

	mu     sync.RWMutex
	byAddr map[netip.Addr]versionedLease
	byMAC  map[string]map[netip.Addr]bool
}

// A versionedLease is a lease with the version of its object. An empty version means that
// the lease comes from the cache file and no object was seen.
type versionedLease struct {
	lease   network.Lease
	version string
}

// Leases watches the leases of the named network until ctx ends.
func (k *Kube) Leases(ctx context.Context, name string) *Leases {
	s := &Leases{
		client: k.client, namespace: k.namespace, network: name,
		byAddr: map[netip.Addr]versionedLease{}, byMAC: map[string]map[netip.Addr]bool{},
	}
	only := func(o *metav1.ListOptions) {
		o.LabelSelector = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: wire.LeaseLabels(name)})
	}
	l := k.lister(k.client.CoordinationV1().RESTClient(), "leases", only)
	_, s.seen = follow(ctx, l, &coordinationv1.Lease{}, slimLease, on(s.observe, s.observeDeletion))
	return s
}

func slimLease(o any) (any, error) {
	if l, ok := o.(*coordinationv1.Lease); ok {
		l.ManagedFields = nil
	}
	return o, nil
}

// Ready returns nil once all existing leases were read. Do not promise new leases before
// that.
func (s *Leases) Ready() error {
	if !s.seen() {
		return errors.New("leases have not been read from the API server yet")
	}
	return nil
}

// At returns the lease on address a.
func (s *Leases) At(a netip.Addr) (network.Lease, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.byAddr[a]
	return r.lease, ok
}

// Of returns the lease of a MAC. If the MAC has several, it returns the one that expires
// last.
func (s *Leases) Of(mac string) (network.Lease, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var best network.Lease
	for a := range s.byMAC[mac] {
		l := s.byAddr[a].lease
		if c := cmp.Or(l.Expires.Compare(best.Expires), best.Address.Compare(l.Address)); !best.Address.IsValid() || c > 0 {
			best = l
		}
	}
	return best, best.Address.IsValid()
}

// All returns all leases, in no order.
func (s *Leases) All() []network.Lease {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]network.Lease, 0, len(s.byAddr))
	for _, r := range s.byAddr {
		all = append(all, r.lease)
	}
	return all
}

// VMAt returns the name of the VM that holds an unexpired lease on a. Empty: none.
func (s *Leases) VMAt(a netip.Addr) string {
	if l, ok := s.At(a); ok && l.Held(time.Now()) {
		return l.VM
	}
	return ""
}

// Replace writes next and returns when it is durable. Was must be the current lease on
// that address; the zero Lease means that there is none. Replace returns fs.ErrExist if
// another edge has changed the lease since.
func (s *Leases) Replace(ctx context.Context, was, next network.Lease) error {
	s.mu.RLock()
	now, there := s.byAddr[next.Address]
	s.mu.RUnlock()
	if there != was.Address.IsValid() || there && now.lease != was {
		return fmt.Errorf("lease on %s: %w", next.Address, fs.ErrExist)
	}
	if there && now.version == "" {
		return errors.New("the lease has not been read from the API server yet")
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	api := s.client.CoordinationV1().Leases(s.namespace)
	object := leaseObject(s.network, next, time.Now())
	var out *coordinationv1.Lease
	var err error
	if there {
		object.ResourceVersion = now.version
		out, err = api.Update(ctx, object, metav1.UpdateOptions{FieldManager: wire.Owner})
	} else {
		out, err = api.Create(ctx, object, metav1.CreateOptions{FieldManager: wire.Owner})
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), there && apierrors.IsNotFound(err):
		// Read the current holder at once, so that the client is offered another address.
		if o, err := api.Get(ctx, object.Name, metav1.GetOptions{}); err == nil {
			s.observe(o)
		} else if apierrors.IsNotFound(err) {
			s.forget(next.Address, "")
		}
		return errors.Join(fs.ErrExist, err)
	case err != nil:
		return err
	}
	s.observe(out)
	return nil
}

// Remove deletes a lease if it still equals was, and returns when the deletion is durable.
func (s *Leases) Remove(ctx context.Context, was network.Lease) error {
	s.mu.RLock()
	now, there := s.byAddr[was.Address]
	s.mu.RUnlock()
	if !there || now.lease != was {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := s.client.CoordinationV1().Leases(s.namespace).Delete(ctx, wire.LeaseName(s.network, was.Address), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{ResourceVersion: &now.version},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	s.forget(was.Address, now.version)
	return nil
}

// observe takes in an object, unless a newer version is known: a watch lags behind the
// edge's own writes.
func (s *Leases) observe(o *coordinationv1.Lease) {
	l, err := readLease(o)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.byAddr[l.Address]; ok && older(o.ResourceVersion, old.version) {
		return
	}
	s.put(l, o.ResourceVersion)
	s.signal.notify()
}

// put adds l to both indexes. The caller holds the lock.
func (s *Leases) put(l network.Lease, version string) {
	s.unindex(l.Address)
	s.byAddr[l.Address] = versionedLease{l, version}
	if l.MAC == "" {
		return
	}
	if s.byMAC[l.MAC] == nil {
		s.byMAC[l.MAC] = map[netip.Addr]bool{}
	}
	s.byMAC[l.MAC][l.Address] = true
}

// unindex removes the lease on a from both indexes. The caller holds the lock.
func (s *Leases) unindex(a netip.Addr) {
	old := s.byAddr[a].lease
	delete(s.byAddr, a)
	delete(s.byMAC[old.MAC], a)
	if len(s.byMAC[old.MAC]) == 0 {
		delete(s.byMAC, old.MAC)
	}
}

// observeDeletion takes in that o was deleted.
func (s *Leases) observeDeletion(o *coordinationv1.Lease) {
	if l, err := readLease(o); err == nil {
		s.forget(l.Address, o.ResourceVersion)
	}
}

// forget removes the lease on a, unless a version newer than version is known.
func (s *Leases) forget(a netip.Addr, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.byAddr[a]; !ok || older(version, old.version) {
		return
	}
	s.unindex(a)
	s.signal.notify()
}

// older reports whether resource version a is before b. Every known API server uses
// numbers. If they are not numbers, the last one wins.
func older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
