// This file calls Options.Serving, and sends an event when the result changes. It decides nothing.

package failover

import (
	"context"
	"errors"
	"time"
)

const (
	// servingRecheck is how often Serving is called without a change.
	servingRecheck = time.Second
	// answerWithin limits one call of Serving. After this time the edge counts as not serving. It is
	// long, since a failover resets connections, and one slow answer does not justify that.
	answerWithin = 3 * time.Second
)

// errNoAnswer is used if Serving does not return in time.
var errNoAnswer = errors.New("no answer")

// watch calls Serving until ctx ends, and sends an event for each change of the result, the plan, the owner or Stale.
func watch(ctx context.Context, o Options, events chan<- Event) {
	last := Event{Kind: NotReady}
	tell := func(err error) {
		e := Event{Kind: Ready}
		if err != nil {
			e.Kind = NotReady
		}
		e.Plan, e.Owner = o.Plan()
		e.Stale = o.Stale()
		if e == last {
			return
		}
		select {
		case events <- e:
			last = e
		case <-ctx.Done():
		}
	}
	tick := time.NewTicker(servingRecheck)
	defer tick.Stop()
	for ctx.Err() == nil {
		changed := o.ServingChanged()
		askServing(ctx, o.Serving, tell)
		select {
		case <-tick.C:
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// askServing passes the result of serving to tell, or errNoAnswer if the result is late. It
// returns once it has the result.
func askServing(ctx context.Context, serving func() error, tell func(error)) {
	answer := make(chan error, 1)
	go func() { answer <- serving() }()
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case err := <-answer:
		tell(err)
	case <-late.C:
		tell(errNoAnswer)
		select {
		case <-answer: // The late result is outdated: ask again.
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
}
