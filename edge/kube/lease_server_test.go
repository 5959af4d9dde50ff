// This file tests the leases of two edges against an API server that is played: watches are late, and
// answers get lost. It keeps to the rules of the real one, which apiserver_test.go uses.

package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/leaseobject"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
)

// A leaseServer is an API server with the leases of a network. Cut is why it does not answer. Lost is
// why the answer to the next write does not arrive.
type leaseServer struct {
	objects   map[string]*coordinationv1.Lease
	events    []leaseEvent
	asked     map[string]int // reads, by where the answer is from
	cut, lost error
	writes    int64 // a write takes a second
	// meanwhile happens after a read was answered, before the answer arrives.
	meanwhile func()
}

// A leaseEvent is what a watch sends.
type leaseEvent struct {
	*coordinationv1.Lease
	deleted bool
}

func newLeaseServer() *leaseServer {
	return &leaseServer{objects: map[string]*coordinationv1.Lease{}, asked: map[string]int{}, meanwhile: func() {}}
}

// edge returns an edge that has read all leases. It knows none.
func (s *leaseServer) edge() *Leases {
	return &Leases{objects: s, network: "clusters.vlan100", versions: map[netip.Addr]string{}, written: map[netip.Addr]time.Time{}, lost: map[netip.Addr]bool{}, seen: func() bool { return true }}
}

// keep has an object be o, or none. It returns what was written.
func (s *leaseServer) keep(o *coordinationv1.Lease, deleted bool) (*coordinationv1.Lease, error) {
	o = o.DeepCopy()
	o.ResourceVersion = strconv.Itoa(len(s.events) + 1)
	s.writes++
	o.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(metav1.Unix(s.writes, 0))}}
	s.events = append(s.events, leaseEvent{o, deleted})
	if s.objects[o.Name] = o; deleted {
		delete(s.objects, o.Name)
	}
	lost := s.lost
	s.lost = nil
	return o, lost
}

func (s *leaseServer) Get(_ context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	from := "etcd"
	if options.ResourceVersion == "0" {
		from = "cache"
	}
	s.asked[from]++
	o, ok := s.objects[name]
	s.meanwhile()
	switch {
	case s.cut != nil:
		return nil, s.cut
	case !ok:
		return nil, apierrors.NewNotFound(leaseResource, name)
	}
	return o, nil
}

func (s *leaseServer) Create(_ context.Context, o *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if s.cut != nil {
		return nil, s.cut
	}
	if s.objects[o.Name] != nil {
		return nil, apierrors.NewAlreadyExists(leaseResource, o.Name)
	}
	return s.keep(o, false)
}

func (s *leaseServer) Update(_ context.Context, o *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if s.cut != nil {
		return nil, s.cut
	}
	switch now := s.objects[o.Name]; {
	case now == nil:
		return nil, apierrors.NewNotFound(leaseResource, o.Name)
	case now.ResourceVersion != o.ResourceVersion:
		return nil, apierrors.NewConflict(leaseResource, o.Name, errors.New("changed"))
	}
	return s.keep(o, false)
}

func (s *leaseServer) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	if s.cut != nil {
		return s.cut
	}
	switch now := s.objects[name]; {
	case now == nil:
		return apierrors.NewNotFound(leaseResource, name)
	case now.ResourceVersion != *options.Preconditions.ResourceVersion:
		return apierrors.NewConflict(leaseResource, name, errors.New("changed"))
	default:
		_, err := s.keep(now, true)
		return err
	}
}

// at returns the lease on a as the API server has it.
func (s *leaseServer) at(a netip.Addr) network.Lease {
	o, ok := s.objects[wire.LeaseName("clusters.vlan100", a)]
	if !ok {
		return network.Lease{}
	}
	l, _ := leaseobject.Read(o)
	return l.AsWritten()
}

// has returns the lease on a as the edge knows it.
func (s *Leases) has(a netip.Addr) network.Lease {
	l, _ := s.At(a)
	return l
}

