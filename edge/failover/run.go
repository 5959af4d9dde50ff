// This file runs the failover agent: it passes events to Next and carries out its actions.
// It decides nothing itself.

package failover

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
)

const (
	// servingInterval is how often Serving is called if changes are not pushed.
	servingInterval = 250 * time.Millisecond
	// servingRecheck is how often Serving is called if changes are pushed.
	servingRecheck = time.Second
	// answerWithin limits one call of Serving. After it the edge does not serve. A
	// failover resets connections, so one slow answer is no reason for it.
	answerWithin = 3 * time.Second
	// receivedAtOnce messages are queued. More are dropped.
	receivedAtOnce = 64
)

// Options of a failover agent.
type Options struct {
	// Device is the network interface. Every socket is bound to it.
	Device string
	// Edge is this edge's number in the plan.
	Edge int
	// Address is this edge's address, PeerAddress the other's. The latter is zero where the
	// plan has one edge.
	Address, PeerAddress netip.Addr
	// NextHopVIP is the next-hop VIP that is announced.
	NextHopVIP netip.Addr
	// OnLink returns the addresses that are announced with it: those that clients may have
	// on their link. It is called for each announcement. Nil: none.
	OnLink func() []netip.Addr
	// Removed: the plan no longer has this edge; see State.
	Removed bool
	// Serving returns nil if this edge serves VMs, else why not. It is called when
	// ServingChanged fires and once a second; without ServingChanged, four times a second.
	Serving func() error
	// Carrier reports whether Device has a link. Nil: the kernel is asked.
	Carrier func() bool
	// ServingChanged returns a channel that is closed when Serving may have changed. It
	// may be nil.
	ServingChanged func() <-chan struct{}
	// Plan returns a name for the plan in force, at most 64 bytes. Nil: no name.
	Plan func() string
	Log  *slog.Logger
	// Changed receives each state that differs visibly from the last: in phases, plans,
	// the peer's state or instance, or whether the peer sees this edge. It must return
	// soon. It may be nil.
	Changed func(State)
	// Announced is called after each announcement, with its error. It may be nil.
	Announced func(error)
}

// ErrReplaced, as the cause of a canceled context (context.WithCancelCause), makes Run
// return at once without draining: another run follows.
var ErrReplaced = errors.New("replaced by another run")

// Run runs the agent until ctx ends, and then drains. Draining ends at once if the peer
// cannot take over, 2 s after the peer announces, or after 4 s. Keep serving until Run
// returns. Run waits while the device lacks the edge address. See ErrReplaced for an end
// without draining.
func Run(ctx context.Context, o Options) error {
	events := make(chan Event, receivedAtOnce)
	// The goroutines end when Run does, not when ctx does.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g := agent{Options: o, state: NewState(Self{Edge: o.Edge, Instance: rand.Text()}, !o.PeerAddress.IsValid()), events: events, failing: map[string]string{}}
	g.state.Removed = o.Removed
	defer g.close()
	go watch(running, o, events)
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	leave := ctx.Done()
	for {
		g.open(running)
		e := Event{Kind: Tick}
		select {
		case <-leave:
			if errors.Is(context.Cause(ctx), ErrReplaced) {
				return nil
			}
			leave, e.Kind = nil, Drain
		case e = <-events:
		case <-tick.C:
			e.Observed.NoLink = g.deaf()
		}
		if g.handle(e) {
			return nil
		}
	}
}

// An agent is one run.
type agent struct {
	Options
	state  State
	events chan Event
	conn   *net.UDPConn
	// failing is the last error of each action, so that each is logged once.
	failing       map[string]string
	announcements int
}

// handle reports whether the edge may close.
func (g *agent) handle(e Event) bool {
	was := g.state
	next, do := Next(was, e, time.Now())
	g.state = next
	if do.Announce {
		g.announcements++
		addresses := []netip.Addr{g.NextHopVIP}
		if g.OnLink != nil {
			addresses = append(addresses, g.OnLink()...)
		}
		err := announce(g.Device, addresses, g.announcements)
		// A peer that never serves is announced against forever: log less and less.
		if c := next.Self.Announcements; !g.failed("announce", err) && (c <= 8 || c&(c-1) == 0) {
			g.Log.Info("failover announcement sent", "nextHop", g.NextHopVIP, "peer", string(next.PeerState), "count", next.Self.Announcements)
		}
		if g.Announced != nil {
			g.Announced(err)
		}
	}
	for _, x := range do.Answers {
		g.send(x.Message)
	}
	for _, m := range do.Send {
		g.send(m)
	}
	if was.PeerState != next.PeerState {
		g.Log.Info("peer state changed", "peer", string(next.PeerState), "was", string(was.PeerState), "peerEdge", next.Peer.Edge, "peerPlan", next.Peer.Plan)
	}
	if was.Self.Phase != next.Self.Phase {
		g.Log.Info("phase changed", "phase", string(next.Self.Phase))
	}
	if g.Changed != nil && noticeOf(was) != noticeOf(next) {
		g.Changed(next)
	}
	return do.Close
}

// A notice is the part of a State that Options.Changed is called for.
type notice struct {
	phase, peerPhase Phase
	plan, peerPlan   string
	peer             PeerState
	instance         string
	edge             int
	sees             bool
}

func noticeOf(s State) notice {
	return notice{
		phase: s.Self.Phase, plan: s.Self.Plan, peer: s.PeerState,
		peerPhase: s.Peer.Phase, peerPlan: s.Peer.Plan, instance: s.Peer.Instance, edge: s.Peer.Edge, sees: s.Peer.Sees,
	}
}

