// This file runs the guard: it hears, ticks and asks, hands what happened to
// Next, and does what that says. It decides nothing itself.

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
	// askAgain is how often it is asked whether this edge serves.
	askAgain = 250 * time.Millisecond
	// askSeldom is how often it is asked where a change is told.
	askSeldom = time.Second
	// answerWithin is how long the answer may take; then it is no. One that is slow
	// once is not worth the connections that a change of edge cuts.
	answerWithin = 3 * time.Second
	// receivedAtOnce messages wait to be looked at; what comes on top is dropped.
	receivedAtOnce = 64
)

// Options of a guard.
type Options struct {
	// Device is the network's; each socket is bound to it.
	Device string
	// Edge is this edge's number in the plan.
	Edge int
	// Own is this edge's own address, Sibling the other's; zero where the plan has
	// one edge.
	Own, Sibling netip.Addr
	// NextHop is what is claimed.
	NextHop netip.Addr
	// Yields: the plan has this edge no more; see State.
	Yields bool
	// Serving is nil where machines that come to this edge are served, else why
	// not. It is asked when ServingChanged fires and once a second, without that four
	// times a second.
	Serving func() error
	// ServingChanged is closed when Serving may have changed since. It may be nil.
	ServingChanged func() <-chan struct{}
	// Plan names the plan in force, at most 64 bytes. Nil: not said.
	Plan func() string
	Log  *slog.Logger
	// Changed is told each state whose phase, sight, or sibling's phase, plan, run
	// or sight of us differs from the last. Nil: nobody is. It must return soon.
	Changed func(State)
	// Claimed is told of each claim, and why it could not be made. Nil: nobody is.
	Claimed func(error)
}

// ErrReplaced as the cause of a context's end (context.WithCancelCause) has Run
// return at once and say nothing: another run follows.
var ErrReplaced = errors.New("guarded by another run")

// Run guards the next hop until ctx ends; then it says that it leaves, and
// returns when its sibling has taken the machines over (2 s), can't (at once), or
// did not (4 s). So keep serving until it has returned. While the device lacks
// the own address it waits. See ErrReplaced for an end without a leave.
func Run(ctx context.Context, o Options) error {
	events := make(chan Event, receivedAtOnce)
	// What the goroutines do ends when Run does, not when ctx does.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g := guard{Options: o, state: NewState(o.Edge, rand.Text(), !o.Sibling.IsValid()), events: events, failing: map[string]string{}}
	g.state.Yields = o.Yields
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
			leave, e.Kind = nil, Leave
		case e = <-events:
		case <-tick.C:
			if leave != nil && g.deaf() {
				continue // Who can't hear misses nothing, and nobody hears its claims.
			}
		}
		if g.handle(e) {
			return nil
		}
	}
}

// A guard is one run.
type guard struct {
	Options
	state  State
	events chan Event
	conn   *net.UDPConn
	// failing is the last error of each thing that is done, so that each is logged
	// once.
	failing map[string]string
	claims  int
}

// handle says whether the edge may close.
func (g *guard) handle(e Event) bool {
	was := g.state
	next, do := Next(was, e, time.Now())
	g.state = next
	if do.Claim {
		g.claims++
		err := claim(g.Device, g.NextHop, g.claims)
		// One that never comes to serve is claimed against for ever.
		if c := next.Self.Claims; !g.failed("claim", err) && (c <= 8 || c&(c-1) == 0) {
			g.Log.Info("claims the next hop", "address", g.NextHop, "sibling", string(next.Sight), "time", next.Self.Claims)
		}
		if g.Claimed != nil {
			g.Claimed(err)
		}
	}
	for _, m := range do.Say {
		g.say(m)
	}
	if was.Sight != next.Sight {
		g.Log.Info("sees its sibling", "sibling", string(next.Sight), "was", string(was.Sight), "edge", next.Sibling.Edge, "plan", next.Sibling.Plan)
	}
	if was.Self.Phase != next.Self.Phase {
		g.Log.Info("says what it does", "phase", string(next.Self.Phase))
	}
	if g.Changed != nil && noticeOf(was) != noticeOf(next) {
		g.Changed(next)
	}
	return do.Close
}