// confirms returns the lease on an address after edge e has read it.
func (s *leaseServer) confirms(t *testing.T, e *Leases, address string) (network.Lease, error) {
	a := netip.MustParseAddr(address)
	err := e.Confirm(t.Context(), "02:00:00:00:00:01", a)
	l, _ := e.At(a)
	return l.AsWritten(), err
}

// tell sends an event to an edge.
func (e leaseEvent) tell(s *Leases) {
	if o := newKeptLease(e.Lease); e.deleted {
		s.observeDeletion(o)
	} else {
		s.take(o)
	}
}

// TestConfirm: a read finds what a late watch has not told yet: another client's lease, that a lease
// is removed, and the other leases of the client. What the watch sends meanwhile and later counts if it is
// younger.
func TestConfirm(t *testing.T) {
	g := gomega.NewWithT(t)
	server := newLeaseServer()
	writer, late := server.edge(), server.edge()
	none, ctx := network.Lease{}, t.Context()
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	of := func(address, mac string) network.Lease {
		return network.Lease{Address: netip.MustParseAddr(address), MAC: mac, Expires: until}
	}
	mine, other := of("192.168.100.20", "02:00:00:00:00:01"), of("192.168.100.20", "02:00:00:00:00:02")
	known := func(e *Leases) network.Lease { return e.has(mine.Address).AsWritten() }
	g.Expect(writer.Replace(ctx, none, mine)).To(gomega.Succeed())
	g.Expect(server.confirms(t, late, "192.168.100.20")).To(gomega.Equal(mine))
	g.Expect(writer.Replace(ctx, writer.has(mine.Address), other)).To(gomega.Succeed())
	server.events[0].tell(late)
	g.Expect(server.confirms(t, late, "192.168.100.20")).To(gomega.Equal(other))
	server.events[0].tell(late)
	g.Expect(known(late)).To(gomega.Equal(other), "the watch is behind")

	g.Expect(writer.Remove(ctx, writer.has(mine.Address))).To(gomega.Succeed())
	g.Expect(known(late)).To(gomega.Equal(other), "it was not told")
	g.Expect(server.confirms(t, late, "192.168.100.20")).To(gomega.Equal(none))

	g.Expect(late.Replace(ctx, none, other)).To(gomega.Succeed())
	g.Expect(late.Remove(ctx, late.has(mine.Address))).To(gomega.Succeed())
	server.meanwhile = func() {
		server.meanwhile = func() {}
		g.Expect(writer.Replace(ctx, none, mine)).To(gomega.Succeed())
		server.events[len(server.events)-1].tell(late)
	}
	g.Expect(server.confirms(t, late, "192.168.100.20")).To(gomega.Equal(mine), "the watch was faster than the answer that there is none")

	// Confirm reads the other leases of the client, too.
	server.cut = errors.New("cut off")
	_, err := server.confirms(t, late, "192.168.100.21")
	g.Expect(err).To(gomega.MatchError(server.cut))
	server.cut = nil
	g.Expect(writer.Replace(ctx, writer.has(mine.Address), other)).To(gomega.Succeed())
	g.Expect(server.confirms(t, late, "192.168.100.21")).To(gomega.Equal(none))
	g.Expect(known(late)).To(gomega.Equal(other))
}

