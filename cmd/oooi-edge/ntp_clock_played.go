//go:build oooi_played_clock

// This file simulates a synchronized clock, for a testbed on a machine whose clock is not synchronized. Releases do
// not contain it.

package main

import (
	"time"

	"github.com/cldmnky/oooi/ntp"
)

// clock returns the node's state as if its clock were synchronized. It reads the real state, to show that an edge is
// permitted to.
func clock() (ntp.State, error) {
	s, err := ntp.Kernel()
	s.Synchronized, s.MaxError = true, 10*time.Millisecond
	return s, err
}

// clockNote is what `oooi-edge version` says about the clock.
const clockNote = " (plays a synchronized clock, for tests only)"
