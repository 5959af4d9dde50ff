// This file holds the message that an edge sends to its peer. It decides nothing.

package failover

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	"github.com/cldmnky/oooi/edge/failover/twins"
	"github.com/cldmnky/oooi/reported"
)

// A Phase is the stage of an edge's life, from its start to its end.
type Phase string

// The phases of an edge.
const (
	// Starting: the edge runs but does not serve, either not yet or no longer.
	Starting Phase = "starting"
	// Serving: VMs may send to the edge.
	Serving Phase = "serving"
	// Draining: the edge still serves, and is about to stop.
	Draining Phase = "draining"
)

// A Level is how far VMs get through an edge.
type Level string

// The levels, in ascending order. A level that this version does not know is neither lower nor higher than another.
const (
	// LevelNothing: VMs that send to the edge get no answer. It does not serve, it receives
	// nothing, or it yields to a younger pod.
	LevelNothing Level = reported.LevelNothing
	// LevelServes: the edge's servers answer.
	LevelServes Level = reported.LevelServes
	// LevelReaches: the edge's servers answer, and the API server answers through the edge's Envoy.
	LevelReaches Level = reported.LevelReaches
)

// below reports whether both levels are known and l is the lower one.
func (l Level) below(o Level) bool {
	order := []Level{LevelNothing, LevelServes, LevelReaches}
	i, k := slices.Index(order, l), slices.Index(order, o)
	return i >= 0 && i < k
}

// A Message is one heartbeat, sent every Interval and at every change. Unknown fields are
// ignored: during an upgrade the two edges run different versions.
type Message struct {
	Phase Phase `json:"phase"`
	// Edge is the sender's number in the plan, Plan names the plan that it serves.
	Edge int    `json:"edge"`
	Plan string `json:"plan,omitempty"`
	// Instance is random for each run of the sender. Number counts its messages from 1.
	Instance string `json:"instance"`
	Number   uint64 `json:"number"`
	// Peer is the receiver's Instance as the sender received it. Empty: none yet.
	Peer string `json:"peer,omitempty"`
	// Sees: the sender received a message of Peer over the VLAN within the last two seconds.
	Sees bool `json:"sees,omitempty"`
	// Announcements is how many times the sender has announced for its present cause.
	Announcements int `json:"announcements,omitempty"`
	// Level is the sender's level. Empty: unknown.
	Level Level `json:"level,omitempty"`
	// Generation is when the sender's pod first started, in milliseconds of Unix time. Of
	// two pods with one edge number, the one with the lower Generation yields. 0: unknown.
	Generation int64 `json:"generation,omitempty"`
	// PeerGeneration is the Generation of the pod that the sender follows. 0: unknown.
	PeerGeneration int64 `json:"peerGeneration,omitempty"`
	// Stalls counts the times that the sender did not run for a while. A silence that a stall explains does not show a
	// fault of the network.
	Stalls uint64 `json:"stalls,omitempty"`
	// Address is the sender's address on the cluster network. Zero: it has no second path.
	Address netip.Addr `json:"address,omitzero"`
	// MAC is the sender's MAC on the VLAN, in lower case with colons. Empty: unknown.
	MAC string `json:"mac,omitempty"`
	// Stale: the sender's DHCP server cannot read its leases now and offers nothing, so the receiver
	// answers all clients. Stale is independent of Level.
	Stale bool `json:"stale,omitempty"`
	twins.Claim
}

const (
	maxMessage = 512
	maxText    = 64
)

// bytes returns m as JSON.
func (m Message) bytes() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("failover: a message is always JSON: " + err.Error())
	}
	return b
}

// readMessage returns the message in b, or an error if b is not a message.
func readMessage(b []byte) (Message, error) {
	var m Message
	if len(b) > maxMessage {
		return m, fmt.Errorf("%d bytes, more than %d", len(b), maxMessage)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return Message{}, err
	}
	switch {
	case m.Phase != Starting && m.Phase != Serving && m.Phase != Draining:
		return Message{}, fmt.Errorf("phase %q is unknown", m.Phase)
	case m.Instance == "" || len(m.Instance) > maxText || len(m.Peer) > maxText || len(m.Plan) > maxText || len(m.MAC) > maxText || !m.Valid():
		return Message{}, fmt.Errorf("instance, peer, plan, MAC, owner or twin is too long or missing")
	case m.Number == 0 || m.Announcements < 0 || m.Generation < 0 || m.PeerGeneration < 0:
		return Message{}, fmt.Errorf("a count is out of its range")
	}
	return m, nil
}
