// Package proxy keeps Envoy configured: it passes changes of the plan, the backends and the
// interface to Admit. It reports whether Envoy follows, which backends are dark, and whether the
// hosted API server answers through Envoy.
package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/edge/agent/connlog"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/backends"
	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/ads"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

const (
	// firstBackends is how long the start waits for the backends' endpoints. Then the API server is
	// probably unavailable, and Envoy uses cluster IPs of Services and cached endpoints.
	firstBackends = 5 * time.Second
	// settled is how long changes of endpoints are collected: many slices arrive in pieces.
	settled = 20 * time.Millisecond
	// envoyAnswersWithin is how long Envoy may take to answer one question of the proxy, such as for its listeners.
	envoyAnswersWithin = time.Second
	// envoyInterval is how often Envoy is asked while it serves. When Envoy stops, its connection to
	// Server ends.
	envoyInterval = time.Second
)

// A Proxy configures one Envoy.
type Proxy struct {
	Interface serving.Interface
	Source    *inforce.Source
	Backends  *backends.Backends
	Options   resources.Options
	Server    *ads.Server
	Admin     *admin.Client
	// Gate limits the connections of each VM. Metrics sets its counter.
	Gate *gate.Gate
	Log  *slog.Logger
	// Needs returns the destinations that serving depends on.
	Needs func(network.Network) []network.ReservedDestination
	// Status is kept by Run: whether every listener of the plan accepts connections.
	Status serving.Status
	// AccessLog logs the connections that Envoy reports.
	AccessLog *connlog.AccessLog
	// CutOffBackends counts the unreachable backends.
	CutOffBackends prometheus.Gauge
	// Serving is kept by Run: whether VMs are better off with this edge than without. See method serves.
	Serving serving.Status

	// looked is when Serving was set, in nanoseconds of Unix time.
	looked atomic.Int64

	last Admission

	// envoy is the last answer to the question whether Envoy serves.
	envoy serving.Debounce
}

// admit returns what may be served now. While the kernel does not report, it returns what was admitted before.
func (p *Proxy) admit() Admission {
	v := p.Source.Current()
	routes, err := p.Interface.Routes()
	if errors.As(err, new(serving.Unread)) {
		return Keep(p.last, v, err)
	}
	if err == nil && p.Needs != nil {
		err = routes.CutOff(v.Network, p.Interface.Name, p.Needs(v.Network)...)
	}
	if err != nil {
		return Refuse(v, err)
	}
	var unread error
	a := Admit(v, CutOffBackends(routes, p.Interface.Name, v.Network, p.Backends.Endpoints), func(address netip.Addr) error {
		err := p.Interface.Admissible(address)
		if errors.As(err, new(serving.Unread)) {
			unread = err
		}
		return err
	})
	if unread != nil {
		return Keep(p.last, v, unread)
	}
	return a
}

// serves returns nil if Envoy accepts connections. Parameter some is nil if Envoy has an admissible
// listener, else the reason why it has none. Method serves requires less than method follows. A
// plan change, a refused listener, an address that only a recreated pod has, or a slow Envoy can
// concern both edges. If both edges stopped serving, neither could take over. Until the kernel has
// reported, an Envoy with a listener of the plan counts as serving: a previous proxy configured it.
func (p *Proxy) serves(a Admission, some error, asked, now time.Time) (err error) {
	if a.Read && a.Missing != nil && len(a.Network.Listeners) == 0 {
		return a.Missing
	}
	p.envoy, err = p.envoy.Next(some, asked, now)
	return err
}

// Listens returns nil if Envoy runs and has one of n's listeners, or if it runs and n has none.
func Listens(ctx context.Context, client *admin.Client, n network.Network) error {
	ctx, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
	defer cancel()
	return client.ServesAny(ctx, listenerNames(n))
}

// Run configures Envoy at the start and at each change, until ctx ends.
func (p *Proxy) Run(ctx context.Context) error {
	// An Envoy that is already running asks the Gate.
	p.Gate.Serve(p.Source.Current().Network)
	p.Backends.Follow(ctx, p.Source.Current().Network)
	p.waitForBackends(ctx)
	cutOff := ""
	for ctx.Err() == nil {
		plan, endpoints := p.Source.Changed(), p.Backends.Changed()
		p.Backends.Follow(ctx, p.Source.Current().Network)
		a := p.admit()
		p.last = a
		if p.CutOffBackends.Set(float64(len(a.CutOff))); a.CutOff.String() != cutOff {
			if cutOff = a.CutOff.String(); cutOff != "" {
				p.Log.Warn("backends unreachable, closing their connections", "err", cutOff)
			}
		}
		// Connections of listeners that are no longer admissible stay open.
		p.Gate.Serve(p.Source.Current().Network)
		if a.Read {
			p.Server.Serve(resources.New(a.Network, p.Options, a.CutOff.Close(resources.EndpointsOf(a.Network, p.Backends))))
		}
		p.wait(ctx, a, plan, endpoints)
	}
	return nil
}

