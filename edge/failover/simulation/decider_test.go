// This file connects pods with the decisions of package failover.

package simulation

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
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

// An input is one event.
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

// decisions are what an agent knows, and decides by package failover.
type decisions struct{ state failover.State }

func (p *pod) newDecisions(instance string) *decisions {
	self := failover.Self{Edge: p.number + 1, Instance: instance, Generation: p.born}
	if !p.w.single {
		self.Address = p.address
	}
	return &decisions{failover.NewState(self, false)}
}

// view is what an operator sees of it.
func (d *decisions) view() string {
	v := fmt.Sprintf("%s, %s, peer %s", d.state.Self.Phase, d.state.Self.Level, d.state.PeerState)
	if d.state.Deaf {
		v += ", deaf"
	}
	if d.state.Yields {
		v += ", yields"
	}
	return v
}

// peerAddress is where the peer is on the cluster network, zero if unknown.
func (d *decisions) peerAddress() netip.Addr { return d.state.Peer.Address }

func (d *decisions) next(i input, now time.Time) output {
	kinds := [...]failover.Kind{tick: failover.Tick, heard: failover.Heard, refused: failover.Refused, isReady: failover.Ready, notReady: failover.NotReady,
		drain: failover.Drain, reached: failover.Reached, unreached: failover.Unreached}
	e := failover.Event{Kind: kinds[i.kind], Message: i.message, Began: i.began, Observed: i.seen}
	if i.second {
		e.Path = failover.ClusterNetwork
	}
	next, do := failover.Next(d.state, e, now)
	d.state = next
	return output{announce: do.Announce, call: do.Call, probe: do.Probe, close: do.Close, send: do.Send, answers: do.Answers}
}
