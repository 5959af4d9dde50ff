// This file gives several tests of a package one API server.

package apiserver

import "testing"

// A Shared server serves tests that run one after another. The first one starts it, and TestMain stops it.
type Shared struct {
	server *Server
	stop   func() error
}

// Start returns the server as Start does. started reports whether this call started it.
func (s *Shared) Start(t testing.TB) (server *Server, started bool) {
	t.Helper()
	if s.server != nil {
		return s.server, false
	}
	env, stop := run(t, asOpenShift(nil))
	s.stop = stop
	s.server = serverOf(t, env)
	return s.server, true
}

// Stop stops the server, if there is one. The next Start starts another one.
func (s *Shared) Stop() error {
	if s.stop == nil {
		return nil
	}
	stop := s.stop
	s.server, s.stop = nil, nil
	return stop()
}
