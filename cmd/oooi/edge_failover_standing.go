// This file decides when an edge counts as ready, which is what the next edge's
// change waits for. It is a function of what was seen and the time.

package main

import (
	"errors"
	"time"

	"github.com/cldmnky/oooi/edge/failover"
)

const (
	// unseenLimit is how long an edge that serves waits for its sibling to say that
	// it sees it. One that runs and never says so must not hold up everything.
	unseenLimit = 45 * time.Second
	// lostFor is how long a sibling must be lost: a port that was just plugged in may
	// take some seconds to forward.
	lostFor = 10 * time.Second
)

// A standing is what is remembered for the decision. The zero value is that of an
// edge which does not serve.
type standing struct {
	// since is when it began to serve, lost when its sibling was lost.
	since, lost time.Time
	// seen: its sibling has seen it serve, or none can. That holds for as long as it
	// serves.
	seen bool
}

// errUnseen: nobody would notice if this edge were unreachable.
var errUnseen = errors.New("the other edge does not say yet that it sees this one")

// next is the standing at now, and why the edge is not ready, nil where it is.
func (s standing) next(serves error, state failover.State, now time.Time) (standing, error) {
	if serves != nil {
		return standing{}, serves
	}
	if s.since.IsZero() {
		s.since = now
	}
	if state.Sight != failover.Lost {
		s.lost = time.Time{}
	} else if s.lost.IsZero() {
		s.lost = now
	}
	switch state.Sight {
	case failover.Alone:
		s.seen = true
	case failover.Lost:
		s.seen = s.seen || now.Sub(s.lost) >= lostFor
	case failover.Serves, failover.Idle:
		s.seen = s.seen || state.Self.Phase == failover.Serving && state.Sibling.Sees
	}
	s.seen = s.seen || now.Sub(s.since) >= unseenLimit
	if !s.seen {
		return s, errUnseen
	}
	return s, nil
}
