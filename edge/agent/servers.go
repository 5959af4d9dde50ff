// This file decides whether an edge serves, from the answers of its servers.

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cldmnky/oooi/edge/agent/proxy"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/reported"
)

// restartLimit is how long DHCP or DNS may be unavailable: a restarted container is back after a
// second or two, and clients retry. A failover resets every long connection.
const restartLimit = 2 * time.Second

// A Health is the state of one server. The zero value is a server that has never served.
type Health struct {
	answer serving.Debounce
	// served: the server has served before. failing is when it stopped serving. Zero: it serves.
	served  bool
	failing time.Time
}

// Next records err, the answer of the server that was due at the time due. It returns why the server
// does not serve at now. A server that served before has grace to recover.
func (h Health) Next(err error, due, now time.Time, grace time.Duration) (Health, error) {
	h.answer, err = h.answer.Next(err, due, now)
	silent := h.answer.Silent
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

// rest returns how much grace a failing server has left at now. Zero: none, or it serves.
func (h Health) rest(now time.Time, grace time.Duration) time.Duration {
	if !h.served || h.failing.IsZero() {
		return 0
	}
	return max(0, h.failing.Add(grace).Sub(now))
}

// graceOf returns how long a server may be unavailable. The proxy gets no time: its connections are
// reset already.
func graceOf(s network.Service) time.Duration {
	if s == network.ServiceProxy {
		return 0
	}
	return restartLimit
}

// Servers holds the answers of this edge's servers, and signals changes.
type Servers struct {
	health map[network.Service]health.Health
	admin  *admin.Client

	mu sync.Mutex
	// state and verdict have an entry for each server that has answered, or did not answer in time.
	state   map[network.Service]Health
	verdict map[network.Service]error
	// answered is when Envoy answered last in place of the proxy.
	answered time.Time
	// status is the verdict on all servers, for Changed.
	status serving.Status
}

// NewServers returns Servers for the sockets in runDir.
func NewServers(runDir string) *Servers {
	s := &Servers{
		health: map[network.Service]health.Health{}, admin: admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(runDir)).Admin())),
		state: map[network.Service]Health{}, verdict: map[network.Service]error{},
	}
	for _, x := range followed {
		s.health[x], s.verdict[x] = health.At(wire.Socket(runDir, string(x))), serving.ErrStarting
	}
	return s
}

// followed are all possible servers.
var followed = [...]network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceNTP, network.ServiceProxy}

// Follow follows the servers of the current network until ctx ends. plan fires when the network may
// have changed.
func (s *Servers) Follow(ctx context.Context, current func() network.Network, plan serving.Trigger) {
	var following sync.WaitGroup
	for _, x := range followed {
		following.Go(func() {
			planned := func() bool { return slices.Contains(current().Services, x) }
			_ = serving.WhilePlanned(ctx, plan, planned, func(ctx context.Context) error {
				s.judge(ctx, x, current)
				return nil
			})
		})
	}
	following.Wait()
}

// An answer is the result of asking a server, and the time at which the answer was due.
type answer struct {
	err error
	due time.Time
}

// judge records each answer of one server until ctx ends, and again when the verdict on it may have
// changed.
func (s *Servers) judge(ctx context.Context, x network.Service, current func() network.Network) {
	answers := make(chan answer)
	go s.health[x].Follow(ctx, health.ServesPath, func(err error, due time.Time) {
		select {
		case <-ctx.Done():
		case answers <- answer{err, due}:
		}
	})
	var last answer
	again := time.NewTimer(0)
	again.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case last = <-answers:
		case <-again.C:
		}
		again.Stop()
		if rest := s.take(ctx, current(), x, last); rest > 0 {
			again.Reset(rest)
		}
	}
}

// take records an answer, and returns after which time it must be recorded again. Zero: never. Envoy
// keeps serving without `oooi-edge proxy`, so take asks Envoy itself while the proxy is away or
// silent, or has not checked Envoy.
func (s *Servers) take(ctx context.Context, n network.Network, x network.Service, a answer) (again time.Duration) {
	unchecked := health.Unchecked.Of(a.err)
	if x == network.ServiceProxy && (unchecked || health.Unanswered(a.err) || health.Away(a.err)) {
		if a = s.askEnvoy(ctx, n, a); unchecked {
			again = serving.CheckInterval
		}
	}
	if ctx.Err() != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now, grace := time.Now(), graceOf(x)
	s.state[x], s.verdict[x] = s.state[x].Next(a.err, a.due, now, grace)
	_ = s.status.Set(s.why(decisive(n)))
	return max(again, s.state[x].rest(now, grace))
}

// askEnvoy returns Envoy's own answer in place of the proxy's. If Envoy and the proxy are silent,
// Envoy's answer was due when the proxy's was, unless Envoy has answered since. If Envoy is
// already silent, the question ends when the silence counts as not serving.
func (s *Servers) askEnvoy(ctx context.Context, n network.Network, ofProxy answer) answer {
	asked := time.Now()
	s.mu.Lock()
	counts := s.state[network.ServiceProxy].answer.Counts()
	s.mu.Unlock()
	if counts.After(asked) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, counts)
		defer cancel()
	}
	a := answer{due: asked, err: proxy.Listens(ctx, s.admin, n)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !health.Unanswered(a.err):
		s.answered = asked
	case health.Unanswered(ofProxy.err) && ofProxy.due.After(s.answered):
		a.due = ofProxy.due
	}
	return a
}

// Changed returns a channel that is closed when Err may have changed.
func (s *Servers) Changed() <-chan struct{} { return s.status.Changed() }

// Err returns nil if this edge serves the services of n that are worth a failover.
func (s *Servers) Err(n network.Network) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why(decisive(n))
}

// Faults returns the servers of n that do not serve. It returns nil while one of them starts.
func (s *Servers) Faults(n network.Network) (out []reported.ServerFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range n.Services {
		err := s.verdict[x]
		if errors.Is(err, serving.ErrStarting) {
			return nil
		}
		if err != nil {
			out = append(out, faultOf(x, err))
		}
	}
	return out
}

// faultOf returns the report about server x, which does not serve because of err.
func faultOf(x network.Service, err error) reported.ServerFault {
	var refused health.Reason
	switch {
	case health.Away(err):
		return reported.ServerFault{Server: x, Cause: problem.ServerStopped}
	case health.Unanswered(err):
		return reported.ServerFault{Server: x, Cause: problem.ServerSilent}
	case errors.As(err, &refused) && refused.Kind == health.Refused:
		return reported.ServerFault{Server: x, Cause: problem.ServerRefuses, Error: refused.Text}
	}
	return reported.ServerFault{Server: x, Cause: problem.ServerRefuses, Error: err.Error()}
}

// decisive returns the services of n that decide whether an edge serves. A failover resets every
// long connection, and VMs keep the time for hours. So NTP decides only if the edge has no other
// service.
func decisive(n network.Network) []network.Service {
	others := slices.DeleteFunc(slices.Clone(n.Services), func(x network.Service) bool { return x == network.ServiceNTP })
	if len(others) == 0 {
		return n.Services
	}
	return others
}

// why returns why these services are not served, nil if they are. The caller holds the lock.
func (s *Servers) why(services []network.Service) error {
	var errs []error
	for _, x := range services {
		if err := s.verdict[x]; err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", x, err))
		}
	}
	return errors.Join(errs...)
}
