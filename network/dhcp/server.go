// This file runs the server on a socket that the caller bound to the network's device.
// It reads messages, writes leases and sends replies. Replies are decided in reply.go.

package dhcp

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/net/ipv4"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/network"
)

const (
	// receiveBuffer in bytes is requested from the kernel, which may grant less. It holds
	// the messages of VMs that start together.
	receiveBuffer = 4 << 20
	// maxWriting is how many leases may be written at one time.
	maxWriting = 1024
	// tries of one message if another writer changes its address meanwhile.
	tries = 4
	// again is the interval at which late leases are retried.
	again = 2 * time.Second
)

// A Server serves DHCP on one network.
type Server struct {
	// Network returns the plan in force. It is called for each message.
	Network func() network.Network
	Store   Store
	VMs     VMs
	Metrics *Metrics
	Log     *slog.Logger
	// UnknownClients limits the lease writes for unknown clients. So a VM that forges
	// MACs can neither exhaust the pool in a moment nor flood the store. Nil: no limit,
	// since VMs are not known.
	UnknownClients *rate.Limiter
	// Edge is this edge's number in the plan. PeerServes reports whether the peer serves
	// now; it is called for each message. Nil: this edge replies to all messages.
	Edge       int
	PeerServes func() bool
	// Yields reports whether a younger pod has this edge's number. It is called for each
	// message. Nil: none has.
	Yields func() bool
	// OtherServer gets the name of a VM of the cluster, and the DHCP server that it chose, for
	// each message. It must return at once. Nil: such messages are only counted.
	OtherServer func(vm string, server netip.Addr)
	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	out     *ipv4.PacketConn
	writing sync.WaitGroup

	mu sync.Mutex
	// busy holds the MACs whose leases are being written. A client that retries gets the
	// first reply. True: a new address for an unknown client.
	busy    map[string]bool
	offers  offered
	heard   heard
	late    Late
	counted count
}

// Serve serves on conn until ctx ends, and closes conn.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	s.mu.Lock()
	// Late leases survive when the socket is reopened.
	if s.late == nil {
		s.late = Late{}
	}
	s.busy, s.offers = map[string]bool{}, offered{}
	s.mu.Unlock()
	if s.Now == nil {
		s.Now = time.Now
	}
	_ = conn.SetReadBuffer(receiveBuffer)
	s.out = ipv4.NewPacketConn(conn)
	if err := s.out.SetControlMessage(ipv4.FlagDst, true); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer s.writing.Wait()
	s.writing.Go(func() { every(ctx, again, func() { s.writeLate(ctx) }) })
	s.writing.Go(func() { every(ctx, collectEvery, func() { s.collect(ctx) }) })
	packet := make([]byte, 1<<16)
	for {
		size, cm, _, err := s.out.ReadFrom(packet)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			s.Log.Warn("message not received", "err", err)
			s.Metrics.dropped.WithLabelValues("receive").Inc()
			continue
		}
		s.receive(ctx, packet[:size], cm)
	}
}

// receive decides about one packet, and replies at once if nothing must be written.
func (s *Server) receive(ctx context.Context, packet []byte, cm *ipv4.ControlMessage) {
	n := s.Network()
	if cm == nil || !addressedTo(n, cm.Dst) {
		s.Metrics.dropped.WithLabelValues("not-addressed-to-us").Inc()
		return
	}
	request, err := dhcpv4.FromBytes(packet)
	if err != nil {
		s.Metrics.dropped.WithLabelValues("malformed").Inc()
		return
	}
	if bytes.Equal(request.ClientHWAddr, probeMAC()) {
		s.Metrics.dropped.WithLabelValues("probe").Inc()
		return
	}
	mac := request.ClientHWAddr.String()
	s.mu.Lock()
	if _, writing := s.busy[mac]; writing || len(s.busy) >= maxWriting {
		s.mu.Unlock()
		s.Metrics.dropped.WithLabelValues("busy").Inc()
		return
	}
	v := s.decide(n, request)
	if v.Outcome == Offered {
		// This includes the peer's offers, so that no other client is offered the address.
		s.offers.add(v.Address, v.MAC, s.Now())
	}
	if s.defers(n, request, cm.Dst) && v.Answer != nil {
		v = Verdict{Outcome: LeftToPeer, MAC: v.MAC, VM: v.VM, Address: v.Address}
	}
	if v.Outcome == OtherServer && v.VM != "" && s.OtherServer != nil {
		s.OtherServer(v.VM, addr(request.ServerIdentifier()))
	}
	writes := v.Next.Address.IsValid() || v.Remove.Address.IsValid()
	if writes && v.VM == "" && s.UnknownClients != nil && !s.UnknownClients.AllowN(s.Now(), 1) {
		s.mu.Unlock()
		s.Metrics.dropped.WithLabelValues("unknown-clients").Inc()
		return
	}
	if writes {
		s.busy[mac] = v.Outcome == Granted && v.VM == "" && !v.Anyway
		if s.busy[mac] {
			s.counted.room--
		}
	}
	s.mu.Unlock()
	if !writes {
		s.finish(request, v)
		return
	}
	s.writing.Go(func() {
		v := s.write(context.WithoutCancel(ctx), n, request, v)
		s.mu.Lock()
		delete(s.busy, mac)
		s.mu.Unlock()
		s.finish(request, v)
	})
}

