// This file accepts callers, and opens the tunnels that a Policy permits. Package edge/agent/servers opens the sockets.

package access

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/network/metrics"
)

const (
	// requestLimit is how long a caller may take for its request.
	requestLimit = 5 * time.Second
	// answerLimit is how long a refused caller may take to read the answer. answerRest is how many bytes it may still send.
	answerLimit = time.Second
	answerRest  = 64 << 10
	// idleLimit is how long both sides of a tunnel may be silent.
	idleLimit = 24 * time.Hour
	// acceptAgain is the pause after accepting a connection failed.
	acceptAgain = 50 * time.Millisecond
	// requestGrace is how long a caller has for its request before others may evict it. They try every acceptNext.
	requestGrace, acceptNext = 100 * time.Millisecond, 5 * time.Millisecond
)

// established is the answer to a request that led to a tunnel (RFC 9110, section 9.3.6).
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// Options of a Server. Each is required, except DialLimit.
type Options struct {
	VMs  VMs
	Keys func() Keys
	Dial DialFunc
	// DialLimit is how long the addresses of a destination may take to accept. 0: 3 s.
	DialLimit time.Duration
	// IsVM returns nil if the host at an address, which has accepted a connection, is the VM with the lease on it.
	IsVM func(netip.Addr) error
	// Ended gets each tunnel that has ended, Refused each other connection. Both are called concurrently.
	Ended   func(Tunnel)
	Refused func(Refused)
	Metrics *Metrics
}

// A Server carries connections of callers. Make it with NewServer.
type Server struct {
	o       Options
	dialer  dialer
	buffers *buffers
	policy  atomic.Pointer[Policy]
	// dialing is the context of dials, which ends with Run.
	dialing context.Context
	stop    context.CancelFunc
	// limits may differ in tests.
	limits struct {
		tunnels, waiting, waitingCaller, balanced int
		// every is how often tunnels are checked.
		request, answer, grace, idle, balancedIdle, unanswered, every time.Duration
	}

	mu      sync.Mutex
	stopped bool
	waiting waiting
	// admitted counts the tunnels of callers that the plan admits, and balanced those of load balancers.
	admitted, balanced shares

	tunnels map[*tunnel]struct{}
	running sync.WaitGroup
}

// A call is a connection of a caller.
type call struct {
	conn   *net.TCPConn
	from   netip.AddrPort
	listen uint16
	since  time.Time
	// evicted: the call was closed so that others can be accepted.
	evicted atomic.Bool
	// reserved: the refused call counts as a tunnel until it has its answer.
	reserved bool
}

// NewServer returns a Server that opens nothing before Set.
func NewServer(o Options) *Server {
	s := &Server{o: o, dialer: dialer{dial: o.Dial, limit: cmp.Or(o.DialLimit, dialLimit)}, buffers: newBuffers(), tunnels: map[*tunnel]struct{}{}}
	s.limits.tunnels, s.limits.waiting, s.limits.waitingCaller = maxTunnels, maxWaiting, maxWaitingCaller
	s.limits.request, s.limits.answer, s.limits.grace, s.limits.idle = requestLimit, answerLimit, requestGrace, idleLimit
	s.limits.unanswered, s.limits.every = unansweredLimit, keepaliveInterval
	s.limits.balanced, s.limits.balancedIdle = maxBalanced, balancedIdleLimit
	s.policy.Store(&Policy{})
	s.dialing, s.stop = context.WithCancel(context.Background())
	return s
}

// Set replaces the policy, and ends the tunnels that it no longer permits.
func (s *Server) Set(p Policy) {
	s.policy.Store(&p)
	s.cut(func(t *tunnel) End {
		if p.keeps(&t.Tunnel) {
			return ""
		}
		return NotOpenAnyMore
	})
}

// cut ends the tunnels for which function why returns an End.
func (s *Server) cut(why func(*tunnel) End) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.tunnels {
		if end := why(t); end != "" {
			t.abort(end)
		}
	}
}

// CutAll ends all tunnels.
func (s *Server) CutAll() { s.cut(func(*tunnel) End { return Stopped }) }

// Run ends tunnels that are idle or have lost a peer. When ctx ends, it closes all connections, and waits for them.
func (s *Server) Run(ctx context.Context) {
	tick := time.NewTicker(s.limits.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			s.cut(func(t *tunnel) End { return t.over(s.limits.unanswered, s.idleLimit(t.Target)) })
		}
	}
	s.mu.Lock()
	s.stopped = true
	for _, all := range s.waiting.by {
		for _, c := range all {
			_ = c.conn.Close()
		}
	}
	s.mu.Unlock()
	s.stop()
	s.CutAll()
	s.running.Wait()
}

