// This file gives an Envoy its resources over a Unix socket (ADS, incremental
// xDS) and decides when the next step of a change is due. It never decides what
// the resources are.

package envoy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
)

// patience is how long a step waits for Envoy's answer to the one before.
const patience = 5 * time.Second

// A Server is told resources and tells them to the Envoy that connects. It says
// nothing until it was told something, so an Envoy that serves goes on with what
// it has.
type Server struct {
	log   *slog.Logger
	cache cachev3.SnapshotCache
	held  *held

	mu sync.Mutex
	// wanted is where to go, nil before the first Serve; told is how far Envoy was
	// told.
	wanted, told *Resources
	toldVersions versions
	change       chan struct{}
}

// everyNode answers every Envoy alike: whoever may open the socket is ours.
type everyNode struct{}

// ID implements cachev3.NodeHash.
func (everyNode) ID(*corev3.Node) string { return "" }

// NewServer makes a server that has nothing to say yet.
func NewServer(log *slog.Logger) *Server {
	return &Server{log: log, cache: cachev3.NewSnapshotCache(true, everyNode{}, nil), held: newHeld(), change: make(chan struct{})}
}

// Serve replaces what Envoy should have. What is equal is left alone.
func (s *Server) Serve(r Resources) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted != nil && s.wanted.equal(r) {
		return
	}
	s.wanted = &r
	close(s.change)
	s.change = make(chan struct{})
}

// Accepted is nil where the Envoy that is connected took everything it should
// have, else why not, in words.
func (s *Server) Accepted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == nil {
		return errors.New("there is nothing to tell Envoy yet")
	}
	if err := s.held.accepted(s.toldVersions); err != nil {
		return err
	}
	if !s.told.equal(*s.wanted) {
		return errNotYet
	}
	return nil
}

// Run answers on a Unix socket until ctx ends. A socket that a dead process left
// is replaced; whoever may enter its directory may ask.
func (s *Server) Run(ctx context.Context, socket string) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("xds: %w", err)
	}
	if err := os.Chmod(socket, anyone); err != nil {
		_ = l.Close()
		return fmt.Errorf("xds: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	server := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(ctx, s.cache, s.callbacks()))
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	g.Go(func() error { return server.Serve(l) })
	g.Go(func() error { return s.walk(ctx) })
	if err := g.Wait(); err != nil && !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("xds: %w", err)
	}
	return nil
}

func (s *Server) callbacks() serverv3.Callbacks {
	return serverv3.CallbackFuncs{
		DeltaStreamOpenFunc: func(_ context.Context, id int64, _ string) error {
			s.log.Info("Envoy connected", "stream", id)
			s.held.opened(id)
			return nil
		},
		DeltaStreamClosedFunc: func(id int64, _ *corev3.Node) {
			s.log.Info("Envoy disconnected", "stream", id)
			s.held.closed(id)
		},
		StreamDeltaRequestFunc: func(id int64, r *discoveryv3.DeltaDiscoveryRequest) error {
			if e := r.GetErrorDetail(); e != nil {
				s.log.Error("Envoy refused "+plural(r.GetTypeUrl()), "error", e.GetMessage())
			}
			s.held.asked(id, r)
			return nil
		},
		StreamDeltaResponseFunc: func(id int64, _ *discoveryv3.DeltaDiscoveryRequest, r *discoveryv3.DeltaDiscoveryResponse) {
			s.log.Debug("telling Envoy", "type", plural(r.GetTypeUrl()), "resources", len(r.GetResources()), "removed", r.GetRemovedResources())
			s.held.sent(id, r)
		},
	}
}

// walk goes step by step to what is wanted, until ctx ends.
func (s *Server) walk(ctx context.Context) error {
	for {
		s.mu.Lock()
		changed, wanted, told, v := s.change, s.wanted, s.told, s.toldVersions
		s.mu.Unlock()
		switch {
		case wanted == nil || told != nil && told.equal(*wanted):
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
			continue
		case told == nil:
			// Envoy asks for types in their order, so a first configuration needs no steps.
			if err := s.tell(ctx, *wanted); err != nil {
				return err
			}
			continue
		}
		s.await(ctx, v)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.tell(ctx, next(*told, *wanted)); err != nil {
			return err
		}
	}
}

// tell makes r what Envoy is told from now on.
func (s *Server) tell(ctx context.Context, r Resources) error {
	snapshot, v, err := newSnapshot(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told, s.toldVersions = &r, v
	return s.cache.SetSnapshot(ctx, "", snapshot)
}

// await waits until Envoy has answered all that it was told, or patience ends.
func (s *Server) await(ctx context.Context, v versions) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		changed := s.held.changed()
		if s.held.answered(v) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
