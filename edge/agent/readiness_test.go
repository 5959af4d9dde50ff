package agent

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// TestReadiness: the next edge is changed only after this one serves and the other
// has seen it, and nothing is held up for ever.
func TestReadiness(t *testing.T) {
	broken := errors.New("dns: does not serve: starting")
	serving := failover.Message{Phase: failover.Serving}
	sees := failover.Message{Phase: failover.Serving, Instance: "x", Sees: true}
	blind := failover.Message{Phase: failover.Serving, Instance: "x"}
	type step struct {
		after  time.Duration
		serves error
		sight  failover.PeerState
		said   failover.Message
		want   error
	}
	for name, steps := range map[string][]step{
		"one edge":           {{0, broken, failover.Alone, failover.Message{}, broken}, {1, nil, failover.Alone, failover.Message{}, nil}},
		"seen":               {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen}, {1, nil, failover.PeerServing, blind, ErrUnseen}, {1, nil, failover.PeerServing, sees, nil}},
		"seen by who starts": {{0, nil, failover.PeerIdle, blind, ErrUnseen}, {1, nil, failover.PeerIdle, sees, nil}},
		"refused":            {{0, nil, failover.PeerIdle, failover.Message{}, ErrUnseen}, {20 * time.Second, nil, failover.PeerIdle, failover.Message{}, ErrUnseen}, {30 * time.Second, nil, failover.PeerIdle, failover.Message{}, nil}},
		"a port that takes a while": {
			{0, nil, failover.PeerUnreachable, failover.Message{}, ErrUnseen}, {5 * time.Second, nil, failover.PeerUnreachable, failover.Message{}, ErrUnseen},
			{time.Second, nil, failover.PeerServing, blind, ErrUnseen}, {time.Second, nil, failover.PeerUnreachable, blind, ErrUnseen},
			{9 * time.Second, nil, failover.PeerUnreachable, blind, ErrUnseen}, {2 * time.Second, nil, failover.PeerUnreachable, blind, nil},
		},
		"stays ready":     {{0, nil, failover.PeerServing, sees, nil}, {1, nil, failover.PeerServing, blind, nil}, {1, nil, failover.Unknown, failover.Message{}, nil}, {1, nil, failover.PeerUnreachable, sees, nil}},
		"stops serving":   {{0, nil, failover.PeerServing, sees, nil}, {1, broken, failover.PeerServing, sees, broken}, {1, nil, failover.PeerServing, blind, ErrUnseen}, {1, nil, failover.PeerServing, sees, nil}},
		"serves late":     {{0, broken, failover.PeerServing, sees, broken}, {time.Hour, nil, failover.PeerServing, blind, ErrUnseen}, {44 * time.Second, nil, failover.PeerServing, blind, ErrUnseen}, {time.Second, nil, failover.PeerServing, blind, nil}},
		"nothing is seen": {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen}, {45 * time.Second, nil, failover.Unknown, failover.Message{}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1000, 0)
			var s Readiness
			for i, x := range steps {
				now = now.Add(x.after)
				var err error
				s, err = s.Next(x.serves, failover.State{Self: serving, PeerState: x.sight, Peer: x.said}, now)
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred(), "step %d", i)
				} else {
					g.Expect(err).To(MatchError(x.want), "step %d", i)
				}
			}
		})
	}
	g := NewWithT(t)
	_, err := Readiness{}.Next(nil, failover.State{Self: failover.Message{Phase: failover.Starting}, PeerState: failover.PeerServing, Peer: sees}, time.Unix(1000, 0))
	g.Expect(err).To(MatchError(ErrUnseen), "its peer cannot have seen it serve before its first heartbeat")
}
