// This file decides what an edge reports about the clock of its node.

package servers

import (
	"context"
	"log/slog"
	"time"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/ntp"
	"github.com/cldmnky/oooi/reported"
)

const (
	// clockSteadyFor is how long the clock must be right, or not, until that is reported: chronyd restarts in some
	// seconds.
	clockSteadyFor = 30 * time.Second
	// clockErrorLimit is the largest maximum error at which the clock counts as right. ntpd, chronyd and
	// systemd-timesyncd refuse a server above 1.5, 3 and 5 s; the kernel accepts up to 16 s. It adds 0.5 ms a second,
	// so these limits are reached 50 minutes to 9 hours after the last correction.
	clockErrorLimit = time.Second
)

// whyNot returns why clients do not follow a clock in state s, or one that was not read because of err.
func whyNot(s ntp.State, err error) reported.ClockFault {
	switch {
	case err != nil:
		return reported.ClockFault{Cause: problem.ClockUnread, Error: err.Error()}
	case !s.Synchronized:
		return reported.ClockFault{Cause: problem.ClockNotSet}
	case s.MaxError > clockErrorLimit:
		return reported.ClockFault{Cause: problem.ClockInaccurate}
	}
	return reported.ClockFault{}
}

// A ClockWatch is what is known about the clock. The zero ClockWatch knows nothing about it.
type ClockWatch struct {
	// Field wrong is when the clock became wrong. It ignores times below clockSteadyFor in which the clock was right.
	// Zero: it is right. Field right is when it became right again. Zero: it is not.
	wrong, right time.Time
}

// Next records whether the clock is right at now. If steady is false, the last report remains valid.
func (w ClockWatch) Next(right bool, now time.Time) (next ClockWatch, steady bool) {
	if now.Before(w.wrong) || now.Before(w.right) {
		w = ClockWatch{wrong: now} // The clock was set back.
	}
	switch {
	case right && w.wrong.IsZero():
		return w, true
	case right && w.right.IsZero():
		w.right = now
		return w, false
	case right && now.Sub(w.right) >= clockSteadyFor:
		return ClockWatch{}, true
	case right:
		return w, false
	case w.wrong.IsZero():
		w.wrong = now
	}
	w.right = time.Time{}
	return w, now.Sub(w.wrong) >= clockSteadyFor
}

// FollowClock reads the clock every few seconds until ctx ends. It calls report with the reason why clients do not
// follow the clock, zero if they do, at each change. It reports a clock that is right from the start immediately,
// and any other state once that lasts.
func FollowClock(ctx context.Context, clock ntp.Clock, log *slog.Logger, report func(why reported.ClockFault)) {
	var w ClockWatch
	var logged, told *reported.ClockFault
	for ctx.Err() == nil {
		s, err := clock()
		why := whyNot(s, err)
		next, steady := w.Next(why.Cause == "", time.Now())
		w = next
		if logged == nil || *logged != why {
			if logged = &why; why.Cause == "" {
				log.Info("clock of the node synchronized", "maxError", s.MaxError)
			} else {
				log.Warn("clock of the node not synchronized", "cause", why.Cause, "err", why.Error, "maxError", s.MaxError)
			}
		}
		if steady && (told == nil || *told != why) {
			told = &why
			report(why)
		}
		signal.Sleep(ctx, serving.RecheckInterval)
	}
}
