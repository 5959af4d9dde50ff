// This file holds what one edge says to its sibling. It decides nothing.

package failover

import (
	"encoding/json"
	"fmt"
)

// A Phase is what an edge says of itself.
type Phase string

// The phases of an edge.
const (
	// Starting: it runs and does not serve, not yet or no longer.
	Starting Phase = "starting"
	// Serving: machines may send to it.
	Serving Phase = "serving"
	// Leaving: it serves for a moment yet, then it closes.
	Leaving Phase = "leaving"
)

// A Message is one heartbeat, said every Interval and whenever something
// changes. Fields that are not known are ignored, so that edges of two versions
// understand each other.
type Message struct {
	Phase Phase `json:"phase"`
	// Edge is the sender's number in the plan, Plan says which plan it serves.
	Edge int    `json:"edge"`
	Plan string `json:"plan,omitempty"`
	// Instance is one run of the sender's guard, by chance; Number counts its
	// messages from 1.
	Instance string `json:"instance"`
	Number   uint64 `json:"number"`
	// Peer is the receiver's Instance as the sender has heard it. Empty: it has
	// heard none.
	Peer string `json:"peer,omitempty"`
	// Sees: the sender has heard Peer lately.
	Sees bool `json:"sees,omitempty"`
	// Claims is how often the sender has claimed since Peer ceased to serve.
	Claims int `json:"claims,omitempty"`
}

const (
	maxMessage = 512
	maxText    = 64
)

// bytes is m as it is sent.
func (m Message) bytes() []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic("guard: a message is always JSON: " + err.Error())
	}
	return b
}

// readMessage is the message in b, or an error where it is none.
func readMessage(b []byte) (Message, error) {
	var m Message
	if len(b) > maxMessage {
		return m, fmt.Errorf("%d bytes, more than %d", len(b), maxMessage)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return Message{}, err
	}
	switch {
	case m.Phase != Starting && m.Phase != Serving && m.Phase != Leaving:
		return Message{}, fmt.Errorf("phase %q is none", m.Phase)
	case m.Instance == "" || len(m.Instance) > maxText || len(m.Peer) > maxText || len(m.Plan) > maxText:
		return Message{}, fmt.Errorf("instance, peer or plan is too long or missing")
	case m.Number == 0 || m.Claims < 0:
		return Message{}, fmt.Errorf("a count is out of its range")
	}
	return m, nil
}
