package main

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/edge/guard"
)

// TestStanding: the next edge is changed only after this one serves and the other
// has seen it, and nothing is held up for ever.
func TestStanding(t *testing.T) {
	broken := errors.New("dns: does not serve: starting")
	serving := guard.Message{Phase: guard.Serving}
	sees := guard.Message{Phase: guard.Serving, Instance: "x", Sees: true}
	blind := guard.Message{Phase: guard.Serving, Instance: "x"}
	type step struct {
		after  time.Duration
		serves error
		sight  guard.Sight
		said   guard.Message
		want   error
	}
	for name, steps := range map[string][]step{
		"one edge":           {{0, broken, guard.Alone, guard.Message{}, broken}, {1, nil, guard.Alone, guard.Message{}, nil}},
		"seen":               {{0, nil, guard.Unknown, guard.Message{}, errUnseen}, {1, nil, guard.Serves, blind, errUnseen}, {1, nil, guard.Serves, sees, nil}},
		"seen by who starts": {{0, nil, guard.Idle, blind, errUnseen}, {1, nil, guard.Idle, sees, nil}},
		"refused":            {{0, nil, guard.Idle, guard.Message{}, errUnseen}, {20 * time.Second, nil, guard.Idle, guard.Message{}, errUnseen}, {30 * time.Second, nil, guard.Idle, guard.Message{}, nil}},
		"a port that takes a while": {
			{0, nil, guard.Lost, guard.Message{}, errUnseen}, {5 * time.Second, nil, guard.Lost, guard.Message{}, errUnseen},
			{time.Second, nil, guard.Serves, blind, errUnseen}, {time.Second, nil, guard.Lost, blind, errUnseen},
			{9 * time.Second, nil, guard.Lost, blind, errUnseen}, {2 * time.Second, nil, guard.Lost, blind, nil},
		},
		"stays ready":     {{0, nil, guard.Serves, sees, nil}, {1, nil, guard.Serves, blind, nil}, {1, nil, guard.Unknown, guard.Message{}, nil}, {1, nil, guard.Lost, sees, nil}},
		"stops serving":   {{0, nil, guard.Serves, sees, nil}, {1, broken, guard.Serves, sees, broken}, {1, nil, guard.Serves, blind, errUnseen}, {1, nil, guard.Serves, sees, nil}},
		"serves late":     {{0, broken, guard.Serves, sees, broken}, {time.Hour, nil, guard.Serves, blind, errUnseen}, {44 * time.Second, nil, guard.Serves, blind, errUnseen}, {time.Second, nil, guard.Serves, blind, nil}},
		"nothing is seen": {{0, nil, guard.Unknown, guard.Message{}, errUnseen}, {45 * time.Second, nil, guard.Unknown, guard.Message{}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(1000, 0)
			var s standing
			for i, x := range steps {
				now = now.Add(x.after)
				var err error
				s, err = s.next(x.serves, guard.State{Self: serving, Sight: x.sight, Sibling: x.said}, now)
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred(), "step %d", i)
				} else {
					g.Expect(err).To(MatchError(x.want), "step %d", i)
				}
			}
		})
	}
	g := NewWithT(t)
	_, err := standing{}.next(nil, guard.State{Self: guard.Message{Phase: guard.Starting}, Sight: guard.Serves, Sibling: sees}, time.Unix(1000, 0))
	g.Expect(err).To(MatchError(errUnseen), "its sibling can't have seen it serve before it was told")
}