// Serve accepts callers of l, at the plain TCP port listen or 0 for CONNECT, until ctx ends, and closes l. Connections stay open
// until Run ends.
func (s *Server) Serve(ctx context.Context, l net.Listener, listen uint16) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	defer func() { _ = l.Close() }()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // The caller has gone, or the limit of open files is reached.
			select {
			case <-ctx.Done():
			case <-time.After(acceptAgain):
			}
			continue
		}
		c := &call{conn: conn.(*net.TCPConn), from: addressOf(conn), listen: listen}
		for !s.accept(c) {
			if <-time.After(acceptNext); ctx.Err() != nil {
				_ = conn.Close()
				return nil
			}
		}
	}
}

func addressOf(c net.Conn) netip.AddrPort {
	at := c.RemoteAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// accept handles c in a goroutine. It returns false if c must wait for room. Callers of plain TCP ports never wait.
func (s *Server) accept(c *call) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || tune(c.conn) != nil {
		_ = c.conn.Close()
		return true
	}
	now := time.Now()
	if c.since = now; c.listen == 0 {
		evicted, ok := s.waiting.add(c, s.limits.waiting, s.limits.waitingCaller, now.Add(-s.limits.grace))
		if !ok {
			return false
		}
		if evicted != nil {
			evicted.evicted.Store(true)
			_ = evicted.conn.Close()
		}
		s.o.Metrics.set(metrics.AccessWaiting, s.waiting.count)
	}
	s.running.Go(func() { s.handle(c) })
	return true
}

// leave removes c from the waiting calls.
func (s *Server) leave(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting.remove(c)
	s.o.Metrics.set(metrics.AccessWaiting, s.waiting.count)
}

// handle opens a tunnel for c, which then runs by itself.
func (s *Server) handle(c *call) {
	defer s.leave(c)
	t := &tunnel{Tunnel: Tunnel{Caller: c.from, Listen: c.listen}, caller: c.conn, began: time.Now()}
	first, refusal := s.open(c, t)
	if refusal != nil {
		s.o.Metrics.refused(refusal.Why)
		s.o.Refused(Refused{c.from, t.Account, t.Asked, c.listen, t.Target.Name == loadBalancers, refusal})
		s.answer(c, refusal)
		_ = c.conn.Close()
		if c.reserved {
			s.release(t)
		}
		return
	}
	s.o.Metrics.count(opened)
	s.running.Add(1)
	t.run(first, s.buffers, s.o.Metrics, func(end End) {
		defer s.running.Done()
		s.mu.Lock()
		delete(s.tunnels, t)
		s.mu.Unlock()
		s.release(t)
		s.o.Metrics.Counter(metrics.AccessTunnelsEnded).WithLabelValues(string(end)).Inc()
		s.o.Ended(t.result(end, time.Now()))
	})
}

// answer tries to send the refusal to a caller.
func (s *Server) answer(c *call, why *Refusal) {
	if why.Status == 0 {
		return
	}
	_ = c.conn.SetDeadline(time.Now().Add(s.limits.answer))
	if _, err := c.conn.Write(why.response()); err == nil && c.conn.CloseWrite() == nil {
		// Closing would reset the connection before the caller has read the answer.
		_, _ = io.Copy(io.Discard, io.LimitReader(c.conn, answerRest))
	}
}

// open makes t a tunnel to the destination that c asks for. Result first has the bytes after the request.
func (s *Server) open(c *call, t *tunnel) (first []byte, refused *Refusal) {
	var r Request
	if c.listen == 0 {
		if r, first, refused = s.request(c); refused != nil {
			return nil, refused
		}
		t.Asked = r.Authority.String()
	}
	p, ok, why := *s.policy.Load(), false, NotOpen
	if c.listen != 0 {
		t.Target, ok = FindListen(p, s.o.VMs, c.listen)
	} else {
		if t.Account, refused = s.admit(p, r.Token, time.Now()); refused != nil {
			return nil, refused
		}
		if t.Target, ok = Find(p, s.o.VMs, r.Authority); !ok {
			why = whyNot(p, s.o.VMs, r.Authority)
		}
	}
	if !ok {
		return nil, c.refusal(http.StatusForbidden, why, "")
	}
	addresses := t.Target.Addresses
	t.Target.Addresses = nil
	dialing, giveUp := context.WithCancel(s.dialing)
	defer giveUp()
	t.giveUp = giveUp
	if refused = s.reserve(t); refused != nil {
		return nil, c.refusal(refused.Status, refused.Why, "")
	}
	s.leave(c) // A caller that was refused earlier counts as waiting until it has its answer.
	if refused = s.connect(dialing, p, c, t, addresses); refused != nil {
		c.reserved = true
		return nil, refused
	}
	return first, nil
}

