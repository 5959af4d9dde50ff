// This file answers questions on an open socket. The caller chooses address and device.

package ntp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/facebook/time/ntp/protocol"

	"github.com/cldmnky/oooi/network"
)

// largest is how many bytes of a datagram are read. The rest of a longer datagram is ignored.
const largest = 1500

// A Server gives the time of a clock to the hosts of one network.
type Server struct {
	clock   Clock
	metrics *Metrics
	clients atomic.Pointer[network.Range]
}

// NewServer returns a Server that answers no client before Serve.
func NewServer(clock Clock, m *Metrics) *Server { return &Server{clock: clock, metrics: m} }

// Serve makes s answer the hosts of n. It ignores the broadcast address, since the answer would
// reach all hosts.
func (s *Server) Serve(n network.Network) {
	s.clients.Store(&network.Range{First: network.HostAddress(n.CIDR, 1), Last: network.HostAddress(n.CIDR, -1)})
}

// Run answers on c until ctx ends, and closes c. Only one Run may run at a time.
func (s *Server) Run(ctx context.Context, c *net.UDPConn) error {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	defer func() { _ = c.Close() }()
	if err := stampReceived(c); err != nil {
		return fmt.Errorf("ntp server: %w", err)
	}
	datagram, control := make([]byte, largest), make([]byte, unix.CmsgSpace(timespecSize))
	limiter := NewLimiter()
	for {
		n, controls, _, from, err := c.ReadMsgUDPAddrPort(datagram, control)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("ntp server: %w", err)
		}
		now := time.Now()
		answer, o := s.answer(limiter, datagram[:n], from.Addr().Unmap(), receivedAt(control[:controls], now), now)
		if answer != nil {
			if _, err := c.WriteToUDPAddrPort(answer, from); err != nil {
				o = failed
			}
		}
		s.metrics.count(o)
	}
}

// answer returns the answer to a datagram. Nil: no answer.
func (s *Server) answer(l *Limiter, datagram []byte, client netip.Addr, received, now time.Time) ([]byte, outcome) {
	if hosts := s.clients.Load(); hosts == nil || !hosts.Contains(client) {
		return nil, foreign
	}
	q, ok := Client(datagram)
	if !ok {
		return nil, invalid
	}
	if !l.Permits(client, now) {
		return nil, dropped
	}
	state, err := s.clock()
	if err != nil || !state.Synchronized {
		return encoded(Kiss(q)), unsynchronized
	}
	return encoded(Reply(q, state, received, time.Now())), answered
}

// encoded returns p as 48 bytes, without extension fields.
func encoded(p protocol.Packet) []byte {
	b, err := p.Bytes()
	if err != nil {
		panic("ntp: a packet without extension fields is always encoded: " + err.Error())
	}
	return b
}

// timespecSize is the size of the kernel's time of receipt, in bytes.
const timespecSize = 16

// stampReceived asks the kernel for the time at which each datagram arrives.
func stampReceived(c *net.UDPConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	return errors.Join(err, set)
}

// receivedAt returns the time of receipt from control messages, so that a busy processor does not
// distort the client's clock. If there is none, or the clock was set back since, it returns now.
func receivedAt(control []byte, now time.Time) time.Time {
	for len(control) >= unix.CmsgLen(0) {
		h, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			break
		}
		if h.Level == unix.SOL_SOCKET && h.Type == unix.SCM_TIMESTAMPNS && len(data) >= timespecSize {
			at := time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
			if at.Before(now) {
				return at
			}
		}
		control = rest
	}
	return now
}