// wait keeps Status and Serving current until the configuration changes. Envoy needs a moment for a
// new configuration, so bad answers are ignored at first.
func (p *Proxy) wait(ctx context.Context, a Admission, plan, endpoints <-chan struct{}) {
	began, interval := time.Now(), time.Duration(0)
	for {
		environment, connected := p.Interface.Changed(), p.Server.Changed()
		tick := time.NewTimer(interval)
		select {
		case <-ctx.Done():
			return
		case <-plan:
			return
		case <-endpoints:
			signal.Sleep(ctx, settled)
			return
		case <-environment:
		case <-connected:
		case <-tick.C:
		}
		tick.Stop()
		now := p.admit()
		if !now.Same(a) {
			return
		}
		interval = p.look(ctx, now, time.Since(began) < serving.CheckInterval)
	}
}

// look asks Envoy once, and returns after which time to ask again. While moment is true, bad answers are ignored.
func (p *Proxy) look(ctx context.Context, a Admission, moment bool) time.Duration {
	asked := time.Now()
	asking, cancel := context.WithTimeout(ctx, envoyAnswersWithin)
	defer cancel()
	n := a.Network
	if !a.Read {
		n = p.Source.Current().Network
	}
	all, some := p.Admin.Check(asking, listenerNames(n))
	follows, serves := p.follows(a, all), p.serves(a, some, asked, time.Now())
	if !moment || follows == nil {
		p.keep(follows)
	}
	switch was := p.Serving.Err(); {
	case was == serving.ErrStarting && health.Unanswered(serves):
		// Envoy may have served for long, and just be slow now.
	case !moment || serves == nil || was != nil:
		_ = p.Serving.Set(serves)
	}
	p.looked.Store(time.Now().UnixNano())
	if follows != nil || serves != nil {
		return serving.CheckInterval
	}
	return envoyInterval
}

// errNotLooking is the answer of a proxy that is stuck.
var errNotLooking = health.Reason{Kind: health.Unchecked, Text: "Envoy was not probed for more than three seconds"}

// Refusal returns the first resource that Envoy refuses. It is zero if Envoy refuses none.
func (p *Proxy) Refusal() reported.Refusal {
	all := p.Server.Refusals()
	if len(all) == 0 {
		return reported.Refusal{}
	}
	return reported.Refusal{Type: all[0].Type, Name: all[0].Name, Error: all[0].Why}
}

// Question returns the question whether VMs are served. The answer is health.Unchecked if Envoy was
// not asked recently.
func (p *Proxy) Question() health.Question {
	return health.Question{Path: health.ServesPath, Why: func() error { return p.servesAt(time.Now()) }, Changed: p.Serving.Changed}
}

func (p *Proxy) servesAt(now time.Time) error {
	err := p.Serving.Err()
	if err == nil && now.Sub(time.Unix(0, p.looked.Load())) > serving.SilenceLimit {
		return errNotLooking
	}
	return err
}

// waitForBackends waits until the endpoints of all backends were seen. An edge starts without the
// API server.
func (p *Proxy) waitForBackends(ctx context.Context) {
	waiting, cancel := context.WithTimeout(ctx, firstBackends)
	defer cancel()
	if !p.Backends.Seen(waiting) && ctx.Err() == nil {
		p.Log.Warn("endpoints are not known yet, using cluster IPs and cached endpoints")
	}
}

// follows returns nil if every listener of the plan accepts connections. Parameter all is nil if Envoy has all of
// them, else the reason why it lacks one.
func (p *Proxy) follows(a Admission, all error) error {
	if a.Missing != nil {
		return a.Missing
	}
	if err := p.Server.Accepted(); err != nil {
		return err
	}
	return all
}

func (p *Proxy) keep(err error) {
	switch changed := p.Status.Set(err); {
	case !changed:
	case err == nil:
		p.Log.Info("serving", "listeners", len(p.Source.Current().Network.Listeners), "interface", p.Interface.Name)
	default:
		p.Log.Warn("not serving", "err", err)
	}
}