// A notice is what Options.Changed is about.
type notice struct {
	phase, siblingPhase Phase
	plan, siblingPlan   string
	sight               Sight
	instance            string
	edge                int
	sees                bool
}

func noticeOf(s State) notice {
	return notice{
		phase: s.Self.Phase, plan: s.Self.Plan, sight: s.Sight,
		siblingPhase: s.Sibling.Phase, siblingPlan: s.Sibling.Plan, instance: s.Sibling.Instance, edge: s.Sibling.Edge, sees: s.Sibling.Sees,
	}
}

func (g *guard) say(m Message) {
	if g.conn == nil {
		return
	}
	// A refusal of the last message is reported here or to the reader, whoever
	// comes first.
	_, err := g.conn.Write(m.bytes())
	if errors.Is(err, syscall.ECONNREFUSED) {
		offer(g.events, Event{Kind: Refused})
		_, err = g.conn.Write(m.bytes())
	}
	if errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ECONNREFUSED) {
		err = nil // Nobody answers for the sibling's address: that is what silence is.
	}
	g.failed("say", err)
}

// offer drops e where too much waits.
func offer(events chan<- Event, e Event) {
	select {
	case events <- e:
	default:
	}
}

// failed logs err once, and says whether there is one.
func (g *guard) failed(what string, err error) bool {
	if err == nil {
		delete(g.failing, what)
		return false
	}
	if g.failing[what] != err.Error() {
		g.failing[what] = err.Error()
		g.Log.Warn("guard of the next hop", "failed", what, "error", err)
	}
	return true
}

// open opens the socket where there is none yet and should be.
func (g *guard) open(ctx context.Context) {
	if g.conn != nil || !g.Sibling.IsValid() {
		return
	}
	conn, err := connect(ctx, g.Device, g.Own, g.Sibling)
	if g.failed("listen", err) {
		return
	}
	g.conn = conn
	go receive(conn, g.events)
}

// deaf says whether nothing could be heard now: there is no socket for what there
// should be, or the device has no carrier. Without that an edge whose cable was
// pulled would take its sibling for lost, and claim when it is plugged in again.
func (g *guard) deaf() bool {
	if g.conn == nil && g.Sibling.IsValid() {
		return true
	}
	i, err := net.InterfaceByName(g.Device)
	return err != nil || i.Flags&net.FlagRunning == 0
}

func (g *guard) close() {
	if g.conn != nil {
		_ = g.conn.Close()
	}
}

// onLink is the time to live of what no router has passed on (RFC 5082).
const onLink = 255

// connect opens the socket for heartbeats. The kernel drops what does not come
// by device, or not from the sibling's address and Port.
func connect(ctx context.Context, device string, own, sibling netip.Addr) (*net.UDPConn, error) {
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
	c, err := d.DialContext(ctx, "udp4", netip.AddrPortFrom(sibling, wire.HeartbeatPort).String())
	if err != nil {
		return nil, fmt.Errorf("heartbeats of %s: %w", own, err)
	}
	return c.(*net.UDPConn), nil
}

// receive hands on what the sibling says, until conn is closed. What came through
// a router is dropped.
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
			continue // Silence, as when nobody answers for the address.
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

// ttl is what a control message says (IP_TTL), 0 where there is none.
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

// errNoAnswer stands for an answer that does not come.
var errNoAnswer = errors.New("no answer")

// watch asks whether this edge serves until ctx ends, and hands on what changes.
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
	interval := askAgain
	if o.ServingChanged != nil {
		interval = askSeldom
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

// askServing tells the answer of serving. One that is late is a no, and waited for.
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
		case <-answer: // Too late to be true now: ask again.
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}
