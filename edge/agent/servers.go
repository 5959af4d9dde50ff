// This file decides whether an edge serves, from the answers of its servers. It never
// decides what follows from that.

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

// restartLimit is how long DHCP or DNS may be away before that counts. A restarted
// container is back after a second or two, and clients ask again; VMs that are moved to
// the other edge lose every long connection.
const restartLimit = 2 * time.Second

// A Health is what is known of one server of an edge. The zero value is that of a
// server which has never served.
type Health struct {
	answer Debounce
	// served: the server has served. Failing is since when it does not. Zero: it does.
	served  bool
	failing time.Time
}

// Next takes in an answer that was due at due. The error is why the server does not
// serve at now. A server that has served before gets grace to do so again.
func (h Health) Next(err error, due, now time.Time, grace time.Duration) (Health, error) {
	h.answer, err = h.answer.Next(err, due, now)
	silent := h.answer.silent
	if err == nil && silent.IsZero() {
		h.served, h.failing = true, time.Time{}
		return h, nil
	}
	if h.failing.IsZero() {
		h.failing = now
		if !silent.IsZero() {
			h.failing = silent
		}
	}
	if h.served && now.Sub(h.failing) < grace {
		return h, nil
	}
	return h, err
}

// graceOf is how long a server may be away. What carries connections gets no time:
// they are cut already.
func graceOf(s network.Service) time.Duration {
	if s == network.ServiceProxy {
		return 0
	}
	return restartLimit
}

// Servers is what the servers of this edge say. They say it when it changes.
type Servers struct {
	health map[network.Service]edge.Health
	admin  *envoy.Admin

	mu sync.Mutex
	// state and verdict are of the servers that have been heard or missed.
	state   map[network.Service]Health
	verdict map[network.Service]error
	// status is the verdict on all: it is kept for its Changed.
	status Status
}

// NewServers listens to the sockets in runDir.
func NewServers(runDir string) *Servers {
	s := &Servers{
		health: map[network.Service]edge.Health{}, admin: envoy.NewAdmin(runDir),
		state: map[network.Service]Health{}, verdict: map[network.Service]error{},
	}
	for _, x := range followed {
		s.health[x], s.verdict[x] = edge.HealthAt(wire.Socket(runDir, string(x))), ErrStarting
	}
	return s
}

// followed are the servers that there may be.
var followed = [...]network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}

// Follow follows the servers of the current network until ctx ends. Plan fires when
// that may be another.
func (s *Servers) Follow(ctx context.Context, current func() network.Network, plan Trigger) {
	var following sync.WaitGroup
	for _, x := range followed {
		following.Go(func() { s.followOne(ctx, x, current, plan) })
	}
	following.Wait()
}

// followOne follows one server for as long as the network has it.
func (s *Servers) followOne(ctx context.Context, x network.Service, current func() network.Network, plan Trigger) {
	for ctx.Err() == nil {
		changed := plan.channel()
		if !slices.Contains(current().Services, x) {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		following, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			for slices.Contains(current().Services, x) {
				select {
				case <-following.Done():
					return
				case <-changed:
				}
				changed = plan.channel()
			}
		}()
		s.health[x].FollowServes(following, func(err error, due time.Time) { s.take(ctx, current(), x, err, due) })
		stop()
	}
}

// take takes in an answer that was due. Envoy keeps serving without `oooi proxy`, so
// Envoy is asked where that is away.
func (s *Servers) take(ctx context.Context, n network.Network, x network.Service, err error, due time.Time) {
	if x == network.ServiceProxy && edge.Away(err) {
		due = time.Now()
		err = listens(ctx, s.admin, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[x], s.verdict[x] = s.state[x].Next(err, due, time.Now(), graceOf(x))
	_ = s.status.Set(s.all(n))
}

// Changed is closed when Err may have changed since.
func (s *Servers) Changed() <-chan struct{} { return s.status.Changed() }

// Err is nil where all services of n are served here.
func (s *Servers) Err(n network.Network) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all(n)
}

func (s *Servers) all(n network.Network) error {
	var errs []error
	for _, x := range n.Services {
		if err := s.verdict[x]; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", x, err))
		}
	}
	return errors.Join(errs...)
}
