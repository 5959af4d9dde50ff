// Package twins decides when an edge yields to a twin: an edge of another management cluster that has the addresses of the
// peer. This happens when a hosted cluster is restored on a second management cluster on the same VLAN, while the first one
// still serves. No Lease is shared, so heartbeats over the VLAN decide. The package sends nothing, and reads no clock.
//
// # The rule
//
// Each heartbeat names its owner, the UID of the HostedCluster. The two edges of one owner are a pair. An edge of another
// owner is never the peer. An edge that starts yields to a twin that serves, unless its own peer serves. If the twin falls
// silent, this edge calls it (failover.Actions.Call) every ten seconds, and serves once the twin has been silent for 30 s.
// A new pod listens for three seconds before it announces. A pair that has served for three seconds does not yield, unless
// it has stopped serving for 30 s. If neither pair has served, the pair whose owner sorts first serves.
//
// An edge hears only twins with the other number, because a kernel drops packets from its own address. So an edge also
// yields if its peer does.
//
// # What it does not decide
//
// If two pairs served before they heard each other, both pairs continue, and report it. They share no clock and no Lease that
// could decide. With one edge for each network there are no heartbeats, so no twin is noticed. Edges of a release that names
// no owner count as pods of the same cluster.
//
// # What a hostile VM can do
//
// A VM that sends from an edge address may pretend to be a twin, without forged ARP. If both edges start, a message every 30 s
// keeps them from serving. An edge that has served, or whose peer has, only reports the twin. A twin need not prove that it hears
// this edge. Twins may hear each other in one direction only, because the kernel may send to its own peer. docs/security.md
// compares this with forged ARP.
package twins

import "net"

const (
	// Constant kept is the number of heartbeat intervals for which a twin is remembered after its last message. Constant called is
	// the number of intervals from one call of a silent twin to the next.
	kept   = 60
	called = 20
	// replaced is for how many intervals a twin must be silent until another pod of its pair replaces it.
	replaced = 3
	// Constant settled is the number of intervals in a row that an edge must serve before it no longer yields.
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

// IsTwin reports whether c and parameter of name different owners. It returns false if an owner is unknown.
func (c Claim) IsTwin(of Claim) bool { return c.Owner != "" && of.Owner != "" && c.Owner != of.Owner }

// A Message is the part of a twin's heartbeat that this package reads.
type Message struct {
	Claim
	// Instance is random for each run of the sender. Number counts its messages.
	Instance string
	Number   uint64
	MAC      string
	// Idle: VMs that send to the twin get no answer.
	Idle bool
}

// A State is what an edge knows about its twin. The zero State knows no twin.
type State struct {
	twin Message
	// silent counts intervals since the twin's last message. ticks counts all intervals, and served those in a row in which this
	// edge served.
	silent, ticks, served int
	// away counts intervals in a row in which an edge that had settled did not serve.
	away int
}

// Tick returns the state after an interval. If serves is true, VMs that send to this edge get an answer.
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

// Hear returns the state after a message of a twin. It ignores a message without a valid MAC. Another pod replaces the
// known twin only if that is silent, or if the other pod is an incumbent and the known twin is not.
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

// YieldsTo returns the MAC of the twin that this edge yields to, and the claim for its next heartbeats. The MAC is empty if
// this edge does not yield. Parameter own is the last claim of this edge. Parameter peer is the claim of its peer, zero if
// the peer is not heard. An edge waits for ten seconds at most for a twin that does not serve yet.
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

// Calls reports whether an edge that yields calls the twin now. The twin's kernel may send heartbeats only to the twin's own
// peer, until a call. Calls are rare, because after a call the twin's peer hears nothing.
func (s State) Calls() bool { return s.silent > 0 && s.silent%called == 0 }
