// This file decides whether an edge serves, from the answers of its servers. It never
// decides what follows from that.

package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy"
	"github.com/cldmnky/oooi/network"
)

const (
	// serverAnswersWithin is how long a server may take to say whether it serves.
	serverAnswersWithin = 1500 * time.Millisecond
	// restartLimit is how long DHCP or DNS may be away before that counts. A restarted
	// container is back after a second or two, and clients ask again; VMs that are
	// moved to the other edge lose every long connection.
	restartLimit = 2 * time.Second
)

// A Health is what is known of one server of an edge. The zero value is that of a
// server which has never served.
type Health struct {
	answer Debounce
	// served is when the server last said that it serves.
	served time.Time
}

// Next takes in the result of a question that was asked at asked. The error is why
// the server does not serve at now. A server that served less than grace ago still
// counts as serving.
func (h Health) Next(err error, asked, now time.Time, grace time.Duration) (Health, error) {
	h.answer, err = h.answer.Next(err, asked, now)
	switch {
	case err == nil && h.answer.silent.IsZero():
		h.served = now
	case now.Sub(h.served) < grace:
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

// Servers asks the servers of this edge.
type Servers struct {
	health map[network.Service]edge.Health
	admin  *envoy.Admin

	mu    sync.Mutex
	state map[network.Service]Health
}

// NewServers asks through the sockets in runDir.
func NewServers(runDir string) *Servers {
	s := &Servers{health: map[network.Service]edge.Health{}, admin: envoy.NewAdmin(runDir), state: map[network.Service]Health{}}
	for _, x := range []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy} {
		s.health[x] = edge.HealthAt(wire.Socket(runDir, string(x)))
	}
	return s
}

// Err is nil where all services of n are served here. It asks all servers at once and
// takes 1.5 s at most.
func (s *Servers) Err(n network.Network) error {
	errs := make([]error, len(n.Services))
	var asking sync.WaitGroup
	for i, x := range n.Services {
		asking.Go(func() {
			if err := s.ask(n, x); err != nil {
				errs[i] = fmt.Errorf("%s: %w", x, err)
			}
		})
	}
	asking.Wait()
	return errors.Join(errs...)
}

// ask asks one server. Envoy keeps serving without `oooi proxy`, so Envoy is asked
// where that is away.
func (s *Servers) ask(n network.Network, x network.Service) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), serverAnswersWithin)
	defer cancel()
	err := s.health[x].Serves(ctx)
	if x == network.ServiceProxy && edge.Away(err) {
		err = listens(ctx, s.admin, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state[x], err = s.state[x].Next(err, asked, time.Now(), graceOf(x))
	return err
}
