package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
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
	o := object{l, len(s.changes) + 1}
	s.changes = append(s.changes, change{a, o, at})
	if s.objects[a] = o; !l.Address.IsValid() {
		delete(s.objects, a)
	}
	return o
}

// A cutStore is the leases as one edge knows them, as package edge/kube keeps them: its own writes at
// once, those of others when it is told. It may be cut off from the API server.
type cutStore struct {
	leases.Table
	api      *apiServer
	versions map[netip.Addr]int // of the known leases
	told     int                // so many of the changes
	complete bool
	cut      bool
	now      func() time.Time
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
	if s.versions[a] = o.version; o.lease.Address.IsValid() {
		o.lease.Version = strconv.Itoa(o.version)
		s.Put(o.lease)
		return
	}
	s.Delete(a)
	delete(s.versions, a)
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
		s.takes(l.Address, s.api.objects[l.Address])
	}
	s.takes(a, s.api.objects[a])
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
		s.takes(next.Address, s.api.objects[next.Address])
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
	for ; !s.cut && s.complete && atMost > 0 && s.told < len(s.api.changes); s.told++ {
		atMost--
		c := s.api.changes[s.told]
		if c.version >= s.versions[c.address] {
			s.takes(c.address, c.object)
		}
	}
}

// hearsUntil records the changes before a time, unless it is cut off.
func (s *cutStore) hearsUntil(t time.Time) {
	for s.told < len(s.api.changes) && s.api.changes[s.told].at.Before(t) && !s.cut && s.complete {
		s.hears(1)
	}
}

// lists reads everything, unless it is cut off.
func (s *cutStore) lists() {
	if s.cut {
		return
	}
	for _, l := range s.All() {
		s.takes(l.Address, s.api.objects[l.Address])
	}
	for a, o := range s.api.objects {
		s.takes(a, o)
	}
	s.complete, s.told, s.answered = true, len(s.api.changes), s.now()
}
