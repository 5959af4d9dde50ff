//go:build oooi_played_clock

// This file simulates a clock that is synchronized, for a testbed on a machine whose clock no program
// synchronizes. No release has it.

package main

import (
	"time"

	"github.com/cldmnky/oooi/ntp"
)

// clock is the node's, which counts as synchronized. It is read, so the testbed shows that an edge
// may.
func clock() (ntp.State, error) {
	s, err := ntp.Kernel()
	s.Synchronized, s.MaxError = true, 10*time.Millisecond
	return s, err
}

// clockNote is what the version says about the clock.
const clockNote = " (plays a synchronized clock, for tests only)"
