// This file runs a server for as long as it may serve, and keeps why it does not. It
// never decides whether it may.

package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge"
)

const (
	// CheckInterval is how often a server is tried again that could not serve.
	CheckInterval = 250 * time.Millisecond
	// recheckInterval is how often it is checked whether a server may serve where
	// nothing is said to have changed.
	recheckInterval = 5 * time.Second
)

// A Trigger gives a channel that is closed when something has changed since. Nil:
// nothing changes.
type Trigger func() <-chan struct{}

func (t Trigger) channel() <-chan struct{} {
	if t == nil {
		return nil
	}
	return t()
}

// Triggers are what a decision depends on.
type Triggers struct{ Interface, Plan Trigger }

// wait is called before a decision is made. The result returns when the decision may
// be another, after d, or when ctx ends.
func (t Triggers) wait() func(ctx context.Context, d time.Duration) {
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

// ErrStarting is why a server does not serve that has not been checked yet.
var ErrStarting = errors.New("starting")

// A Status is why a server does not serve, nil where it does. The zero value is that
// of a server which is starting. It may be used by several goroutines.
type Status struct {
	mu      sync.Mutex
	known   bool
	err     error
	changed chan struct{}
}

// Set replaces the status. It says whether the text changed.
func (s *Status) Set(err error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.known && (err == nil) == (s.err == nil) && (err == nil || err.Error() == s.err.Error())
	s.known, s.err = true, err
	if !same && s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return !same
}

// Changed is closed when the text has changed since it was called.
func (s *Status) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Question answers whether the server serves.
func (s *Status) Question() edge.Question {
	return edge.Question{Path: edge.ServesPath, Why: s.Err, Changed: s.Changed}
}

// Err is nil where the server serves.
func (s *Status) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known {
		return ErrStarting
	}
	return s.err
}

// ServeWhile runs serve while may is nil, again and again until ctx ends. May is asked
// when one of triggers fires, and every few seconds. Serve calls its ready when it
// serves. It returns when its context ends or it cannot go on; then it is tried again,
// since an interface or an address may come back.
func ServeWhile(ctx context.Context, s *Status, log *slog.Logger, triggers Triggers, may func() error, serve func(ctx context.Context, ready func()) error) error {
	for ctx.Err() == nil {
		wait, pause := triggers.wait(), recheckInterval
		err := may()
		if err == nil {
			err = serveOnce(ctx, s, triggers, may, serve)
			wait, pause = Triggers{}.wait(), CheckInterval
		}
		if s.Set(err) && err != nil && ctx.Err() == nil {
			log.Warn("not serving", "err", err)
		}
		wait(ctx, pause)
	}
	return nil
}

// serveOnce runs serve until it ends or may says no. It returns the reason.
func serveOnce(ctx context.Context, s *Status, triggers Triggers, may func() error, serve func(context.Context, func()) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- serve(serving, func() { s.Set(nil) })
	}()
	for serving.Err() == nil {
		wait := triggers.wait()
		if err := may(); err != nil {
			s.Set(err)
			stop()
			return errors.Join(err, <-ended)
		}
		wait(serving, recheckInterval)
	}
	if err := <-ended; err != nil {
		return err
	}
	return ErrStarting
}
