// This file serves Envoy its resources over a Unix socket (ADS, incremental
// xDS). It decides when to send the next step of a change, not what the
// resources are.

package envoy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	cachev3 "github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	serverv3 "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/edge/rundir"
)

// stepTimeout bounds how long a step waits for Envoy's answer to the previous one.
const stepTimeout = 5 * time.Second

// The limits of the server. Envoy uses one connection and one stream, and two of each for a moment
// while it connects again.
const (
	maxPeers   = 2
	maxStreams = 2
	// maxRequest in bytes is enough for the names and versions of 15,000 resources.
	maxRequest = 2 << 20
	// maxHeaders in bytes.
	maxHeaders = 16 << 10
)

// A Server sends resources to the Envoy that connects. Before the first call of
// Serve it sends nothing, so a running Envoy keeps its configuration.
type Server struct {
	log   *slog.Logger
	cache cachev3.SnapshotCache
	acks  *acks

	mu sync.Mutex
	// wanted is the target, nil before the first Serve. sent is the last step that
	// Envoy was sent.
	wanted, sent *Resources
	sentVersions versions
	change       chan struct{}
}

// everyNode serves each Envoy the same: only our Envoy can open the socket.
type everyNode struct{}

// ID implements cachev3.NodeHash.
func (everyNode) ID(*corev3.Node) string { return "" }

// NewServer returns a server without resources.
func NewServer(log *slog.Logger) *Server {
	return &Server{log: log, cache: cachev3.NewSnapshotCache(true, everyNode{}, nil), acks: newAcks(), change: make(chan struct{})}
}

// Serve replaces the target configuration. Equal resources change nothing.
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

// Accepted returns nil if the connected Envoy has accepted the whole target
// configuration, else the reason.
func (s *Server) Accepted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sent == nil {
		return errors.New("there is no configuration for Envoy yet")
	}
	if err := s.acks.accepted(s.sentVersions); err != nil {
		return err
	}
	if !s.sent.equal(*s.wanted) {
		return errNotYet
	}
	return nil
}

// Changed is closed when an Envoy has connected, answered or disconnected since. An
// Envoy that has ended is disconnected at once.
func (s *Server) Changed() <-chan struct{} { return s.acks.changed() }

// Run serves on a Unix socket until ctx ends. It creates a missing directory, and replaces
// the socket of a dead process. Every process that can enter the directory can connect.
func (s *Server) Run(ctx context.Context, socket string) error {
	l, err := rundir.Listen(socket)
	if err != nil {
		return fmt.Errorf("xds: %w", err)
	}
	if err := os.Chmod(socket, anyone); err != nil {
		_ = l.Close()
		return fmt.Errorf("xds: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	server := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, serverv3.NewServer(ctx, s.cache, s.callbacks()))
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	g.Go(func() error { return server.Serve(netutil.LimitListener(l, maxPeers)) })
	g.Go(func() error { return s.walk(ctx) })
	if err := g.Wait(); err != nil && !errors.Is(err, grpc.ErrServerStopped) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("xds: %w", err)
	}
	return nil
}

func (s *Server) callbacks() serverv3.Callbacks {
	return serverv3.CallbackFuncs{
		StreamOpenFunc: func(context.Context, int64, string) error { return errWorld },
		DeltaStreamOpenFunc: func(_ context.Context, id int64, _ string) error {
			s.log.Info("Envoy connected", "stream", id)
			s.acks.opened(id)
			return nil
		},
		DeltaStreamClosedFunc: func(id int64, _ *corev3.Node) {
			s.log.Info("Envoy disconnected", "stream", id)
			s.acks.closed(id)
		},
		StreamDeltaRequestFunc: func(id int64, r *discoveryv3.DeltaDiscoveryRequest) error {
			if r.GetErrorDetail() != nil {
				s.log.Error("Envoy rejected resources", "type", plural(r.GetTypeUrl()), "err", reason(r))
			}
			err := s.acks.requested(id, r)
			if err != nil {
				s.log.Error("Envoy's stream ended", "stream", id, "err", err)
			}
			return err
		},
		StreamDeltaResponseFunc: func(id int64, _ *discoveryv3.DeltaDiscoveryRequest, r *discoveryv3.DeltaDiscoveryResponse) {
			s.log.Debug("resources sent", "type", plural(r.GetTypeUrl()), "resources", len(r.GetResources()), "removed", r.GetRemovedResources())
			s.acks.sent(id, r)
		},
	}
}

// walk sends step after step towards the target, until ctx ends.
func (s *Server) walk(ctx context.Context) error {
	for {
		s.mu.Lock()
		changed, wanted, sent, v := s.change, s.wanted, s.sent, s.sentVersions
		s.mu.Unlock()
		switch {
		case wanted == nil || sent != nil && sent.equal(*wanted):
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
			}
			continue
		case sent == nil:
			// Envoy requests types in order, so the first configuration needs no steps.
			if err := s.send(ctx, *wanted); err != nil {
				return err
			}
			continue
		}
		s.await(ctx, v)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.send(ctx, next(*sent, *wanted)); err != nil {
			return err
		}
	}
}

// send makes r the configuration that Envoy is sent from now on.
func (s *Server) send(ctx context.Context, r Resources) error {
	snapshot, v, err := newSnapshot(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent, s.sentVersions = &r, v
	return s.cache.SetSnapshot(ctx, "", snapshot)
}

// await waits until Envoy has answered all that it was sent, or stepTimeout.
func (s *Server) await(ctx context.Context, v versions) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		changed := s.acks.changed()
		if s.acks.answered(v) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}
