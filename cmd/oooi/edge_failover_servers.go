// This file decides whether an edge serves machines, from what its servers say.
// It never decides what follows from it.

package main

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
	// serverRestartsWithin is how long DHCP or DNS may be away before that counts. A
	// container that ended is there again after a second or two, and clients ask
	// again; machines that are moved to the other edge lose every long connection.
	serverRestartsWithin = 2 * time.Second
)

// edgeServers are those of this edge.
type edgeServers struct {
	health map[network.Service]edge.Health
	admin  *envoy.Admin

	mu sync.Mutex
	// last is what each answered last, served when each last said that it serves.
	last   map[network.Service]lastWord
	served map[network.Service]time.Time
}

func newEdgeServers(runDir string, admin *envoy.Admin) *edgeServers {
	s := &edgeServers{health: map[network.Service]edge.Health{}, admin: admin, last: map[network.Service]lastWord{}, served: map[network.Service]time.Time{}}
	for _, x := range []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy} {
		s.health[x] = edge.HealthAt(wire.Socket(runDir, string(x)))
	}
	return s
}

// why is nil where all that n's edges serve is served here.
func (s *edgeServers) why(n network.Network) error {
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

// ask asks one server. Envoy goes on without `oooi proxy`, with what it was told
// last, so where that is away Envoy is asked itself. What carries connections gets
// no time to restart: they are cut already.
func (s *edgeServers) ask(n network.Network, x network.Service) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), serverAnswersWithin)
	defer cancel()
	err := s.health[x].Serves(ctx)
	if x == network.ServiceProxy && edge.Away(err) {
		err = listens(ctx, s.admin, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	word, err := s.last[x].next(err, asked, now)
	s.last[x] = word
	switch {
	case x == network.ServiceProxy:
	case err == nil && word.silent.IsZero():
		s.served[x] = now
	case now.Sub(s.served[x]) < serverRestartsWithin:
		return nil
	}
	return err
}
