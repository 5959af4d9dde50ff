// This file runs the failover agent: it passes events to Next and carries out its actions.
// It decides nothing itself.

package failover

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/device"
)

// receivedAtOnce is how many events are queued. Further messages and refusals of the peer are
// dropped.
const receivedAtOnce = 64

// Options of a failover agent.
type Options struct {
	// Device is the network interface. Every socket except the one on ClusterDevice is bound to it.
	Device string
	// ClusterDevice is the pod's interface on the cluster network. Its first IPv4 address is this
	// edge's address on the second path. Empty: there is no second path.
	ClusterDevice string
	// Dir is the directory for state that outlives this container. Empty: no state does.
	Dir string
	// LeaseCache is the file of the cached leases. Empty: no lease is known.
	LeaseCache string
	// CIDR is the network's CIDR. Only VMs in it are probed. Invalid: no VM is probed.
	CIDR netip.Prefix
	// Edge is this edge's number in the plan.
	Edge int
	// Address is this edge's address, PeerAddress its peer's. PeerAddress is zero if the plan has one edge.
	Address, PeerAddress netip.Addr
	// NextHopVIP is part of every announcement.
	NextHopVIP netip.Addr
	// OnLink returns further addresses to announce: those to which clients may send on the link, without a router. It is
	// called for each announcement.
	OnLink func() []netip.Addr
	// Removed: the plan no longer has this edge; see State.
	Removed bool
	// Serving returns nil if this edge serves VMs, else why not. It is called when
	// ServingChanged fires and once a second.
	Serving func() error
	// Carrier reports whether Device has a link.
	Carrier func() bool
	// ServingChanged returns a channel that is closed when Serving may have changed.
	ServingChanged func() <-chan struct{}
	// Reach probes the API server through this edge until ctx ends. It calls report with the start
	// of each answered probe, and with the zero time when no probe was answered for too long.
	Reach func(ctx context.Context, report func(began time.Time))
	// Stale reports whether the DHCP server of this edge cannot read its leases.
	Stale func() bool
	// Plan returns a name for the plan in force, at most 64 bytes, and its twins.Claim.Owner.
	Plan func() (name, owner string)
	Log  *slog.Logger
	// Changed receives each state that differs visibly from the previous one: in a field of type notice. It
	// must return soon.
	Changed func(State)
	// Announced is called after each announcement, with its cause and its error. The cause is one of Causes, or "alone".
	// first is true for the first announcement in a row for that cause.
	Announced func(cause string, first bool, err error)
}

// ErrReplaced, as the cause of a canceled context (context.WithCancelCause), makes Run
// return immediately without draining: another run follows.
var ErrReplaced = errors.New("replaced by another run")

// Run runs the agent until ctx ends, and then drains. Draining ends immediately if the peer cannot take over, 2 s after
// the peer announces, or after 4 s. The caller must keep serving until Run returns. Run waits while the device lacks the
// edge address. See ErrReplaced for an end without draining.
//
// Run uses monotonic time. A late tick shows that the process was stopped, or that its cgroup was frozen. If the node is
// a VM itself, a pause of the node goes unnoticed, since the node's clocks stand still, too.
func Run(ctx context.Context, o Options) error {
	// The goroutines end when Run does, not when ctx does.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g := newAgent(running, o)
	defer g.close()
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
		case e = <-g.events:
		case <-tick.C:
			// Messages that arrived before a late tick are handled before it.
			if g.handleQueued() {
				return nil
			}
			e.Observed = g.observe()
		}
		if g.handle(e) {
			return nil
		}
	}
}

// An agent is the state of one Run.
type agent struct {
	Options
	peering
	state State
	// observer is nil while the device lacks the edge address, and without a peer.
	observer *observer
	memory   memory
	// remembered holds the latest memory until it is stored.
	remembered chan memory
	// failing is the last error of each action, so that each is logged once.
	failing       map[string]string
	announcements int
}

