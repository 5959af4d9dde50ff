// This file assembles the server, and what a reply depends on at one moment. Package reply decides the replies.

package dhcp

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/dhcp/leases"
	"github.com/cldmnky/oooi/dhcp/recent"
	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/dhcp/udp"
	"github.com/cldmnky/oooi/network"
)

const (
	// maxQueued limits the messages that wait for the server. It is enough for many VMs that start together.
	maxQueued = 2048
	// maxWriting limits the leases that are written at one time.
	maxWriting = 1024
	// maxRemoving limits the leases that are removed at one time. Further ones are left to expire.
	maxRemoving = 256
	// Constant tries is how often one message is decided at most, while other writers keep changing the address.
	tries = 4
	// Constant again is the interval at which late leases (Server.late) are written again.
	again = recent.FailedFor
)

// A Server serves DHCP on one network.
type Server struct {
	// Network returns the plan in force. It is called for each message.
	Network func() network.Network
	Store   Store
	VMs     reply.VMs
	Metrics *Metrics
	Log     *slog.Logger
	// UnknownClients limits the new leases of unknown clients, but not renewals. So a VM that forges MACs can neither
	// exhaust the pool in a moment nor flood the store. Nil: there is no limit.
	UnknownClients *rate.Limiter
	// Edge is this edge's number in the plan. PeerServes reports whether the peer serves
	// now; it is called for each message. Nil: this edge replies to all messages.
	Edge       int
	PeerServes func() bool
	// Yields reports whether a younger pod has this edge's number. It is called for each message. Nil: no younger pod
	// has it.
	Yields func() bool
	// OtherServer is called for each message in which a VM of the cluster chooses another DHCP server. It must return
	// immediately. Nil: the messages are only counted.
	OtherServer func(vm string, server netip.Addr)
	// Discovered is called for each DHCPDISCOVER of a VM of the cluster whose MAC has no lease, not even an expired one.
	// It must return immediately. Nil: they are only counted.
	Discovered func(vm string)
	// WhoHas asks the network for the MAC of the host that has an address. Empty: no host answered before the context
	// ended. proven reports whether the host answered just now. It is called concurrently. Nil: addresses are offered
	// without a probe.
	WhoHas func(context.Context, netip.Addr) (mac string, proven bool, err error)
	// Knows reports whether the kernel knows the MAC for an address, so that a reply does not wait for ARP. It is called
	// concurrently. Nil: no MAC is known.
	Knows func(netip.Addr) bool
	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	direct, broadcast, atOnce udp.Sender
	writing                   sync.WaitGroup
	watch                     atomic.Pointer[watch]
	// informs limits the replies to INFORM of clients without a lease.
	informs *rate.Limiter
	// warnings limits the log lines about messages and replies that are lost.
	warnings rate.Sometimes

	mu sync.Mutex
	// busy holds the MACs whose leases are being written. True: an unknown client gets a new address.
	busy map[string]bool
	// removing holds the addresses of leases that are being removed.
	removing  map[netip.Addr]bool
	offers    recent.Offers
	heard     recent.Heard
	counted   count
	gone      goneVMs
	budgets   budgets
	trouble   trouble
	conflicts conflicts
	failed    recent.Failed
	// Field late holds renewals that were granted and are not written yet. Replies ignore them: only written leases
	// allow promises to clients. It is kept when the sockets are reopened.
	late leases.Table
}

// Serve serves on sockets until ctx ends, and closes them.
func (s *Server) Serve(ctx context.Context, sockets udp.Sockets) error {
	serving, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(serving, sockets.Close)()
	s.mu.Lock()
	s.forgetAll()
	s.mu.Unlock()
	if s.Now == nil {
		s.Now = time.Now
	}
	var err error
	if s.direct, s.broadcast, s.atOnce, err = sockets.Senders(); err != nil {
		sockets.Close()
		return err
	}
	s.informs, s.warnings = rate.NewLimiter(informsPerSecond, informsAtOnce), rate.Sometimes{Interval: time.Second}
	s.watch.Store(&watch{began: time.Now()})
	defer s.watch.Store(nil)
	defer s.writing.Wait()
	s.writing.Go(func() { every(serving, again, func() { s.writeLate(serving) }) })
	s.writing.Go(func() { every(serving, collectEvery, func() { s.collect(serving) }) })
	q := &queue{waiting: make(chan udp.Packet, maxQueued), of: map[[6]byte]int{}}
	for _, r := range sockets.Receivers() {
		s.writing.Go(func() { end(s.read(serving, r, q)) })
	}
	s.work(serving, q)
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(serving)
}

// forgetAll resets what the server tracks about clients, as at a start. The caller holds the lock.
func (s *Server) forgetAll() {
	s.busy, s.removing, s.offers, s.conflicts = map[string]bool{}, map[netip.Addr]bool{}, recent.Offers{}, newConflicts()
}

// defers reports whether this edge leaves request to its peer (reply.Defers). The caller holds the lock.
func (s *Server) defers(n network.Network, request *dhcpv4.DHCPv4, dst netip.Addr) bool {
	if s.PeerServes == nil {
		return false
	}
	return reply.Defers(n, s.Edge, request, reply.Sent{
		Direct: n.DHCP.ServerID == dst, Again: s.heard.Again(request, s.Now()),
		PeerServes: s.PeerServes(), Yields: s.Yields != nil && s.Yields(), Stale: s.Store.Fresh() != nil,
	})
}

// decide returns the verdict at this moment. It remembers each offer, even if the peer sends it, so that no other
// client is offered the same address. The caller holds the lock.
func (s *Server) decide(n network.Network, request *dhcpv4.DHCPv4) reply.Verdict {
	now := s.Now()
	v := reply.Decide(n, s.known(n, now), request, now)
	if v.Outcome == reply.Offered {
		s.offers.Add(v.Address, v.MAC, now)
	}
	return v
}

// known returns what a reply depends on at this moment. The caller holds the lock.
func (s *Server) known(n network.Network, now time.Time) reply.Known {
	k := reply.Known{
		Leases: s.Store, VMs: s.VMs, Complete: s.Ready() == nil, Fresh: s.Store.Fresh() == nil, Shared: s.PeerServes != nil,
		Offered: func(a netip.Addr) string { return s.offers.To(a, now) },
	}
	all := k
	k.GoneVMs = func() []network.Lease { return s.gone.at(all, now) }
	if _, none := s.VMs.(reply.NoVMs); !none && n.DHCP.ReservedForVMs > 0 {
		k.PoolRemaining = s.poolRemaining(n, k, now)
	}
	if s.conflicts.Hosts() {
		k.InUse = s.inUse(n, k, now)
	}
	return k
}

// Ready returns nil once all leases and VMs were read. Until then only clients with a
// lease are served.
func (s *Server) Ready() error { return cmp.Or(s.Store.Ready(), s.VMs.Ready()) }

// Alive returns an error while the server hangs, so that the peer must serve VMs.
func (s *Server) Alive() error {
	if w := s.watch.Load(); w != nil {
		return w.err()
	}
	return nil
}

// every calls function do at the interval d until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