// TestEqualLeases: a client releases its lease, and gets an equal one at the other edge within the same second. The edge
// that is still to delete the first one keeps the second one, and writes nothing in its place.
func TestEqualLeases(t *testing.T) {
	g := gomega.NewWithT(t)
	server := newLeaseServer()
	one, two := server.edge(), server.edge()
	none, ctx := network.Lease{}, t.Context()
	lease := network.Lease{Address: netip.MustParseAddr("192.168.100.20"), MAC: "02:00:00:00:00:01", Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	g.Expect(two.Replace(ctx, none, lease)).To(gomega.Succeed())
	server.events[0].tell(one)
	was := one.has(lease.Address)
	g.Expect(two.Remove(ctx, two.has(lease.Address))).To(gomega.Succeed())
	g.Expect(two.Replace(ctx, none, lease)).To(gomega.Succeed())
	for _, event := range server.events[1:] {
		event.tell(one)
	}

	g.Expect(one.Remove(ctx, was)).To(gomega.Succeed())
	g.Expect(server.at(lease.Address)).To(gomega.Equal(lease), "the second lease")
	g.Expect(one.Replace(ctx, was, network.Lease{Address: lease.Address, Expires: lease.Expires})).To(gomega.MatchError(fs.ErrExist))
	g.Expect(server.at(lease.Address)).To(gomega.Equal(lease), "the second lease")
}

// TestLeasesOfTwoEdges: in random histories with late watches, cut edges and lost answers, a write
// replaces what the API server had when the edge knew it, a confirmed lease is that of the API server, and in
// the end both edges know what it has. The law test of package dhcp builds on these rules.
func TestLeasesOfTwoEdges(t *testing.T) {
	for seed := range uint64(200) {
		if err := leaseHistory(t, rand.New(rand.NewPCG(seed, 1))); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func leaseHistory(t *testing.T, r *rand.Rand) error {
	server := newLeaseServer()
	edges, told := [2]*Leases{server.edge(), server.edge()}, [2]int{}
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for step := range 300 {
		i := r.IntN(2)
		e, a := edges[i], netip.AddrFrom4([4]byte{192, 168, 100, byte(20 + r.IntN(3))})
		mac := fmt.Sprintf("02:00:00:00:00:%02x", r.IntN(4))
		next := network.Lease{Address: a, MAC: mac, Expires: until.Add(time.Duration(step) * time.Second)}
		server.cut, server.lost = nil, nil
		switch r.IntN(12) {
		case 0:
			server.cut = errors.New("cut off")
		case 1:
			server.lost = errors.New("the answer is lost")
		}
		was := server.at(a)
		had, _ := e.At(a)
		switch r.IntN(6) {
		case 0, 1:
			err := e.Replace(t.Context(), had, next)
			switch now := e.has(a).AsWritten(); {
			case err == nil && (had.AsWritten() != was || now != next || server.at(a) != next):
				return fmt.Errorf("step %d: %s wrote over %v, which it did not know", step, a, was)
			case errors.Is(err, fs.ErrExist) && now != server.at(a):
				return fmt.Errorf("step %d: after a conflict %v is known instead of %v", step, now, server.at(a))
			case err != nil && server.cut != nil && e.Fresh() == nil:
				return fmt.Errorf("step %d: fresh after %w", step, err)
			}
		case 2:
			if err := e.Remove(t.Context(), had); err == nil && had.AsWritten() == was && server.at(a).Address.IsValid() {
				return fmt.Errorf("step %d: %s is not removed", step, a)
			} else if had.AsWritten() != was && server.at(a) != was {
				return fmt.Errorf("step %d: %v is removed, which was not known", step, was)
			}
		case 3:
			if err := e.Confirm(t.Context(), mac, a); err != nil {
				continue
			}
			if now := e.has(a).AsWritten(); now != was {
				return fmt.Errorf("step %d: read %v, the API server has %v", step, now, was)
			}
		default:
			for n := r.IntN(4); n > 0 && told[i] < len(server.events); n-- {
				server.events[told[i]].tell(e)
				told[i]++
			}
		}
	}
	for i, e := range edges {
		for _, event := range server.events[told[i]:] {
			event.tell(e)
		}
		if e.Len() != len(server.objects) {
			return fmt.Errorf("edge %d knows %d leases of %d", i, e.Len(), len(server.objects))
		}
		for _, l := range e.All() {
			if server.at(l.Address) != l.AsWritten() {
				return fmt.Errorf("edge %d knows %v instead of %v", i, l, server.at(l.Address))
			}
		}
	}
	return nil
}
