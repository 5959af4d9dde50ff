// Package signal lets any number of goroutines wait for one change, without a queue, or for a time.
package signal

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A Signal notifies its followers of a change. The zero value is ready to use.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Changed returns a channel that is closed at the next change. Call Changed before reading the state, and
// wait on the channel afterwards, so that no change is missed.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Notify closes the current channel.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
	}
	s.ch = nil
}

// Poll waits until function done returns true. It returns false if ctx ends first.
func Poll(ctx context.Context, done func() bool) bool {
	ended := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) { return done(), nil })
	return ended == nil
}

// Sleep returns after d, or when ctx ends.
func Sleep(ctx context.Context, d time.Duration) { Wait(ctx, d, nil) }

// Wait returns true when changed is closed, and false after d, or when ctx ends.
func Wait(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-changed:
		return true
	}
	return false
}
