// This file connects pods with the decisions: those of package failover, and those of the
// older version.

package simulation

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
	"github.com/cldmnky/oooi/edge/failover/simulation/older"
)

// A kind is the kind of an input.
type kind int

const (
	tick kind = iota
	heard
	refused
	isReady
	notReady
	drain
	reached
	unreached
)

// An input is one event, for any version.
type input struct {
	kind    kind
	message failover.Message
	second  bool // it came over the cluster network
	began   time.Time
	seen    failover.Observation
}

// An output is what is to be done.
type output struct {
	announce, call, probe, close bool
	send                         []failover.Message
	answers                      []failover.Answer
}

// A decider is what an agent knows and decides.
type decider interface {
	next(i input, now time.Time) output
	// view is what an operator sees of it.
	view() string
	// peerAddress is where the peer is on the cluster network, zero if unknown.
	peerAddress() netip.Addr
}

func (p *pod) newDecider(instance string) decider {
	if p.older {
		return &olderVersion{older.NewState(p.number+1, instance, false)}
	}
	self := failover.Self{Edge: p.number + 1, Instance: instance, Generation: p.born}
	if !p.w.single {
		self.Address = p.address
	}
	return &current{failover.NewState(self, false)}
}

// current decides as package failover does.
type current struct{ state failover.State }

func (c *current) view() string {
	v := fmt.Sprintf("%s, %s, peer %s", c.state.Self.Phase, c.state.Self.Level, c.state.PeerState)
	if c.state.Deaf {
		v += ", deaf"
	}
	if c.state.Yields {
		v += ", yields"
	}
	return v
}

func (c *current) peerAddress() netip.Addr { return c.state.Peer.Address }

func (c *current) next(i input, now time.Time) output {
	kinds := [...]failover.Kind{tick: failover.Tick, heard: failover.Heard, refused: failover.Refused, isReady: failover.Ready, notReady: failover.NotReady,
		drain: failover.Drain, reached: failover.Reached, unreached: failover.Unreached}
	e := failover.Event{Kind: kinds[i.kind], Message: i.message, Began: i.began, Observed: i.seen}
	if i.second {
		e.Path = failover.ClusterNetwork
	}
	next, do := failover.Next(c.state, e, now)
	c.state = next
	return output{announce: do.Announce, call: do.Call, probe: do.Probe, close: do.Close, send: do.Send, answers: do.Answers}
}

// olderVersion decides as the older version did. It ignores and never sends newer fields.
type olderVersion struct{ state older.State }

func (o *olderVersion) view() string {
	return fmt.Sprintf("%s, peer %s", o.state.Self.Phase, o.state.PeerState)
}

func (o *olderVersion) peerAddress() netip.Addr { return netip.Addr{} }

func (o *olderVersion) next(i input, now time.Time) output {
	kinds := [...]older.Kind{tick: older.Tick, heard: older.Heard, refused: older.Refused, isReady: older.Ready, notReady: older.NotReady, drain: older.Drain}
	if int(i.kind) >= len(kinds) || i.second {
		return output{}
	}
	m := i.message
	next, do := older.Next(o.state, older.Event{Kind: kinds[i.kind], Message: older.Message{
		Phase: older.Phase(m.Phase), Edge: m.Edge, Plan: m.Plan, Instance: m.Instance, Number: m.Number, Peer: m.Peer, Sees: m.Sees, Announcements: m.Announcements,
	}}, now)
	o.state = next
	out := output{announce: do.Announce, close: do.Close}
	for _, m := range do.Send {
		out.send = append(out.send, failover.Message{
			Phase: failover.Phase(m.Phase), Edge: m.Edge, Plan: m.Plan, Instance: m.Instance, Number: m.Number, Peer: m.Peer, Sees: m.Sees, Announcements: m.Announcements,
		})
	}
	return out
}