// newAgent returns an agent, and starts the goroutines that pass events to it until ctx ends.
func newAgent(ctx context.Context, o Options) *agent {
	g := &agent{Options: o, remembered: make(chan memory, 1), failing: map[string]string{}}
	g.events = make(chan Event, receivedAtOnce)
	var err error
	started := time.Now()
	g.memory, err = recall(o.Dir, started)
	g.failed("recall", err)
	g.failed("remember", g.memory.store(o.Dir))
	self := Self{Edge: o.Edge, Instance: rand.Text(), Generation: g.memory.Generation, New: o.Dir != "" && g.memory.Generation == started.UnixMilli()}
	if o.ClusterDevice != "" {
		self.Address, err = device.FirstAddress(o.ClusterDevice)
		g.failed("find the address on the cluster network", err)
	}
	if i, err := net.InterfaceByName(o.Device); err == nil {
		self.MAC = i.HardwareAddr.String()
	}
	g.state = NewState(self, !o.PeerAddress.IsValid())
	g.state.Removed = o.Removed
	go watch(ctx, o, g.events)
	go o.Reach(ctx, func(began time.Time) { reached(ctx, began, g.events) })
	go remember(ctx, o, g.remembered)
	return g
}

// reached queues the result of a probe of the API server as an event. For began, see Options.Reach.
func reached(ctx context.Context, began time.Time, events chan<- Event) {
	e := Event{Kind: Reached, Began: began}
	if began.IsZero() {
		e.Kind = Unreached
	}
	select {
	case events <- e:
	case <-ctx.Done():
	}
}

// remember stores each memory that it receives, until ctx ends. It runs in a goroutine of its own, since a slow disk must
// not delay a tick.
func remember(ctx context.Context, o Options, memories <-chan memory) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-memories:
			if err := m.store(o.Dir); err != nil {
				warn(o.Log, "remember", err)
			}
		}
	}
}

// open opens the sockets that are needed and not open.
func (g *agent) open(ctx context.Context) {
	if !g.PeerAddress.IsValid() {
		return
	}
	g.failed("listen", g.openVLAN(ctx, g.Device, g.Address, g.PeerAddress))
	if g.observer == nil && g.conns[VLAN] != nil {
		var err error
		g.observer, err = newObserver(ctx, g.Options)
		g.failed("observe", err)
	}
	if own := g.state.Self.Address; own.IsValid() {
		g.failed("listen on the cluster network", g.openCluster(ctx, g.ClusterDevice, own, g.memory.PeerAddress))
	}
}

func (g *agent) close() {
	g.peering.close()
	if g.observer != nil {
		g.observer.close()
	}
}

// handleQueued handles the events that are queued. It reports whether Run may return.
func (g *agent) handleQueued() bool {
	for {
		select {
		case e := <-g.events:
			if g.handle(e) {
				return true
			}
		default:
			return false
		}
	}
}

func (g *agent) observe() Observation {
	noLink := g.noLink()
	var o Observation
	if g.observer != nil {
		var err error
		o, err = g.observer.observe(time.Now())
		g.failed("observe", err)
	}
	o.NoLink = noLink
	return o
}

// handle applies e to the state, and carries out the actions. It reports whether Run may return.
func (g *agent) handle(e Event) bool {
	was := g.state
	next, do := Next(was, e, time.Now())
	g.state = next
	if do.Announce {
		g.announce()
	}
	if do.Call && g.observer != nil {
		g.failed("call the peer", g.observer.call(time.Now()))
	}
	for _, x := range do.Answers {
		g.failed("answer", g.answer(x))
	}
	for _, m := range do.Send {
		failed := g.send(m)
		g.failed("send", failed[VLAN])
		g.failed("send on the cluster network", failed[ClusterNetwork])
	}
	if e.Kind == Tick && g.observer != nil {
		g.failed("probe", g.observer.ask(do.Probe, time.Now()))
	}
	g.learn(e)
	g.tell(was)
	return do.Close
}