func (g *agent) send(m Message) {
	if g.conn == nil {
		return
	}
	// The kernel reports a refusal of the last message once, to the next write or read.
	_, err := g.conn.Write(m.bytes())
	if errors.Is(err, syscall.ECONNREFUSED) {
		offer(g.events, Event{Kind: Refused})
		_, err = g.conn.Write(m.bytes())
	}
	if errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ECONNREFUSED) {
		err = nil // No host answers for the peer's address: the peer is silent.
	}
	g.failed("send", err)
}

// offer drops e if the queue is full.
func offer(events chan<- Event, e Event) {
	select {
	case events <- e:
	default:
	}
}

// failed logs err once, and reports whether it is not nil.
func (g *agent) failed(what string, err error) bool {
	if err == nil {
		delete(g.failing, what)
		return false
	}
	if g.failing[what] != err.Error() {
		g.failing[what] = err.Error()
		g.Log.Warn("failover action failed", "action", what, "err", err)
	}
	return true
}

// open opens the socket for heartbeats if it is needed and not open.
func (g *agent) open(ctx context.Context) {
	if g.conn != nil || !g.PeerAddress.IsValid() {
		return
	}
	conn, err := connect(ctx, g.Device, g.Address, g.PeerAddress)
	if g.failed("listen", err) {
		return
	}
	g.conn = conn
	go receive(conn, g.events)
}

// deaf reports whether no message can arrive: the socket is missing, or the device has no
// carrier. Otherwise an edge without a link would consider its peer unreachable, and
// announce when the link is back.
func (g *agent) deaf() bool {
	if g.conn == nil && g.PeerAddress.IsValid() {
		return true
	}
	if g.Carrier != nil {
		return !g.Carrier()
	}
	i, err := net.InterfaceByName(g.Device)
	return err != nil || i.Flags&net.FlagRunning == 0
}

func (g *agent) close() {
	if g.conn != nil {
		_ = g.conn.Close()
	}
}

// onLink is the time to live of a packet that no router forwarded (RFC 5082).
const onLink = 255

// connect opens the socket for heartbeats. The kernel drops packets that do not arrive on
// device or do not come from the peer's address and port.
func connect(ctx context.Context, device string, own, peer netip.Addr) (*net.UDPConn, error) {
	d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(own, wire.HeartbeatPort)), Control: func(network, address string, c syscall.RawConn) error {
		if err := edge.Control(device)(network, address, c); err != nil {
			return err
		}
		var set error
		err := c.Control(func(fd uintptr) {
			set = errors.Join(unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TTL, onLink), unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTTL, 1))
		})
		return errors.Join(err, set)
	}}
	c, err := d.DialContext(ctx, "udp4", netip.AddrPortFrom(peer, wire.HeartbeatPort).String())
	if err != nil {
		return nil, fmt.Errorf("heartbeats of %s: %w", own, err)
	}
	return c.(*net.UDPConn), nil
}

// receive passes the peer's messages on until conn is closed. It drops packets that a
// router forwarded.
func receive(conn *net.UDPConn, events chan<- Event) {
	b, about := make([]byte, maxMessage+1), make([]byte, 64)
	for {
		n, m, _, _, err := conn.ReadMsgUDP(b, about)
		e := Event{Kind: Heard}
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case errors.Is(err, syscall.ECONNREFUSED):
			e.Kind = Refused
		case err != nil:
			continue // For example, no host answers for the address.
		case ttl(about[:m]) != onLink:
			continue
		default:
			if e.Message, err = readMessage(b[:n]); err != nil {
				continue
			}
		}
		offer(events, e)
	}
}

// ttl returns the IP_TTL of a control message, 0 if it has none.
func ttl(about []byte) int {
	all, err := unix.ParseSocketControlMessage(about)
	if err != nil {
		return 0
	}
	for _, c := range all {
		if c.Header.Level == unix.IPPROTO_IP && c.Header.Type == unix.IP_TTL && len(c.Data) >= 4 {
			return int(binary.NativeEndian.Uint32(c.Data))
		}
	}
	return 0
}

// errNoAnswer is used if Serving does not return in time.
var errNoAnswer = errors.New("no answer")

// watch calls Serving until ctx ends, and passes changes on.
func watch(ctx context.Context, o Options, events chan<- Event) {
	last := Event{Kind: NotReady}
	tell := func(err error) {
		e := Event{Kind: Ready}
		if err != nil {
			e.Kind = NotReady
		}
		if o.Plan != nil {
			e.Plan = o.Plan()
		}
		if e == last {
			return
		}
		select {
		case events <- e:
			last = e
		case <-ctx.Done():
		}
	}
	interval := servingInterval
	if o.ServingChanged != nil {
		interval = servingRecheck
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		var changed <-chan struct{}
		if o.ServingChanged != nil {
			changed = o.ServingChanged()
		}
		askServing(ctx, o.Serving, tell)
		select {
		case <-tick.C:
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// askServing passes the result of serving to tell. A late result counts as a no, and is
// waited for.
func askServing(ctx context.Context, serving func() error, tell func(error)) {
	answer := make(chan error, 1)
	go func() { answer <- serving() }()
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case err := <-answer:
		tell(err)
	case <-late.C:
		tell(errNoAnswer)
		select {
		case <-answer: // The late result is outdated: ask again.
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}
