// This file serves Envoy its resources. Package resources decides what they are, and due.go decides their order.

package ads

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/envoy/listen"
	"github.com/cldmnky/oooi/envoy/resources"
)

// The limits of the server. Envoy uses one connection and one stream, or two of each while it connects again.
const (
	maxPeers   = 2
	maxStreams = 2
	// maxRequest in bytes is enough for the names and versions of 15,000 resources.
	maxRequest = 2 << 20
)

// A Server sends resources to the Envoy that connects, but nothing before Serve: a running Envoy keeps its configuration.
type Server struct {
	// The state-of-the-world variant of xDS is not served.
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	log *slog.Logger

	mu sync.Mutex
	// wanted is the argument of the last Serve, nil before the first. target is its form for Envoy.
	wanted *resources.Resources
	target *target
	// percent is the percentage of connections that Envoy asks its gate about. Zero: all.
	percent uint32
	// draining is shared by all streams, since they belong to one Envoy.
	draining *draining
	// streams are the connected streams: one, or two for a moment.
	streams map[*known]struct{}
	// change is closed when the target changes. answers is closed when an Envoy connects, disconnects or sends an answer.
	change, answers chan struct{}
}

// NewServer returns a server without resources.
func NewServer(log *slog.Logger) *Server {
	return &Server{log: log, draining: newDraining(), streams: map[*known]struct{}{}, change: make(chan struct{}), answers: make(chan struct{})}
}

// Serve replaces the target configuration. Equal resources change nothing.
func (s *Server) Serve(r resources.Resources) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wanted != nil && s.wanted.Equal(r) {
		return
	}
	s.wanted = &r
	s.retarget()
}

// SetAsked sets the percentage of connections that Envoy asks its gate about. Until the first call: all.
func (s *Server) SetAsked(percent uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.percent == percent {
		return
	}
	if s.percent = percent; s.wanted != nil {
		s.retarget()
	}
}

// retarget makes the target from what is wanted. The caller locks.
func (s *Server) retarget() {
	t := newTarget(s.wanted.Asking(s.percent))
	s.target = &t
	close(s.change)
	s.change = make(chan struct{})
}

// Accepted returns nil if the connected Envoy has accepted the whole target, except for listeners that are held back.
func (s *Server) Accepted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == nil {
		return errors.New("there is no configuration for Envoy yet")
	}
	if len(s.streams) == 0 {
		return errNoEnvoy
	}
	var errs []error
	now := time.Now()
	for k := range s.streams {
		errs = append(errs, k.accepted(*s.target, now))
	}
	return errors.Join(errs...)
}

// Refusals returns the resources of the target that Envoy refuses, sorted by type and name. Envoy keeps the previous
// version of each, and its clusters.
func (s *Server) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Refusal
	for k := range s.streams {
		if s.target != nil {
			out = append(out, k.refusals(*s.target)...)
		}
	}
	return out
}

// Changed returns a channel that is closed when an Envoy connects, answers or disconnects next.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers
}

// Run serves on l until ctx ends. See listen.Serve.
func (s *Server) Run(ctx context.Context, l net.Listener) error {
	return listen.Serve(ctx, l, maxPeers, func(r *grpc.Server) { discoveryv3.RegisterAggregatedDiscoveryServiceServer(r, s) },
		grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams))
}

// DeltaAggregatedResources serves one Envoy until it disconnects.
func (s *Server) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	k := newKnown(s.draining)
	s.edit(func() { s.streams[k] = struct{}{} })
	s.log.Info("Envoy connected")
	defer func() {
		s.edit(func() { delete(s.streams, k) })
		s.log.Info("Envoy disconnected")
	}()
	requests, ended := receive(stream)
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		responses, changed, rest := s.due(k)
		if again.Stop(); rest > 0 {
			again.Reset(rest)
		}
		for _, r := range responses {
			s.log.Debug("resources sent", "type", plural(r.GetTypeUrl()), "resources", len(r.GetResources()), "removed", r.GetRemovedResources())
			if err := stream.Send(r); err != nil {
				return err
			}
		}
		select {
		case err := <-ended:
			return err
		case r := <-requests:
			if err := s.requested(k, r); err != nil {
				return err
			}
		case <-changed:
		case <-again.C:
		}
	}
}

// receive returns a channel of the stream's requests, and a channel of the error that ends the stream.
func receive(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) (<-chan *discoveryv3.DeltaDiscoveryRequest, <-chan error) {
	requests, ended := make(chan *discoveryv3.DeltaDiscoveryRequest), make(chan error, 1)
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				ended <- err
				return
			}
			select {
			case requests <- r:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	return requests, ended
}

// due returns the responses that an Envoy may get now. More may be due when changed is closed, or after the time rest. If
// rest is zero, nothing is due until changed is closed.
func (s *Server) due(k *known) (responses []*discoveryv3.DeltaDiscoveryResponse, changed <-chan struct{}, rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == nil {
		return nil, s.change, 0
	}
	now := time.Now()
	responses = k.due(*s.target, now)
	if t := k.again(); !t.IsZero() {
		rest = max(0, t.Sub(now))
	}
	return responses, s.change, rest
}

// requested handles a request.
func (s *Server) requested(k *known, r *discoveryv3.DeltaDiscoveryRequest) error {
	var err error
	refuses := false
	s.edit(func() {
		refuses = k.refuses(r)
		err = k.requested(r, time.Now())
	})
	if refuses {
		s.log.Error("Envoy rejected resources", "type", plural(r.GetTypeUrl()), "err", reason(r))
	}
	if err != nil {
		s.log.Error("Envoy's stream ended", "err", err)
	}
	return err
}

// edit calls change with the lock, and then notifies callers of Changed.
func (s *Server) edit(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.answers)
	s.answers = make(chan struct{})
}
