// This file limits callers through the hosted cluster's load balancers, which may be any host. Their tunnels are
// counted separately from those of pods of the management cluster.

package access

import (
	"slices"
	"time"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// loadBalancers is the Target.Name of tunnels through load balancers. No other destination has this name.
const loadBalancers = network.AccessLoadBalancers

// balancedIdleLimit is how long both sides of a tunnel of a load balancer may be silent.
const balancedIdleLimit = time.Hour

// balances reports whether a has a load balancer with this port.
func balances(a network.Access, port uint16) bool {
	return port != 0 && a.LoadBalancers != nil && slices.ContainsFunc(a.LoadBalancers.Services, func(s network.BalancedService) bool {
		return slices.Contains(s.Ports, port)
	})
}

// keeps reports whether p still admits the caller of t, and still opens t's destination.
func (p Policy) keeps(t *Tunnel) bool {
	if t.Target.Name == loadBalancers {
		return p.Dials(t.Dialed.Addr()) && balances(p.Network.Access, t.Listen) && t.Dialed.Port() == t.Listen
	}
	return p.Admits(t.Account) && StillOpen(p, t.Target, t.Dialed, t.Listen)
}

// idleLimit returns how long both sides of a tunnel to t may be silent.
func (s *Server) idleLimit(t Target) time.Duration {
	if t.Name == loadBalancers {
		return s.limits.balancedIdle
	}
	return s.limits.idle
}

// counted returns the shares that t is counted in, and their limit.
func (s *Server) counted(t *tunnel) (in *shares, most int) {
	if t.Target.Name == loadBalancers {
		return &s.balanced, s.limits.balanced
	}
	return &s.admitted, s.limits.tunnels
}

// reserve counts t, or refuses it.
func (s *Server) reserve(t *tunnel) *Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, most := s.counted(t)
	evicted, refused := in.add(t, most)
	if evicted != nil {
		s.evict(evicted)
	}
	s.o.Metrics.set(metrics.AccessTunnels, s.admitted.count+s.balanced.count)
	return refused
}

// release undoes what reserve counted.
func (s *Server) release(t *tunnel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, _ := s.counted(t)
	in.remove(t)
	s.o.Metrics.set(metrics.AccessTunnels, s.admitted.count+s.balanced.count)
}

// evict ends t, which may still dial or have ended, to make room for another source. The caller holds s.mu.
func (s *Server) evict(t *tunnel) {
	if _, open := s.tunnels[t]; open {
		t.abort(OverShare)
	} else if t.giveUp != nil {
		end := OverShare
		t.cut.Store(&end)
		t.giveUp()
	}
}
