// This file reads how accurate the clock of the node is. It never sets the clock, and needs
// no privilege.

package ntp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// A Leap is the leap indicator of a packet (RFC 5905, figure 9).
type Leap uint8

// The leap indicators.
const (
	NoLeap Leap = iota
	// LeapInserted: the last minute of the day has 61 seconds.
	LeapInserted
	// LeapDeleted: the last minute of the day has 59 seconds.
	LeapDeleted
	// Unknown: the server has no time to serve.
	Unknown
)

// A State is what the kernel knows about its clock. In the zero value, no program disciplines
// the clock.
type State struct {
	// Synchronized: the kernel considers the clock synchronized, by a program such as chronyd.
	Synchronized bool
	// Leap is whether a leap second comes at the end of the day.
	Leap Leap
	// MaxError is the largest possible difference between the clock and UTC, at least 0. It
	// grows until the clock is corrected.
	MaxError time.Duration
}

// A Clock returns the state of the clock that time.Now reads.
type Clock func() (State, error)

// Kernel returns the state of this node's clock. It is a Clock.
func Kernel() (State, error) {
	var t unix.Timex // No mode is set: adjtimex(2) only reads.
	code, err := unix.Adjtimex(&t)
	if err != nil {
		return State{}, fmt.Errorf("reading the state of the clock (adjtimex): %w", err)
	}
	return stateOf(code, t.Maxerror), nil
}

// stateOf interprets the results of adjtimex: its return code, and maxerror in microseconds.
func stateOf(code int, maxError int64) State {
	s := State{Synchronized: code != unix.TIME_ERROR, MaxError: time.Duration(max(0, maxError)) * time.Microsecond}
	switch code {
	case unix.TIME_INS, unix.TIME_OOP: // TIME_OOP is the inserted second itself.
		s.Leap = LeapInserted
	case unix.TIME_DEL:
		s.Leap = LeapDeleted
	}
	return s
}
