package main

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/failover"
)

// TestStanding: the next edge is changed only after this one serves and the other
// has seen it, and nothing is held up for ever.
func TestStanding(t *testing.T) {
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
		"seen":               {{0, nil, failover.Unknown, failover.Message{}, errUnseen}, {1, nil, failover.Serves, blind, errUnseen}, {1, nil, failover.Serves, sees, nil}},
		"seen by who starts": {{0, nil, failover.Idle, blind, errUnseen}, {1, nil, failover.Idle, sees, nil}},
		"refused":            {{0, nil, failover.Idle, failover.Message{}, errUnseen}, {20 * time.Second, nil, failover.Idle, failover.Message{}, errUnseen}, {30 * time.Second, nil, failover.Idle, failover.Message{}, nil}},
		"a port that takes a while": {
			{0, nil, failover.Lost, failover.Message{}, errUnseen}, {5 * time.Second, nil, failover.Lost, failover.Message{}, errUnseen},
			{time.Second, nil, failover.Serves, blind, errUnseen}, {time.Second, nil, failover.Lost, blind, errUnseen},
			{9 * time.Second, nil, failover.Lost, blind, errUnseen}, {2 * time.Second, nil, failover.Lost, blind, nil},
		},
		"stays ready":     {{0, nil, failover.Serves, sees, nil}, {1, nil, failover.Serves, blind, nil}, {1, nil, failover.Unknown, failover.Message{}, nil}, {1, nil, failover.Lost, sees, nil}},
		"stops serving":   {{0, nil, failover.Serves, sees, nil}, {1, broken, failover.Serves, sees, broken}, {1, nil, failover.Serves, blind, errUnseen}, {1, nil, failover.Serves, sees, nil}},
		"serves late":     {{0, broken, failover.Serves, sees, broken}, {time.Hour, nil, failover.Serves, blind, errUnseen}, {44 * time.Second, nil, failover.Serves, blind, errUnseen}, {time.Second, nil, failover.Serves, blind, nil}},
		"nothing is seen": {{0, nil, failover.Unknown, failover.Message{}, errUnseen}, {45 * time.Second, nil, failover.Unknown, failover.Message{}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1000, 0)
			var s standing
			for i, x := range steps {
				now = now.Add(x.after)
				var err error
				s, err = s.next(x.serves, failover.State{Self: serving, Sight: x.sight, Sibling: x.said}, now)
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred(), "step %d", i)
				} else {
					g.Expect(err).To(MatchError(x.want), "step %d", i)
				}
			}
		})
	}
	g := NewWithT(t)
	_, err := standing{}.next(nil, failover.State{Self: failover.Message{Phase: failover.Starting}, Sight: failover.Serves, Sibling: sees}, time.Unix(1000, 0))
	g.Expect(err).To(MatchError(errUnseen), "its sibling can't have seen it serve before it was told")
}
