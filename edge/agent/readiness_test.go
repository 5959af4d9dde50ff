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
		sight  failover.Sight
		said   failover.Message
		want   error
	}
	for name, steps := range map[string][]step{
		"one edge":           {{0, broken, failover.Alone, failover.Message{}, broken}, {1, nil, failover.Alone, failover.Message{}, nil}},
		"seen":               {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen}, {1, nil, failover.Serves, blind, ErrUnseen}, {1, nil, failover.Serves, sees, nil}},
		"seen by who starts": {{0, nil, failover.Idle, blind, ErrUnseen}, {1, nil, failover.Idle, sees, nil}},
		"refused":            {{0, nil, failover.Idle, failover.Message{}, ErrUnseen}, {20 * time.Second, nil, failover.Idle, failover.Message{}, ErrUnseen}, {30 * time.Second, nil, failover.Idle, failover.Message{}, nil}},
		"a port that takes a while": {
			{0, nil, failover.Lost, failover.Message{}, ErrUnseen}, {5 * time.Second, nil, failover.Lost, failover.Message{}, ErrUnseen},
			{time.Second, nil, failover.Serves, blind, ErrUnseen}, {time.Second, nil, failover.Lost, blind, ErrUnseen},
			{9 * time.Second, nil, failover.Lost, blind, ErrUnseen}, {2 * time.Second, nil, failover.Lost, blind, nil},
		},
		"stays ready":     {{0, nil, failover.Serves, sees, nil}, {1, nil, failover.Serves, blind, nil}, {1, nil, failover.Unknown, failover.Message{}, nil}, {1, nil, failover.Lost, sees, nil}},
		"stops serving":   {{0, nil, failover.Serves, sees, nil}, {1, broken, failover.Serves, sees, broken}, {1, nil, failover.Serves, blind, ErrUnseen}, {1, nil, failover.Serves, sees, nil}},
		"serves late":     {{0, broken, failover.Serves, sees, broken}, {time.Hour, nil, failover.Serves, blind, ErrUnseen}, {44 * time.Second, nil, failover.Serves, blind, ErrUnseen}, {time.Second, nil, failover.Serves, blind, nil}},
		"nothing is seen": {{0, nil, failover.Unknown, failover.Message{}, ErrUnseen}, {45 * time.Second, nil, failover.Unknown, failover.Message{}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1000, 0)
			var s Readiness
			for i, x := range steps {
				now = now.Add(x.after)
				var err error
				s, err = s.Next(x.serves, failover.State{Self: serving, Sight: x.sight, Sibling: x.said}, now)
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred(), "step %d", i)
				} else {
					g.Expect(err).To(MatchError(x.want), "step %d", i)
				}
			}
		})
	}
	g := NewWithT(t)
	_, err := Readiness{}.Next(nil, failover.State{Self: failover.Message{Phase: failover.Starting}, Sight: failover.Serves, Sibling: sees}, time.Unix(1000, 0))
	g.Expect(err).To(MatchError(ErrUnseen), "its sibling can't have seen it serve before it was told")
}
