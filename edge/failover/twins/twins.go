// Package twins decides when an edge yields to a twin: an edge of another management cluster that has the addresses of the
// peer. This happens when a hosted cluster is restored on a second management cluster on the same VLAN, while the first one
// still serves. No Lease is shared, so heartbeats over the VLAN decide. It is pure.
//
// # The rule
//
// Each heartbeat names its owner, the UID of the HostedCluster. An edge of another owner is never the peer. An edge that
// starts yields to a twin that serves, unless its own peer serves. It calls a twin that falls silent every ten seconds, and
// serves once the twin is silent for 30 s. A new pod listens for three seconds before it announces. A pair that has served
// for three seconds never yields, unless it did not serve for 30 s. If no pair has, the owner that sorts first goes first.
//
// An edge hears only twins with the other number, because a kernel drops packets from its own address. So an edge also
// yields if its peer does.
//
// # What it does not decide
//
// Two pairs that served before they heard each other both continue, and both report it: they share no clock and no Lease that
// could decide. With one edge for each network there are no heartbeats, so no twin is noticed. Edges of a release that names
// no owner count as pods of the same cluster.
//
// # What a hostile VM can do
//
// A VM that sends from an edge address may pretend to be a twin, without forged ARP: a message every 30 s keeps edges that both
// start from serving. An edge that has served, or whose peer has, only reports the twin. A twin need not prove that it hears this
// edge: twins may hear each other in one direction only, because the kernel may send to its own peer. docs/security.md compares
// this with forged ARP.
package twins

import "net"

const (
	// kept is for how many heartbeat intervals a twin counts after its last message. called is how often a
	// silent twin is called meanwhile.
	kept   = 60
	called = 20
	// replaced is for how many intervals a twin must be silent until another pod of its pair counts.
	replaced = 3
	// settled is for how many intervals in a row an edge must serve until it never yields.
	settled = 6
)

// A Claim is the part of a heartbeat that is for twins.
type Claim struct {
	// Owner is the UID of the sender's HostedCluster. Empty: unknown.
	Owner string `json:"owner,omitempty"`
	// Incumbent: the sender has served for three seconds, at most 30 s ago, so it does not yield.
	Incumbent bool `json:"incumbent,omitempty"`
	// Outdone is the MAC of the twin that the sender heard and yields to. Empty: none.
	Outdone string `json:"outdone,omitempty"`
}

// Valid reports whether an edge may have sent c.
func (c Claim) Valid() bool { return len(c.Owner) <= 64 && (c.Outdone == "" || isMAC(c.Outdone)) }

// isMAC reports whether s is an EUI-48 as edges write it: in lower case with colons.
func isMAC(s string) bool {
	mac, err := net.ParseMAC(s)
	return err == nil && len(mac) == 6 && mac.String() == s
}

// IsTwin reports whether c comes from an edge of another owner.
func (c Claim) IsTwin(of Claim) bool { return c.Owner != "" && of.Owner != "" && c.Owner != of.Owner }

// A Message is what counts of a twin's heartbeat.
type Message struct {
	Claim
	// Instance is random for each run of the sender. Number counts its messages.
	Instance string
	Number   uint64
	MAC      string
	// Idle: VMs that send to the twin get no answer.
	Idle bool
}

// A State is what an edge knows about its twin. The zero value has seen none.
type State struct {
	twin Message
	// silent counts intervals since the twin's last message, ticks all intervals, and served those in a row in which
	// this edge served.
	silent, ticks, served int
	// away counts intervals in a row in which an edge that had settled did not serve.
	away int
}

// Tick returns the state after an interval. serves: VMs that send to this edge get an answer.
func (s State) Tick(serves bool) State {
	s.silent, s.ticks = s.silent+1, s.ticks+1
	switch {
	case serves:
		s.served, s.away = s.served+1, 0
	case s.served >= settled && s.away < kept:
		s.away++
	default:
		s.served = 0
	}
	return s
}

// Hear returns the state after a message of a twin. A message without a valid MAC does not count. Another pod counts once
// the last one is silent, or if only that other pod has served.
func (s State) Hear(m Message) State {
	same, present := m.Instance == s.twin.Instance, s.MAC() != "" && s.silent <= replaced
	switch {
	case !isMAC(m.MAC), same && (m.Number <= s.twin.Number || m.MAC != s.twin.MAC), !same && present && (s.twin.Incumbent || !m.Incumbent):
		return s
	}
	s.twin, s.silent = m, 0
	return s
}

// MAC returns the MAC of a twin that was heard in the last 30 s. Empty: none.
func (s State) MAC() string {
	if s.silent > kept {
		return ""
	}
	return s.twin.MAC
}

// YieldsTo returns the MAC of the twin that this edge yields to, empty if it yields to none, and own with what follows for
// this edge's next heartbeats. peer is the claim of its peer, zero if the peer is not heard. An edge waits for ten seconds at
// most for a twin that does not serve yet.
func (s State) YieldsTo(own, peer Claim) (mac string, claim Claim) {
	own.Incumbent, own.Outdone = s.served >= settled, ""
	first := s.twin.Owner < own.Owner && (!s.twin.Idle || s.ticks <= called)
	switch {
	case own.Incumbent || peer.Incumbent:
		return "", own
	case s.MAC() != "" && (s.twin.Incumbent || first):
		own.Outdone = s.MAC()
		return s.MAC(), own
	}
	return peer.Outdone, own // The peer hears the twin whose number this edge has.
}

// Calls reports whether an edge that yields calls the twin: the twin's kernel may send to its own peer only. That is seldom,
// because the twin's peer hears nothing meanwhile.
func (s State) Calls() bool { return s.silent > 0 && s.silent%called == 0 }
