// This file holds a change signal that any number of goroutines can wait for.

package edge

import "sync"

// A signal notifies its followers of a change. The zero value is ready to use.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// changed returns a channel that is closed at the next change. Take the channel, then read
// the state, then wait: this order misses no change.
func (s *signal) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// notify closes the current channel.
func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
	}
	s.ch = nil
}
