//go:build oooi_played_clock

// This file simulates a synchronized clock, for a testbed on a machine whose clock is not synchronized. Releases do
// not contain it.

package main

import (
	"time"

	"github.com/cldmnky/oooi/ntp"
)

// clock returns the state of the node's clock, as if it were synchronized. It reads the real state, so that the testbed
// shows that an edge is permitted to do this.
func clock() (ntp.State, error) {
	s, err := ntp.Kernel()
	s.Synchronized, s.MaxError = true, 10*time.Millisecond
	return s, err
}

// clockNote is what `oooi-edge version` says about the clock.
const clockNote = " (plays a synchronized clock, for tests only)"
