// This file receives messages: it decides which packets are accepted, and how each is processed.

package dhcp

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/dhcp/udp"
	"github.com/cldmnky/oooi/network"
)

const (
	// informsPerSecond and informsAtOnce limit the replies to INFORM of clients without a lease.
	// Such a reply may wait in the socket's buffer for the ARP answer of a host that does not exist.
	informsPerSecond = 10
	informsAtOnce    = 20
	// informsPerMAC is how many INFORMs of a MAC are answered in any informsWindow.
	informsPerMAC = 4
	informsWindow = 10 * time.Second
)

// maxQueuedOfOne limits the queued messages of one MAC, so that its VM leaves room to others.
const maxQueuedOfOne = maxQueued / 16

// A queue holds the messages that wait for the server.
type queue struct {
	waiting chan udp.Packet
	mu      sync.Mutex
	// of has the number of queued messages of each MAC.
	of map[[6]byte]int
}

// add reports whether there is room for p.
func (q *queue) add(p udp.Packet) bool {
	mac := macIn(p)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[mac] >= maxQueuedOfOne {
		return false
	}
	select {
	case q.waiting <- p:
		q.of[mac]++
		return true
	default:
		return false
	}
}

// took makes room after p was taken.
func (q *queue) took(p udp.Packet) {
	mac := macIn(p)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[mac]--; q.of[mac] == 0 {
		delete(q.of, mac)
	}
}

// macIn returns the client's MAC (RFC 2131 section 2), or zero for a message that is too short.
func macIn(p udp.Packet) (mac [6]byte) {
	copy(mac[:], p.Data[min(28, len(p.Data)):])
	return mac
}

// read queues the packets of one socket until ctx ends. It does nothing else, so that the socket's buffer does not
// overflow. It returns why it ended.
func (s *Server) read(ctx context.Context, r udp.Receiver, q *queue) error {
	for {
		p, err := r.Next()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			s.Metrics.drops(dropReceive)
			s.warnings.Do(func() { s.Log.Warn("message not received", "err", err) })
			continue
		}
		if !q.add(p) {
			s.Metrics.drops(dropQueue)
		}
	}
}

// work processes the queued packets until ctx ends.
func (s *Server) work(ctx context.Context, q *queue) {
	w := s.watch.Load()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-q.waiting:
			q.took(p)
			w.begin()
			s.receive(ctx, p)
			w.end()
		}
	}
}

// receive handles one packet, and replies immediately if nothing must be written.
func (s *Server) receive(ctx context.Context, p udp.Packet) {
	n := s.Network()
	request, why := accepted(n, p)
	if why != "" {
		s.Metrics.drops(why)
		return
	}
	switch v, why := s.admit(n, request, p.To); {
	case why != "":
		s.Metrics.drops(why)
	case v.Waits():
		s.startWriting(ctx, n, request, v)
	default:
		s.reply(ctx, n, request, v)
	}
}

// admit returns the verdict about a message that was sent to dst, and reserves the writes and removals for it. If why is
// not empty, the message is dropped.
func (s *Server) admit(n network.Network, request *dhcpv4.DHCPv4, dst netip.Addr) (v reply.Verdict, why drop) {
	mac := request.ClientHWAddr.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	v = s.share(n, request, dst)
	if s.Discovered != nil && v.VM != "" && request.MessageType() == dhcpv4.MessageTypeDiscover && s.Ready() == nil {
		if _, leased := s.Store.Of(v.MAC); !leased {
			s.Discovered(v.VM)
		}
	}
	// A client that retries while its lease is being written gets the reply to its first message. A renewal does not
	// wait for a pending write: another host may have caused that write with a forged MAC.
	if _, writing := s.busy[mac]; writing && (v.Waits() || !reply.Uses(request)) {
		return v, dropBusy
	}
	if v.Outcome == reply.OtherServer && v.VM != "" && s.OtherServer != nil {
		s.OtherServer(v.VM, reply.Addr(request.ServerIdentifier()))
	}
	if len(s.busy) >= maxWriting && v.Waits() {
		return v, dropBusy
	}
	v, why = s.afford(n, request, v)
	switch {
	case why != "":
	case v.Outcome == reply.Informed && !s.mayInform(v):
		why = dropInform
	case v.Waits():
		s.busy[mac] = v.Outcome == reply.Granted && v.VM == "" && v.Anyway.IsZero()
		if s.busy[mac] {
			s.counted.room--
		}
	}
	return v, why
}

// startWriting makes a verdict durable in the background, replies, and then removes the client's previous lease. It
// is a separate function, so that the arguments move to the heap only if it is called.
func (s *Server) startWriting(ctx context.Context, n network.Network, request *dhcpv4.DHCPv4, v reply.Verdict) {
	s.writing.Go(func() {
		ctx, mac := context.WithoutCancel(ctx), v.MAC
		v := s.write(ctx, n, request, s.declinedFor(ctx, v))
		s.mu.Lock()
		delete(s.busy, mac)
		removes := v.Remove.Address.IsValid() && s.mayRemove(v.Remove)
		s.mu.Unlock()
		s.finish(request, v)
		if removes {
			s.remove(ctx, v.Remove)
		}
	})
}

// share returns the verdict about a message to dst. The outcome is LeftToPeer if the peer replies. The caller holds the
// lock.
func (s *Server) share(n network.Network, request *dhcpv4.DHCPv4, dst netip.Addr) reply.Verdict {
	v := s.decide(n, request)
	if s.defers(n, request, dst) && (v.Answer != nil || v.Confirm) {
		v = v.Instead(reply.LeftToPeer)
	}
	return v
}

// accepted returns the message in a packet, or why the packet is dropped.
func accepted(n network.Network, p udp.Packet) (request *dhcpv4.DHCPv4, why drop) {
	switch {
	case n.BehindGateway(p.From.Addr()):
		// Hosts beyond the gateway are not DHCP clients: they could use up addresses.
		return nil, dropBeyondGateway
	case !addressedTo(n, p.To):
		return nil, dropNotForUs
	}
	request, err := dhcpv4.FromBytes(p.Data)
	switch {
	case err != nil:
		return nil, dropMalformed
	case bytes.Equal(request.ClientHWAddr, probeMAC()):
		return nil, dropProbe
	case request.MessageType() == dhcpv4.MessageTypeInform && !reply.Addr(request.GatewayIPAddr).IsValid() && reply.Addr(request.ClientIPAddr) != p.From.Addr():
		// A client sends INFORM from its own address (RFC 2131 section 4.4.3), and the reply goes to that address.
		return nil, dropForOthers
	}
	return request, ""
}

// mayInform reports whether an INFORM gets a reply now: its client has a lease, or few INFORMs without a lease arrived
// recently. The caller holds the lock.
func (s *Server) mayInform(v reply.Verdict) bool {
	l, ok := s.Store.Of(v.MAC)
	if ok && l.Address == v.To.Addr() {
		return true
	}
	now := s.Now()
	return s.budgets.informs.Spend(v.MAC, 1, informsPerMAC, informsWindow, now) && s.informs.AllowN(now, 1)
}

// addressedTo reports whether address to is the server identifier of n, or a broadcast address.
func addressedTo(n network.Network, to netip.Addr) bool {
	return to == n.DHCP.ServerID || to == reply.Everyone || to == reply.Broadcast(n.CIDR)
}
