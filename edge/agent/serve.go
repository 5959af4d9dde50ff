// This file runs a server for as long as it may serve, and keeps why it does not. It
// never decides whether it may.

package agent

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// CheckInterval is how often it is checked whether a server may serve.
const CheckInterval = 250 * time.Millisecond

// ErrStarting is why a server does not serve that has not been checked yet.
var ErrStarting = errors.New("starting")

// A Status is why a server does not serve, nil where it does. The zero value is that
// of a server which is starting. It may be used by several goroutines.
type Status struct {
	mu    sync.Mutex
	known bool
	err   error
}

// Set replaces the status. It says whether the text changed.
func (s *Status) Set(err error) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.known && (err == nil) == (s.err == nil) && (err == nil || err.Error() == s.err.Error())
	s.known, s.err = true, err
	return !same
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

// ServeWhile runs serve while may is nil, again and again until ctx ends. Serve calls
// its ready when it serves. It returns when its context ends or it cannot go on; then
// it is tried again, since a device or an address may come back.
func ServeWhile(ctx context.Context, s *Status, log *slog.Logger, may func() error, serve func(ctx context.Context, ready func()) error) error {
	tick := time.NewTicker(CheckInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		err := may()
		if err == nil {
			err = serveOnce(ctx, s, tick.C, may, serve)
		}
		if s.Set(err) && err != nil && ctx.Err() == nil {
			log.Warn("not serving", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// serveOnce runs serve until it ends or may says no. It returns the reason.
func serveOnce(ctx context.Context, s *Status, tick <-chan time.Time, may func() error, serve func(context.Context, func()) error) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(serving, func() { s.Set(nil) }) }()
	for {
		select {
		case err := <-ended:
			if err == nil {
				err = ErrStarting
			}
			return err
		case <-tick:
			if err := may(); err != nil {
				s.Set(err)
				stop()
				return errors.Join(err, <-ended)
			}
		}
	}
}
