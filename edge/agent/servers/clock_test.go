package servers

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/reported"
)

// TestWhichClocksClientsFollow: the kernel counts a clock as synchronized for hours after clients
// have stopped to follow it.
func TestWhichClocksClientsFollow(t *testing.T) {
	g := NewWithT(t)
	unread := errors.New("not permitted")
	of := func(maxError time.Duration) problem.Cause {
		return whyNot(ntp.State{Synchronized: true, MaxError: maxError}, nil).Cause
	}
	g.Expect(of(0)).To(BeEmpty())
	g.Expect(of(time.Second)).To(BeEmpty())
	g.Expect(of(1001 * time.Millisecond)).To(Equal(problem.ClockInaccurate))
	g.Expect(of(15 * time.Second)).To(Equal(problem.ClockInaccurate))
	g.Expect(whyNot(ntp.State{MaxError: 16 * time.Second}, nil)).To(Equal(reported.ClockFault{Cause: problem.ClockNotSet}))
	g.Expect(whyNot(ntp.State{Synchronized: true}, unread)).To(Equal(reported.ClockFault{Cause: problem.ClockUnread, Error: "not permitted"}))
}

// TestAClockIsReportedOnceItLasts: a restart of the program that synchronizes the clock is not reported.
func TestAClockIsReportedOnceItLasts(t *testing.T) {
	// What the operator must know after each second: (r)ight, (w)rong, or what was known before (-).
	type seen struct {
		after time.Duration
		wrong bool
		says  string
	}
	const s = time.Second
	for why, all := range map[string][]seen{
		"synchronized":    {{0, false, "r"}, {time.Hour, false, "r"}},
		"a restart":       {{0, false, "r"}, {60 * s, true, "-"}, {85 * s, true, "-"}, {86 * s, false, "-"}, {116 * s, false, "r"}, {117 * s, true, "-"}},
		"never":           {{0, true, "-"}, {29 * s, true, "-"}, {30 * s, true, "w"}, {time.Hour, true, "w"}},
		"then right":      {{0, true, "-"}, {60 * s, true, "w"}, {61 * s, false, "-"}, {90 * s, false, "-"}, {91 * s, false, "r"}},
		"mostly wrong":    {{0, true, "-"}, {25 * s, false, "-"}, {30 * s, true, "w"}, {55 * s, false, "-"}, {60 * s, true, "w"}},
		"it was set back": {{time.Hour, true, "-"}, {0, true, "-"}, {31 * s, true, "w"}, {32 * s, false, "-"}, {0, false, "-"}, {30 * s, false, "r"}},
	} {
		t.Run(why, func(t *testing.T) {
			var w ClockWatch
			for _, s := range all {
				next, steady := w.Next(!s.wrong, time.Unix(1_800_000_000, 0).Add(s.after))
				w = next
				says := map[bool]string{true: "w", false: "r"}[s.wrong]
				if !steady {
					says = "-"
				}
				NewWithT(t).Expect(says).To(Equal(s.says), s.after.String())
			}
		})
	}
}

// TestFollowClock: until something is certain, what a previous container stored counts. So a restart
// on a node whose clock is not synchronized does not withdraw the Warning.
func TestFollowClock(t *testing.T) {
	type report struct {
		after time.Duration
		why   reported.ClockFault
	}
	unread := errors.New("not permitted")
	right, notSet := reported.ClockFault{}, reported.ClockFault{Cause: problem.ClockNotSet}
	for name, c := range map[string]struct {
		clock func(since time.Duration) (ntp.State, error)
		want  []report
	}{
		"right": {func(time.Duration) (ntp.State, error) { return ntp.State{Synchronized: true}, nil }, []report{{0, right}}},
		"right from the second minute on": {
			func(since time.Duration) (ntp.State, error) {
				return ntp.State{Synchronized: since >= 2*time.Minute}, nil
			},
			[]report{{30 * time.Second, notSet}, {150 * time.Second, right}},
		},
		"its program loses its server": {
			func(since time.Duration) (ntp.State, error) {
				return ntp.State{Synchronized: true, MaxError: since / 2000}, nil // 500 ppm.
			},
			[]report{{0, right}, {2035 * time.Second, reported.ClockFault{Cause: problem.ClockInaccurate}}},
		},
		"not read": {func(time.Duration) (ntp.State, error) { return ntp.State{Synchronized: true}, unread }, []report{{30 * time.Second, whyNot(ntp.State{}, unread)}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				var got []report
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					clock := func() (ntp.State, error) { return c.clock(time.Since(began)) }
					FollowClock(ctx, clock, slog.New(slog.DiscardHandler), func(why reported.ClockFault) {
						got = append(got, report{time.Since(began).Round(time.Second), why})
					})
				}()
				<-time.After(time.Hour)
				cancel()
				<-ended
				NewWithT(t).Expect(got).To(Equal(c.want))
			})
		})
	}
}
