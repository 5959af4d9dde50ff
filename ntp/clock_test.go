package ntp

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

func TestStateOfTheKernelsClock(t *testing.T) {
	for _, c := range []struct {
		why      string
		code     int
		maxError int64
		want     State
	}{
		{"disciplined", unix.TIME_OK, 12_000, State{Synchronized: true, MaxError: 12 * time.Millisecond}},
		{"a leap second follows", unix.TIME_INS, 1, State{Synchronized: true, Leap: LeapInserted, MaxError: time.Microsecond}},
		{"the leap second", unix.TIME_OOP, 1, State{Synchronized: true, Leap: LeapInserted, MaxError: time.Microsecond}},
		{"after the leap second", unix.TIME_WAIT, 1, State{Synchronized: true, MaxError: time.Microsecond}},
		{"a second is left out", unix.TIME_DEL, 1, State{Synchronized: true, Leap: LeapDeleted, MaxError: time.Microsecond}},
		{"no program disciplines it", unix.TIME_ERROR, 16_000_000, State{MaxError: 16 * time.Second}},
		{"a value that no kernel has", unix.TIME_OK, -1, State{Synchronized: true}},
	} {
		t.Run(c.why, func(t *testing.T) { NewWithT(t).Expect(stateOf(c.code, c.maxError)).To(Equal(c.want)) })
	}
}

// TestKernel: reading needs no privilege, and sets nothing.
func TestKernel(t *testing.T) {
	g := NewWithT(t)
	var before, after unix.Timex
	_, err := unix.Adjtimex(&before)
	g.Expect(err).NotTo(HaveOccurred())
	s, err := Kernel()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = unix.Adjtimex(&after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.Synchronized).To(Equal(before.Status&unix.STA_UNSYNC == 0))
	g.Expect([]any{after.Status, after.Freq, after.Tick, after.Tai}).To(Equal([]any{before.Status, before.Freq, before.Tick, before.Tai}))
}