// announce sends one failover announcement.
func (g *agent) announce() {
	g.announcements++
	err := announce(g.Device, append([]netip.Addr{g.NextHopVIP}, g.OnLink()...), g.announcements)
	// Announcements against a peer that never serves do not end. Of those, log only every power of two.
	if c := g.state.Self.Announcements; !g.failed("announce", err) && (c <= 8 || c&(c-1) == 0) {
		g.Log.Info("failover announcement sent", "nextHop", g.NextHopVIP, "peer", string(g.state.PeerState), "cause", string(g.state.schedule.cause), "count", c)
	}
	g.Announced(string(g.state.schedule.cause), g.state.schedule.count == 1, err)
}

// learn stores the address of the peer's pod that e names. It ignores e unless e is the peer's latest message and came
// over the VLAN. While the peer is heard on the cluster network, it stores nothing. An address that no pod can have is
// stored as unknown.
func (g *agent) learn(e Event) {
	m, peer := e.Message, g.state.Peer
	if e.Kind != Heard || e.Path != VLAN || m.Peer != g.state.Self.Instance || m.Instance != peer.Instance || m.Number != peer.Number || g.state.Heard(ClusterNetwork) {
		return
	}
	a := m.Address
	if !a.Is4() || !a.IsGlobalUnicast() || a == g.state.Self.Address || g.CIDR.IsValid() && g.CIDR.Contains(a) {
		a = netip.Addr{}
	}
	if a == g.memory.PeerAddress {
		return
	}
	g.memory.PeerAddress = a
	select {
	case <-g.remembered: // The previous memory was not stored yet, and is outdated.
	default:
	}
	g.remembered <- g.memory
}

// tell logs what has changed since state was, and calls Changed.
func (g *agent) tell(was State) {
	next := g.state
	if was.PeerState != next.PeerState {
		g.Log.Info("peer state changed", "peer", string(next.PeerState), "was", string(was.PeerState), "peerEdge", next.Peer.Edge, "peerPlan", next.Peer.Plan)
	}
	if was.Self.Phase != next.Self.Phase {
		g.Log.Info("phase changed", "phase", string(next.Self.Phase))
	}
	if was.Self.Level != next.Self.Level {
		g.Log.Info("level changed", "level", string(next.Self.Level), "was", string(was.Self.Level), "deaf", next.Deaf, "yields", next.Yields)
	}
	if noticeOf(was) != noticeOf(next) {
		g.Changed(next)
	}
}

// A notice is the part of a State whose changes Options.Changed receives.
type notice struct {
	phase, peerPhase                Phase
	level, peerLevel                Level
	plan, peerPlan, twin, outdone   string
	peer                            PeerState
	instance                        string
	edge                            int
	sees, deaf, yields, duplicated  bool
	peerStale                       bool
	heardOnVLAN, heardOnClusterPath bool
}

func noticeOf(s State) notice {
	return notice{
		phase: s.Self.Phase, level: s.Self.Level, plan: s.Self.Plan, deaf: s.Deaf, yields: s.Yields, twin: s.Twins.MAC(), outdone: s.Outdone,
		peer: s.PeerState, peerPhase: s.Peer.Phase, peerLevel: s.Peer.Level, peerPlan: s.Peer.Plan,
		instance: s.Peer.Instance, edge: s.Peer.Edge, sees: s.Peer.Sees, duplicated: s.Duplicated(),
		peerStale:   s.Peer.Stale,
		heardOnVLAN: s.Heard(VLAN), heardOnClusterPath: s.Heard(ClusterNetwork),
	}
}

// failed reports whether err is not nil. It logs an error only if it differs from the last error of the same action.
func (g *agent) failed(what string, err error) bool {
	if err == nil {
		delete(g.failing, what)
		return false
	}
	if g.failing[what] != err.Error() {
		g.failing[what] = err.Error()
		warn(g.Log, what, err)
	}
	return true
}

func warn(log *slog.Logger, action string, err error) {
	log.Warn("failover action failed", "action", action, "err", err)
}

// noLink reports whether no message can arrive: the socket is missing, or the device has no
// carrier. Otherwise an edge without a link would consider its peer unreachable, and
// announce when the link is back.
func (g *agent) noLink() bool {
	return g.conns[VLAN] == nil && g.PeerAddress.IsValid() || !g.Carrier()
}
