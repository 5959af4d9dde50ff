// Package fakes stands in for the programs of an edge's pod, for tests.
package fakes

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
)

// A Server is the health of one server of an edge. It can be ended, started again and
// told what to say.
type Server struct {
	// Answers is held while it answers: lock it to make the server slow.
	Answers sync.Mutex

	t      *testing.T
	socket string
	stop   context.CancelFunc
	ended  chan struct{}
	err    error
	// said is closed by the next Say.
	saying sync.Mutex
	said   chan struct{}
}

// NewServer starts the named server in runDir. It serves until it is told otherwise.
func NewServer(t *testing.T, runDir, name string) *Server {
	s := &Server{t: t, socket: wire.Socket(runDir, name), said: make(chan struct{})}
	s.Start()
	t.Cleanup(s.End)
	return s
}

// Start starts the server and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.stop, s.ended = stop, ended
	go func() {
		defer close(ended)
		if err := health.Serve(ctx, s.socket, s.why, nil, health.Question{Path: health.ServesPath, Why: s.why, Changed: s.changed}); err != nil {
			s.t.Error(err)
		}
	}()
	for health.Away(health.Serves(ctx, s.socket)) && s.t.Context().Err() == nil {
	}
}

// End ends the server, and waits for it.
func (s *Server) End() {
	s.stop()
	<-s.ended
}

// Say sets why the server does not serve, nil where it does.
func (s *Server) Say(err error) {
	s.Answers.Lock()
	defer s.Answers.Unlock()
	s.err = err
	s.saying.Lock()
	defer s.saying.Unlock()
	close(s.said)
	s.said = make(chan struct{})
}

func (s *Server) changed() <-chan struct{} {
	s.saying.Lock()
	defer s.saying.Unlock()
	return s.said
}

func (s *Server) why() error {
	s.Answers.Lock()
	defer s.Answers.Unlock()
	return s.err
}

// RunDir is a run directory whose path is short enough for a socket. It has Envoy's own
// directory, which Envoy does not create.
func RunDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oooi-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Mkdir(wire.Dir(dir, wire.Envoy), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
