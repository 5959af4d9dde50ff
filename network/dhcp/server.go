// This file runs a server on a socket that the caller bound to the network's
// device: it reads, asks Reply, writes what the verdict asks to have written, and
// answers. What is answered is decided in reply.go.

package dhcp

import (
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
	// receiveBuffer is asked of the kernel, which gives less where it must: what
	// machines that are switched on together send in one instant.
	receiveBuffer = 4 << 20
	// maxWriting clients wait for their leases to be written at one time.
	maxWriting = 1024
	// tries of one message whose address somebody else wrote meanwhile.
	tries = 4
	// again is how often what could not be written is tried again.
	again = 2 * time.Second
)

// A Server answers on one network.
type Server struct {
	// Network is the plan in force. It is asked for each message.
	Network  func() network.Network
	Store    Store
	Machines Machines
	Metrics  *Metrics
	Log      *slog.Logger
	// Strangers is how often leases are written for MACs that no machine has, so
	// that one machine that forges them neither empties the pool in a moment nor
	// floods the store. Nil: without limit, as where no machines are known.
	Strangers *rate.Limiter
	// Edge is this edge's number in the plan, and Sibling says whether the network's
	// other edge serves now; it is asked for each message. Nil: all are answered.
	Edge    int
	Sibling func() bool
	// Now is the clock, time.Now where nil.
	Now func() time.Time

	out     *ipv4.PacketConn
	writing sync.WaitGroup

	mu sync.Mutex
	// busy are the MACs whose leases are being written: a client that asks again
	// meanwhile gets the first answer. True: it is a stranger's new address.
	busy    map[string]bool
	offers  offered
	heard   heard
	late    Late
	counted count
}

// Serve answers on conn, which it closes, until ctx ends.
func (s *Server) Serve(ctx context.Context, conn *net.UDPConn) error {
	s.mu.Lock()
	// What is late stays so while the socket is opened anew.
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
			s.Log.Warn("receive", "error", err)
			s.Metrics.dropped.WithLabelValues("receive").Inc()
			continue
		}
		s.receive(ctx, packet[:size], cm)
	}
}

// receive decides about one packet, and does at once what needs no write.
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
	mac := request.ClientHWAddr.String()
	s.mu.Lock()
	if _, writing := s.busy[mac]; writing || len(s.busy) >= maxWriting {
		s.mu.Unlock()
		s.Metrics.dropped.WithLabelValues("busy").Inc()
		return
	}
	v := s.decide(n, request)
	if v.Outcome == Offered {
		// Also what the other edge offers: nobody else is offered it here meanwhile.
		s.offers.add(v.Address, v.MAC, s.Now())
	}
	if s.leaves(n, request, cm.Dst) && v.Answer != nil {
		v = Verdict{Outcome: LeftToSibling, MAC: v.MAC, Machine: v.Machine, Address: v.Address}
	}
	writes := v.Next.Address.IsValid() || v.Remove.Address.IsValid()
	if writes && v.Machine == "" && s.Strangers != nil && !s.Strangers.AllowN(s.Now(), 1) {
		s.mu.Unlock()
		s.Metrics.dropped.WithLabelValues("strangers").Inc()
		return
	}
	if writes {
		s.busy[mac] = v.Outcome == Granted && v.Machine == "" && !v.Anyway
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

// addressedTo says whether a packet was sent to a server on n, and not to the
// next hop, on which nothing serves, or to another address of the edge.
func addressedTo(n network.Network, dst net.IP) bool {
	a, ok := netip.AddrFromSlice(dst.To4())
	return ok && (a == n.DHCP.ServerID || dst.Equal(net.IPv4bcast) || a == broadcast(n.CIDR))
}

// leaves holds the lock.
func (s *Server) leaves(n network.Network, request *dhcpv4.DHCPv4, dst net.IP) bool {
	if s.Sibling == nil {
		return false
	}
	return Leaves(n, s.Edge, request, Sent{
		Direct: n.DHCP.ServerID == addr(dst), Again: s.heard.again(request, s.Now()), SiblingServes: s.Sibling(),
	})
}

// decide holds the lock.
func (s *Server) decide(n network.Network, request *dhcpv4.DHCPv4) Verdict {
	now := s.Now()
	k := Known{
		Leases: s.late.Over(s.Store), Machines: s.Machines, Complete: s.Ready() == nil,
		Offered: func(a netip.Addr) string { return s.offers.to(a, now) },
	}
	if _, none := s.Machines.(NoMachines); !none && n.DHCP.KeptForMachines > 0 {
		k.Room = func() int { return s.room(n, k, now) }
	}
	return Reply(n, k, request, now)
}

// Ready is nil when all leases and machines that there were are known. Until then
// only those are served who have a lease.
func (s *Server) Ready() error { return cmp.Or(s.Store.Ready(), s.Machines.Ready()) }

// write makes the verdict durable. Where somebody else wrote the address since,
// it is decided anew.
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
			s.Log.Warn("a known lease is granted and will be written later", "address", v.Address, "mac", v.MAC, "error", err)
			s.mu.Lock()
			s.late[v.Next.Address] = v.Next
			s.mu.Unlock()
			return v
		}
		s.Metrics.wrote("failed", begin)
		s.Log.Error("a lease can't be written, so it is not granted", "address", v.Address, "mac", v.MAC, "error", err)
		v.Answer = nil
		return v
	}
	s.Metrics.wrote("contended", begin)
	v.Answer = nil
	return v
}

// written is what the store knows where l may be late.
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
		s.Log.Warn("a lease is kept that nobody needs", "address", l.Address, "mac", l.MAC, "error", err)
	}
	s.forget(l.Address)
}

// finish answers and says what was done.
func (s *Server) finish(request *dhcpv4.DHCPv4, v Verdict) {
	s.Metrics.messages.WithLabelValues(request.MessageType().String(), string(v.Outcome)).Inc()
	level := slog.LevelDebug
	if v.Next.Address.IsValid() || v.Remove.Address.IsValid() || v.Outcome == Refused || v.Outcome == Exhausted {
		level = slog.LevelInfo
	}
	s.Log.Log(context.Background(), level, string(v.Outcome), "address", v.Address, "mac", v.MAC, "machine", v.Machine, "why", v.Why)
	if len(v.LeftOut) > 0 {
		s.Log.Warn("options that were asked for have no room", "mac", v.MAC, "options", v.LeftOut)
	}
	if v.Answer == nil {
		return
	}
	// From the service address: never from the next hop, which would move the
	// machines' neighbour entries.
	from := &ipv4.ControlMessage{Src: s.Network().DHCP.ServerID.AsSlice()}
	if _, err := s.out.WriteTo(v.Answer.ToBytes(), from, net.UDPAddrFromAddrPort(v.To)); err != nil && !errors.Is(err, net.ErrClosed) {
		s.Metrics.dropped.WithLabelValues("send").Inc()
		s.Log.Error("answer", "to", v.To, "error", err)
	}
}

// every calls do each time that d has gone by, until ctx ends.
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

// writeLate writes what could not be written, as long as the address is still
// its client's.
func (s *Server) writeLate(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.late))
	s.mu.Unlock()
	s.Metrics.late.Set(float64(len(all)))
	for _, l := range all {
		was, ok := s.Store.At(l.Address)
		if !ok || was.MAC == l.MAC && was.Expires.Before(l.Expires) {
			if err := s.Store.Replace(ctx, was, l); err != nil {
				// The next one would fail too; what somebody else wrote is known then.
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
