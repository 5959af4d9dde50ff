// This file holds how DHCP comes to know whether the network's other edge serves:
// it asks the guard beside it. What follows from that is decided in network/dhcp.

package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
)

const (
	// siblingAgain is how often the guard is asked. It takes two seconds to notice
	// that an edge is lost.
	siblingAgain = 500 * time.Millisecond
	// siblingWithin is how long it may take to answer.
	siblingWithin = time.Second
)

// A sibling is what is known of the other edge. The zero value is that of one which
// does not serve: then every broadcast is answered here.
type sibling struct{ serves atomic.Bool }

// watch asks the guard until ctx ends. Where there is none, or it does not answer,
// nothing is left to an edge that nobody sees.
func (s *sibling) watch(ctx context.Context, runDir string, log *slog.Logger) {
	defer s.serves.Store(false)
	guard := edge.HealthAt(wire.Socket(runDir, wire.Failover))
	tick := time.NewTicker(siblingAgain)
	defer tick.Stop()
	for {
		asking, done := context.WithTimeout(ctx, siblingWithin)
		err := guard.SiblingServes(asking)
		done()
		if ctx.Err() != nil {
			return
		}
		switch was := s.serves.Swap(err == nil); {
		case was && err != nil:
			log.Info("answers every broadcast", "why", err)
		case !was && err == nil:
			log.Info("shares broadcasts with the other edge")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