// addressedTo reports whether a packet was sent to the server of n, not to the
// next-hop VIP or another address of the edge.
func addressedTo(n network.Network, dst net.IP) bool {
	a, ok := netip.AddrFromSlice(dst.To4())
	return ok && (a == n.DHCP.ServerID || dst.Equal(net.IPv4bcast) || a == broadcast(n.CIDR))
}

// defers reports whether the peer replies. The caller holds the lock.
func (s *Server) defers(n network.Network, request *dhcpv4.DHCPv4, dst net.IP) bool {
	if s.PeerServes == nil {
		return false
	}
	return Defers(n, s.Edge, request, Sent{
		Direct: n.DHCP.ServerID == addr(dst), Again: s.heard.again(request, s.Now()),
		PeerServes: s.PeerServes(), Yields: s.Yields != nil && s.Yields(),
	})
}

// decide returns the verdict at this moment. The caller holds the lock.
func (s *Server) decide(n network.Network, request *dhcpv4.DHCPv4) Verdict {
	now := s.Now()
	k := Known{
		Leases: s.late.Over(s.Store), VMs: s.VMs, Complete: s.Ready() == nil,
		Offered: func(a netip.Addr) string { return s.offers.to(a, now) },
	}
	if _, none := s.VMs.(NoVMs); !none && n.DHCP.ReservedForVMs > 0 {
		k.PoolRemaining = func() int { return s.room(n, k, now) }
	}
	return Reply(n, k, request, now)
}

// Ready returns nil once all leases and VMs were read. Until then only clients with a
// lease are served.
func (s *Server) Ready() error { return cmp.Or(s.Store.Ready(), s.VMs.Ready()) }

// write makes the verdict durable. If another writer changed the address meanwhile, it
// decides again.
func (s *Server) write(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v Verdict) Verdict {
	begin := time.Now()
	for range tries {
		var err error
		if v.Next.Address.IsValid() {
			err = s.Store.Replace(ctx, s.written(v.Was), v.Next)
		}
		switch {
		case err == nil:
			s.Metrics.wrote("written", begin)
			s.remove(ctx, v.Remove)
			s.forget(v.Next.Address)
			return v
		case errors.Is(err, fs.ErrExist):
			s.mu.Lock()
			v = s.decide(n, request)
			s.mu.Unlock()
			continue
		case v.Anyway:
			s.Metrics.wrote("later", begin)
			s.Log.Warn("lease renewed, write deferred", "address", v.Address, "mac", v.MAC, "err", err)
			s.mu.Lock()
			s.late[v.Next.Address] = v.Next
			s.mu.Unlock()
			return v
		}
		s.Metrics.wrote("failed", begin)
		s.Log.Error("lease not written, request not granted", "address", v.Address, "mac", v.MAC, "err", err)
		v.Answer = nil
		return v
	}
	s.Metrics.wrote("contended", begin)
	v.Answer = nil
	return v
}

// written returns the stored lease if l is late, else l.
func (s *Server) written(l network.Lease) network.Lease {
	s.mu.Lock()
	_, late := s.late[l.Address]
	s.mu.Unlock()
	if was, ok := s.Store.At(l.Address); late && (!ok || was.MAC == l.MAC) {
		return was
	}
	return l
}

func (s *Server) forget(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.late, a)
}

func (s *Server) remove(ctx context.Context, l network.Lease) {
	if !l.Address.IsValid() {
		return
	}
	if err := s.Store.Remove(ctx, s.written(l)); err != nil {
		s.Log.Warn("released lease not deleted", "address", l.Address, "mac", l.MAC, "err", err)
	}
	s.forget(l.Address)
}

// finish sends the reply, logs and counts.
func (s *Server) finish(request *dhcpv4.DHCPv4, v Verdict) {
	s.Metrics.messages.WithLabelValues(request.MessageType().String(), string(v.Outcome)).Inc()
	level := slog.LevelDebug
	if v.Next.Address.IsValid() || v.Remove.Address.IsValid() || v.Outcome == Refused || v.Outcome == Exhausted {
		level = slog.LevelInfo
	}
	s.Log.Log(context.Background(), level, "message processed", "outcome", string(v.Outcome), "address", v.Address, "mac", v.MAC, "vm", v.VM, "why", v.Why)
	if len(v.LeftOut) > 0 {
		s.Log.Warn("requested options do not fit", "mac", v.MAC, "options", v.LeftOut)
	}
	if v.Answer == nil {
		return
	}
	// The source is the service VIP. With the next-hop VIP as source, the kernel's ARP
	// request would move VMs to this edge.
	from := &ipv4.ControlMessage{Src: s.Network().DHCP.ServerID.AsSlice()}
	if _, err := s.out.WriteTo(v.Answer.ToBytes(), from, net.UDPAddrFromAddrPort(v.To)); err != nil && !errors.Is(err, net.ErrClosed) {
		s.Metrics.dropped.WithLabelValues("send").Inc()
		s.Log.Error("reply not sent", "to", v.To, "err", err)
	}
}

// every calls do at the interval d until ctx ends.
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

// writeLate writes late leases whose address no other client has.
func (s *Server) writeLate(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.late))
	s.mu.Unlock()
	s.Metrics.late.Set(float64(len(all)))
	for _, l := range all {
		was, ok := s.Store.At(l.Address)
		if !ok || was.MAC == l.MAC && was.Expires.Before(l.Expires) {
			if err := s.Store.Replace(ctx, was, l); err != nil {
				// The next write would fail, too. After a conflict the store has the new lease.
				return
			}
		}
		s.mu.Lock()
		if s.late[l.Address] == l {
			delete(s.late, l.Address)
		}
		s.mu.Unlock()
	}
}
