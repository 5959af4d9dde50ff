package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/network"
)

// An object is a lease on the API server. A version of 0 is of the cache file: the API server was
// not asked.
type object struct {
	lease   network.Lease
	version int
	written time.Time // in whole seconds
}

// A change is what a watch shows: the object on an address, without a lease where it was deleted.
type change struct {
	address netip.Addr
	object
	at time.Time
}

// An apiServer holds the objects as they are, and all changes in order.
type apiServer struct {
	objects map[netip.Addr]object
	changes []change
}

func (s *apiServer) put(a netip.Addr, l network.Lease, at time.Time) object {
	o := object{l, len(s.changes) + 1, at.Truncate(time.Second)}
	s.changes = append(s.changes, change{a, o, at})
	if s.objects[a] = o; !l.Address.IsValid() {
		delete(s.objects, a)
	}
	return o
}

// backup returns the current state.
func (s *apiServer) backup() *apiServer {
	return &apiServer{maps.Clone(s.objects), slices.Clone(s.changes)}
}

// A cutStore is the leases as one edge knows them, as package edge/kube keeps them: its own writes at
// once, those of others when it is told. It may be cut off from the API server.
type cutStore struct {
	leases.Table
	api      *apiServer
	versions map[netip.Addr]int // of the known leases
	written  map[netip.Addr]time.Time
	// missing are addresses whose object the API server may have lost. True: a list lacked it. Unwatched: no list followed
	// the return of the API server.
	missing   map[netip.Addr]bool
	unwatched bool
	told      int // so many of the changes
	complete  bool
	cut       bool
	now       func() time.Time
	// leaseTime is that of the plan as the edge knows it.
	leaseTime func() network.Duration
	answered  time.Time // by the API server, last
	// lost reports whether the answer to a write is lost on its way. Meanwhile is called before a
	// write reaches the API server.
	lost      func() bool
	meanwhile func()
}

var errCut = errors.New("the API server does not answer")

// takes has a lease known, or none on a if o has none.
func (s *cutStore) takes(a netip.Addr, o object) {
	delete(s.missing, a)
	if s.versions[a], s.written[a] = o.version, o.written; o.lease.Address.IsValid() {
		o.lease.Version = strconv.Itoa(o.version)
		s.Put(o.lease)
		return
	}
	s.Delete(a)
	delete(s.versions, a)
	delete(s.written, a)
}

// isOlder reports whether o is not what was known on a, and not newer.
func (s *cutStore) isOlder(a netip.Addr, o object) bool {
	known, ok := s.At(a)
	known.Version = ""
	return ok && (o.version < s.versions[a] || o.version == s.versions[a] && o.lease != known)
}

// reads has the object on a known. One that the API server lost is written again, as package edge/kube does.
func (s *cutStore) reads(a netip.Addr) {
	known, ok := s.At(a)
	o, exists := s.api.objects[a]
	lost := exists && s.isOlder(a, o) || !exists && (s.unwatched || s.missing[a])
	later := func(l network.Lease) bool { return l.Address != a && l.Expires.After(known.Expires) }
	if !ok || s.versions[a] == 0 || !lost || known.Free(s.now(), time.Duration(s.leaseTime()), false) ||
		exists && !o.written.Before(s.written[a]) || known.MAC != "" && slices.ContainsFunc(s.OfMAC(known.MAC), later) {
		s.takes(a, o)
		return
	}
	known.Version = ""
	s.takes(a, s.api.put(a, known, s.now()))
}

// readsMissing reads what the API server may have lost, unless the edge is cut off.
func (s *cutStore) readsMissing() {
	for _, a := range slices.SortedFunc(maps.Keys(s.missing), netip.Addr.Compare) {
		if !s.cut {
			s.reads(a)
		}
	}
}

func (s *cutStore) Ready() error {
	if !s.complete {
		return errCut
	}
	return nil
}

// watchDelay is how late a watch may be.
const watchDelay = time.Minute

// freshFor is how long an edge that asks nothing does not notice that the API server does not answer.
const freshFor = 22 * time.Second

func (s *cutStore) Fresh() error {
	if since := s.now().Sub(s.answered); since < 0 || since > freshFor || !s.complete {
		return errCut
	}
	return nil
}

// asks reports whether the API server answers a request.
func (s *cutStore) asks() error {
	if s.cut {
		s.answered = time.Time{}
		return errCut
	}
	s.answered = s.now()
	return nil
}

func (s *cutStore) Confirm(_ context.Context, mac string, a netip.Addr) error {
	s.meanwhile()
	if err := s.asks(); err != nil {
		return err
	}
	for _, l := range s.OfMAC(mac) {
		s.reads(l.Address)
	}
	s.reads(a)
	return nil
}

func (s *cutStore) Replace(_ context.Context, was, next network.Lease) error {
	now, ok := s.At(next.Address)
	version := s.versions[next.Address]
	switch {
	case now != was:
		return fmt.Errorf("%s: %w", next.Address, fs.ErrExist)
	case ok && version == 0:
		return errCut
	}
	s.meanwhile()
	if err := s.asks(); err != nil {
		return err
	}
	if s.api.objects[next.Address].version != version {
		s.reads(next.Address)
		return fs.ErrExist
	}
	if next.MAC != "" {
		next.LeaseTime = s.leaseTime()
	}
	o := s.api.put(next.Address, next, s.now())
	if s.lost() {
		return errCut
	}
	s.takes(next.Address, o)
	return nil
}

func (s *cutStore) Remove(_ context.Context, was network.Lease) error {
	now, ok := s.At(was.Address)
	version := s.versions[was.Address]
	if !ok || now != was {
		return nil
	}
	s.meanwhile()
	if err := s.asks(); err != nil {
		return err
	}
	switch o, ok := s.api.objects[was.Address]; {
	case ok && o.version != version:
		return errors.New("conflict")
	case ok:
		s.api.put(was.Address, network.Lease{}, s.now())
	}
	if s.lost() {
		return errCut
	}
	s.takes(was.Address, object{})
	return nil
}

// hears takes in at most that many changes, unless it is cut off.
func (s *cutStore) hears(atMost int) {
	for ; !s.cut && s.complete && !s.unwatched && atMost > 0 && s.told < len(s.api.changes); s.told++ {
		atMost--
		c := s.api.changes[s.told]
		if c.version >= s.versions[c.address] && !s.isOlder(c.address, c.object) {
			s.takes(c.address, c.object)
		} else {
			s.missing[c.address] = s.missing[c.address]
		}
	}
}

// hearsUntil records the changes before a time, unless it is cut off.
func (s *cutStore) hearsUntil(t time.Time) {
	for s.told < len(s.api.changes) && s.api.changes[s.told].at.Before(t) && !s.cut && s.complete && !s.unwatched {
		s.hears(1)
	}
}

// lists reads everything, unless it is cut off.
func (s *cutStore) lists() {
	if s.cut {
		return
	}
	for _, l := range s.All() {
		o, ok := s.api.objects[l.Address]
		if s.versions[l.Address] > 0 && (!ok || s.isOlder(l.Address, o)) {
			s.missing[l.Address] = !ok
		} else {
			s.takes(l.Address, o)
		}
	}
	for a, o := range s.api.objects {
		if _, lost := s.missing[a]; !lost {
			s.takes(a, o)
		}
	}
	s.unwatched = false
	s.complete, s.told, s.answered = true, len(s.api.changes), s.now()
}
