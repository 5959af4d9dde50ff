//go:build !oooi_played_clock

// This file chooses the clock of `oooi-edge ntp`: the node's.

package main

import "github.com/cldmnky/oooi/ntp"

// clock is what `oooi-edge ntp` gives the time of.
func clock() (ntp.State, error) { return ntp.Kernel() }

// clockNote is what the version says about the clock.
const clockNote = ""
