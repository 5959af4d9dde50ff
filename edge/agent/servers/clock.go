// This file decides what an edge reports about the clock of its node. It is a function of the
// clock's states and the time.

package servers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/ntp"
)

const (
	// clockSteadyFor is how long the clock must be right, or not, until that is reported. A restart of
	// chronyd takes some seconds.
	clockSteadyFor = 30 * time.Second
	// clockErrorLimit is the largest maximum error of a right clock. ntpd, chronyd and systemd-timesyncd
	// refuse a server with one above 1.5, 3 and 5 s. The kernel itself bears 16 s. It adds 0.5 ms a
	// second, so these are 50 minutes to 9 hours without a correction.
	clockErrorLimit = time.Second
)

var (
	// ErrUnsynchronized is why an edge has no time to tell.
	ErrUnsynchronized = errors.New("no program on the node synchronizes its clock, or it is not synchronized yet")
	// ErrInaccurate is why clients refuse the time that an edge reports.
	ErrInaccurate = errors.New("clients refuse the clock: it may be wrong by more than 1s, since no program has corrected it for half an hour")
)

// whyNot returns why clients do not follow a clock in state s, or one that was not read because
// of err. Nil: they do.
func whyNot(s ntp.State, err error) error {
	switch {
	case err != nil:
		return err
	case !s.Synchronized:
		return ErrUnsynchronized
	case s.MaxError > clockErrorLimit:
		return ErrInaccurate
	}
	return nil
}

// A ClockWatch is what is known about the clock. The zero value has never seen it.
type ClockWatch struct {
	// wrong is when the clock became wrong, ignoring breaks below clockSteadyFor. Zero: it is right.
	// right is when it became right again. Zero: it is not.
	wrong, right time.Time
}

// Next records whether the clock is right at now; why is the reason if it is not. Steady: report this state to the
// operator. Otherwise the last report still holds.
func (w ClockWatch) Next(why error, now time.Time) (next ClockWatch, steady bool) {
	if now.Before(w.wrong) || now.Before(w.right) {
		w = ClockWatch{wrong: now} // The clock was set back.
	}
	switch {
	case why == nil && w.wrong.IsZero():
		return w, true
	case why == nil && w.right.IsZero():
		w.right = now
		return w, false
	case why == nil && now.Sub(w.right) >= clockSteadyFor:
		return ClockWatch{}, true
	case why == nil:
		return w, false
	case w.wrong.IsZero():
		w.wrong = now
	}
	w.right = time.Time{}
	return w, now.Sub(w.wrong) >= clockSteadyFor
}

// FollowClock reads the clock every few seconds until ctx ends. It calls report at each change of what the operator
// must know: why clients do not follow the clock, nil if they do. A clock that is right is reported
// at once, another one when that lasts. Until then a previous report counts.
func FollowClock(ctx context.Context, clock ntp.Clock, log *slog.Logger, report func(why error)) {
	tick := time.NewTicker(serving.RecheckInterval)
	defer tick.Stop()
	var w ClockWatch
	var status, reported serving.Status
	for {
		s, err := clock()
		why := whyNot(s, err)
		next, steady := w.Next(why, time.Now())
		w = next
		if status.Set(why) {
			if why == nil {
				log.Info("clock of the node synchronized", "maxError", s.MaxError)
			} else {
				log.Warn("clock of the node not synchronized", "err", why, "maxError", s.MaxError)
			}
		}
		if steady && reported.Set(why) {
			report(why)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
