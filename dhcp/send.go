// This file sends replies, and logs and counts what was decided.

package dhcp

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/dhcp/reply"
	"github.com/cldmnky/oooi/network/metrics"
)

// finish logs and counts the verdict, and sends the reply, if there is one.
func (s *Server) finish(request *dhcpv4.DHCPv4, v reply.Verdict) {
	s.trouble.decided(v.Outcome, s.Now())
	level := slog.LevelDebug
	if v.Next.Address.IsValid() || v.Remove.Address.IsValid() || v.Outcome == reply.Refused || v.Outcome == reply.Exhausted {
		level = slog.LevelInfo
	}
	if s.Log.Enabled(context.Background(), level) {
		s.line(level, "message processed", v.MAC, string(v.Outcome), "outcome", string(v.Outcome), "address", v.Address, "vm", v.VM, "why", v.Why)
	}
	if len(v.LeftOut) > 0 {
		s.line(slog.LevelWarn, "requested options do not fit", v.MAC, "options", "options", v.LeftOut)
	}
	s.Metrics.Counter(metrics.DHCPMessages).WithLabelValues(request.MessageType().String(), string(v.Outcome)).Inc()
	if v.Answer == nil {
		return
	}
	s.send(reply.Encode(v.Answer), v.To)
}

// send sends a reply without waiting. If that is not possible, it drops the reply, and the client asks again. A
// reply to a host without a known MAC waits in the kernel for ARP, and fills only the buffer of the direct socket.
// While that is full, replies to known hosts leave through another socket.
func (s *Server) send(data []byte, to netip.AddrPort) {
	out := s.direct
	if to.Addr() == reply.Everyone {
		out = s.broadcast
	}
	err := out.Send(data, to)
	if errors.Is(err, unix.EAGAIN) && to.Addr() != reply.Everyone && s.Knows != nil && s.Knows(to.Addr()) {
		err = s.atOnce.Send(data, to)
	}
	switch {
	case err == nil || errors.Is(err, net.ErrClosed):
		return
	case errors.Is(err, unix.EAGAIN):
		s.Metrics.drops(dropSendBuffer)
	default:
		s.Metrics.drops(dropSend)
	}
	s.warnings.Do(func() { s.Log.Error("reply not sent", "to", to, "err", err) })
}
