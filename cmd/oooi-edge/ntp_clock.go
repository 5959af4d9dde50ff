//go:build !oooi_played_clock

// This file chooses the clock of `oooi-edge ntp`: the node's.

package main

import "github.com/cldmnky/oooi/ntp"

// clock returns the state of the clock that `oooi-edge ntp` serves.
func clock() (ntp.State, error) { return ntp.Kernel() }

// clockNote is what `oooi-edge version` says about the clock.
const clockNote = ""
