// Package serving decides when one server of an edge serves. It decides whether the interface, its addresses and
// the kernel's routes admit the server, and what missing answers mean. This file runs a server while it may serve,
// and keeps the reason while it does not.
package serving

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/signal"
)

const (
	// CheckInterval is how often a server that could not serve is started again.
	CheckInterval = 250 * time.Millisecond
	// RecheckInterval is how often a server is checked if no trigger fires.
	RecheckInterval = 5 * time.Second
)

// A Trigger returns a channel that is closed at the next change. Nil: nothing changes.
type Trigger func() <-chan struct{}

// channel returns the channel of the next change. Nil: nothing changes.
func (t Trigger) channel() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t()
}

// Triggers fire when what a decision depends on may have changed.
type Triggers struct{ Interface, Plan Trigger }

// Wait takes the current channels, so call it before the decision. The result waits for a change, for d, or until ctx
// ends.
func (t Triggers) Wait() func(ctx context.Context, d time.Duration) {
	i, plan := t.Interface.channel(), t.Plan.channel()
	return func(ctx context.Context, d time.Duration) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-i:
		case <-plan:
		case <-timer.C:
		}
	}
}

// ErrStarting is the status of a server that was not checked yet.
var ErrStarting error = health.Reason{Kind: health.Unchecked, Text: "starting"}

// A Status is why a server does not serve, nil if it does. The zero value is starting. It is safe for concurrent use.
type Status struct {
	mu     sync.Mutex
	known  bool
	err    error
	signal signal.Signal
}

// Set replaces the status. It reports whether the text changed.
func (s *Status) Set(err error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.known && (err == nil) == (s.err == nil) && (err == nil || err.Error() == s.err.Error())
	s.known, s.err = true, err
	if !same {
		s.signal.Notify()
	}
	return !same
}

// Changed returns a channel that is closed at the next change of the text.
func (s *Status) Changed() <-chan struct{} { return s.signal.Changed() }

// Question returns the question whether the server serves.
func (s *Status) Question() health.Question {
	return health.Question{Path: health.ServesPath, Why: s.Err, Changed: s.Changed}
}

// Err returns nil if the server serves.
func (s *Status) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return ErrStarting
	}
	return s.err
}

// WhilePlanned calls run while planned returns true, until ctx ends. It calls planned when plan fires, and ends the
// context of run, which must then return. If run fails, WhilePlanned returns the error.
func WhilePlanned(ctx context.Context, plan Trigger, planned func() bool, run func(ctx context.Context) error) error {
	once := func() error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		AtEach(ctx, Triggers{Plan: plan}, func() {
			if !planned() {
				stop()
			}
		})
		return run(ctx)
	}
	for ctx.Err() == nil {
		wait := Triggers{Plan: plan}.Wait()
		if !planned() {
			wait(ctx, UntilChange)
			continue
		}
		if err := once(); err != nil {
			return err
		}
	}
	return nil
}

// While runs serve while admissible returns nil, repeatedly until ctx ends: an interface or an address may return. It
// calls admissible when a trigger fires, and every few seconds. serve calls ready once it serves, and returns when its
// context ends or after a failure.
func While(ctx context.Context, s *Status, log *slog.Logger, triggers Triggers, admissible func() error, serve func(ctx context.Context, ready func()) error) error {
	for ctx.Err() == nil {
		wait, pause := triggers.Wait(), RecheckInterval
		err := admissible()
		if err == nil {
			err = serveOnce(ctx, s, triggers, admissible, serve)
			wait, pause = Triggers{}.Wait(), CheckInterval
		}
		if s.Set(err) && err != nil && ctx.Err() == nil {
			log.Warn("not serving", "err", err)
		}
		wait(ctx, pause)
	}
	return nil
}

// serveOnce runs serve until it ends, or until admissible returns an error other than Unread. It returns why serve
// ended.
func serveOnce(ctx context.Context, s *Status, triggers Triggers, admissible func() error, serve func(context.Context, func()) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- serve(serving, func() { s.Set(nil) })
	}()
	for serving.Err() == nil {
		wait := triggers.Wait()
		if err := admissible(); err != nil && !errors.As(err, &Unread{}) {
			s.Set(err)
			stop()
			return errors.Join(err, <-ended)
		}
		wait(serving, RecheckInterval)
	}
	if err := <-ended; err != nil {
		return err
	}
	return ErrStarting
}
