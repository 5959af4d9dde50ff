// This file holds the message of the older version.

package older

// A Phase is an edge's own state.
type Phase string

// The phases of an edge.
const (
	// Starting: the edge runs and does not serve, not yet or no longer.
	Starting Phase = "starting"
	// Serving: VMs may send to it.
	Serving Phase = "serving"
	// Draining: the edge still serves, and is about to stop.
	Draining Phase = "leaving"
)

// A Message is one heartbeat, sent every Interval and at every change. Unknown fields are
// ignored. The JSON names and the values of Phase are those of the first version, whatever
// the Go names are: during an upgrade the two edges run different versions.
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
	// Sees: the sender received a message of Peer within the last two seconds.
	Sees bool `json:"sees,omitempty"`
	// Announcements counts those of the sender since Peer stopped serving.
	Announcements int `json:"claims,omitempty"`
}