// request reads the request of c. Result first has the bytes after the request.
func (s *Server) request(c *call) (r Request, first []byte, refused *Refusal) {
	_ = c.conn.SetReadDeadline(c.since.Add(s.limits.request))
	b := make([]byte, 0, 1<<10)
	for {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
		n, err := c.conn.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		r, length, refused := ParseHead(b)
		var timeout net.Error
		switch {
		case refused != nil:
			return Request{}, nil, refused
		case length > 0:
			_ = c.conn.SetReadDeadline(time.Time{})
			return r, append([]byte(nil), b[length:]...), nil
		case c.evicted.Load():
			return Request{}, nil, &Refusal{0, WaitingLimit, ""}
		case errors.As(err, &timeout) && timeout.Timeout() && len(b) > 0:
			return Request{}, nil, &Refusal{http.StatusRequestTimeout, TooSlow, ""}
		case errors.As(err, &timeout) && timeout.Timeout():
			return Request{}, nil, &Refusal{0, TooSlow, ""}
		case err != nil:
			return Request{}, nil, &Refusal{0, Abandoned, ""}
		}
	}
}

// admit returns the account of a token, if p requires tokens.
func (s *Server) admit(p Policy, token string, now time.Time) (account string, refused *Refusal) {
	keys := s.o.Keys()
	switch {
	case p.Network.Access.Port == 0:
		return "", &Refusal{http.StatusForbidden, NotOpen, ""}
	case len(p.Network.Access.Accounts) == 0:
		return "", nil
	case token == "":
		return "", &Refusal{http.StatusUnauthorized, TokenMissing, ""}
	case keys.Count() == 0:
		return "", &Refusal{http.StatusServiceUnavailable, KeysUnknown, ""}
	}
	account, err := Verify(token, keys, p.Network.Access.Audience, now)
	if err != nil {
		return "", &Refusal{http.StatusForbidden, TokenRefused, err.Error()}
	}
	if !p.Admits(account) {
		return account, &Refusal{http.StatusForbidden, AccountRefused, ""}
	}
	return account, nil
}

// connect dials the destination of t, and sends the caller the result.
func (s *Server) connect(ctx context.Context, p Policy, c *call, t *tunnel, addresses []netip.AddrPort) *Refusal {
	check := func(netip.Addr) error { return nil }
	if t.Target.VMs {
		check = s.o.IsVM
	}
	conn, to, err := s.dialer.any(ctx, p.Edge, addresses, check)
	if err == nil {
		if err = tune(conn); err != nil {
			abort(conn)
		}
	}
	if err == nil {
		if t.destination, t.Dialed = conn, to; !s.keep(t) {
			abort(conn)
			err = errNotKept
		}
	}
	switch {
	case err == nil:
	case t.cut.Load() != nil:
		return c.refusal(http.StatusServiceUnavailable, ShareLimit, "")
	case errors.Is(err, errNotKept):
		return c.refusal(http.StatusForbidden, NotOpen, "")
	default:
		return c.refusal(http.StatusBadGateway, Unreachable, err.Error())
	}
	if c.listen == 0 {
		_ = c.conn.SetWriteDeadline(time.Now().Add(s.limits.answer))
		_, _ = c.conn.Write([]byte(established)) // The tunnel ends by itself if the caller has gone.
		_ = c.conn.SetWriteDeadline(time.Time{})
	}
	return nil
}

var errNotKept = errors.New("not open any more")

// keep adds t to the open tunnels, unless the policy no longer permits t, or t was evicted.
func (s *Server) keep(t *tunnel) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := *s.policy.Load()
	if s.stopped || !p.keeps(&t.Tunnel) || t.cut.Load() != nil {
		return false
	}
	s.tunnels[t], t.giveUp = struct{}{}, nil
	return true
}
