// This file tells whoever waits that something changed.

package edge

import "sync"

// A signal says that something changed since it was asked. The zero value is
// ready.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// changed is closed at the next change. Take it, then read, then wait: so no
// change is missed.
func (s *signal) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
	}
	s.ch = nil
}
