// This file decides which messages are accepted as the peer's, and which of two pods with the peer's edge number is the
// peer.

package failover

import (
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/edge/failover/twins"
)

const (
	// maxAnswers limits the answers to messages of an unknown instance in one Interval.
	maxAnswers = 8
	// maxDoubts limits State.doubts, the silences on the VLAN without a known cause. Each doubt lets the peer be silent
	// for longer, so that a bad link does not move VMs back and forth. See State.limit.
	maxDoubts = 4
	// forgiven is how long a peer must be heard until State.doubts decreases by one.
	forgiven = time.Minute
	// followed counts the Intervals for which a pod may be silent. After them, a previous pod with its number counts as the
	// peer again.
	followed = 20
	// believed counts the Intervals for which this edge yields to a younger pod that the peer named last, if the API
	// server answers this edge. If the peer is gone, a VM may have sent its last message.
	believed = 240
)

// Heard reports whether a message of the peer arrived over p within the last two seconds.
func (s State) Heard(p Path) bool { return s.Peer.Instance != "" && s.paths[p].silent <= missable }

// PeerHeard reports whether a message of the peer arrived over either path within the last two seconds.
func (s State) PeerHeard() bool { return s.Heard(VLAN) || s.Heard(ClusterNetwork) }

// PeerMAC returns the peer's MAC on the VLAN. The peer names it over the cluster network, where no VM can forge a
// message. It is empty while the peer is not heard there.
func (s State) PeerMAC() string {
	if !s.Heard(ClusterNetwork) {
		return ""
	}
	return s.peerMAC
}

// Duplicated reports whether two pods have the peer's edge number: a previous pod was heard within the last two seconds.
func (s State) Duplicated() bool { return s.elder <= missable }

// hear handles m, which arrived over p. It accepts m only if the sender has received this edge's messages. A host that
// does not see what is sent to the peer cannot forge the peer's messages. An unknown instance gets an answer, so that a
// new peer can prove that it receives this edge's messages. A previous pod of the peer also gets an answer, and learns
// from it that it has to yield.
func (s State) hear(m Message, p Path, now time.Time) (State, Answer) {
	switch {
	case s.PeerState == Alone || m.Instance == s.Self.Instance:
		return s, Answer{}
	case m.IsTwin(s.Self.Claim) && m.Instance != s.Peer.Instance: // If the peer reads a new owner before this edge does, it is still the peer.
		s.Twins = s.Twins.Hear(twins.Message{Claim: m.Claim, Instance: m.Instance, Number: m.Number, MAC: m.MAC, Idle: m.Level == LevelNothing})
		return s, Answer{}
	case m.Peer != s.Self.Instance:
		a := Answer{instance: m.Instance}
		if p == ClusterNetwork {
			a.Address = m.Address // An answer over the VLAN may be lost.
		}
		return s.answer(a, m)
	case s.isElder(m):
		s.elder = 0
		a := Answer{instance: m.Instance}
		if p == ClusterNetwork || slices.Contains(s.pods[:], m.Address) {
			a.Address = m.Address
		}
		return s.answer(a, m)
	case m.Instance != s.Peer.Instance && p == VLAN && s.Heard(ClusterNetwork):
		// VMs cannot forge messages on the cluster network, so the pod that is heard there remains the peer. A younger
		// pod replaces it once it is silent.
		return s.answer(Answer{instance: m.Instance}, m)
	case m.Instance != s.Peer.Instance:
		s = s.follow(m, p)
	case p == VLAN && m.Number <= s.paths[p].number && s.paths[p].silent > followed:
		s = s.follow(m, p) // A forged number made all messages of the peer look old.
	case m.Number <= s.paths[p].number:
		return s, Answer{}
	case p == VLAN && s.PeerState == PeerUnreachable && m.Stalls == s.Peer.Stalls:
		// The peer ran all the time, so the link loses messages.
		s.doubts = min(s.doubts+1, maxDoubts)
		s.heardSince = now
	}
	s.paths[p], s.heardAt = path{number: m.Number}, now
	if p == VLAN {
		s.refused, s.seen.missed = unbounded, 0
	} else {
		s.peerMAC = m.MAC
		if m.Address != s.pods[0] {
			s.pods = [2]netip.Addr{m.Address, s.pods[0]}
		}
	}
	// VMs cannot forge messages on the cluster network. So a message from there is accepted even if one on the VLAN had a
	// higher number.
	if p == VLAN && m.Number <= s.Peer.Number || m == s.Peer {
		return s, Answer{} // The message came over the other path before.
	}
	s.advantage = s.advantage.heard(s.Peer.Level, m.Level, now)
	s.Peer = m
	if p == ClusterNetwork || !s.Heard(ClusterNetwork) {
		s.younger = m.PeerGeneration > s.Self.Generation && s.Self.Generation > 0
	}
	return s, Answer{}
}

// yield sets whether this edge yields, and to which twin.
func (s State) yield() State {
	var peer twins.Claim
	if s.PeerHeard() {
		peer = s.Peer.Claim
	}
	s.Outdone, s.Self.Claim = s.Twins.YieldsTo(s.Self.Claim, peer)
	s.younger = s.younger && (min(s.paths[VLAN].silent, s.paths[ClusterNetwork].silent) <= believed || !s.reached)
	s.Yields = s.younger || s.Outdone != ""
	return s
}

// answer returns a, the answer to m. If this edge already sent maxAnswers in this Interval, it returns no answer.
func (s State) answer(a Answer, m Message) (State, Answer) {
	count := &s.answers[0]
	if m.Owner != "" && m.Owner == s.Self.Owner { // A separate limit: a VM that receives no heartbeats cannot name the owner.
		count = &s.answers[1]
	}
	if *count >= maxAnswers {
		return s, Answer{}
	}
	*count++
	return s, a
}

// follow makes the sender of m the peer, and forgets the previous instance of the peer. m arrived over p.
func (s State) follow(m Message, p Path) State {
	s.Peer = Message{Instance: m.Instance}
	s.paths[1-p] = path{silent: unbounded}
	s.advantage = advantage{}
	return s
}

// isElder reports whether m comes from a previous pod with the peer's number, while the younger pod is heard.
func (s State) isElder(m Message) bool {
	silent := min(s.paths[VLAN].silent, s.paths[ClusterNetwork].silent)
	return m.Instance != s.Peer.Instance && m.Generation > 0 && m.Generation < s.Peer.Generation && silent <= followed
}

// hasSecondPath reports whether the peer was heard over the cluster network about as recently as
// over the VLAN. An address alone proves nothing: a policy may drop what is sent to it.
func (s State) hasSecondPath() bool {
	return s.Self.Address.IsValid() && s.Peer.Address.IsValid() && s.paths[ClusterNetwork].silent <= s.paths[VLAN].silent+patience
}
