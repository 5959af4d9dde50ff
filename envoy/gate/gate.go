// Package gate limits the connections of each source: a VM, or a host beyond the gateway. Envoy asks the gate over a Unix
// socket (Envoy's rate limit service) whether it may carry a new connection. The gate counts the kernel's connections and
// names the full sources, whose new connections the kernel resets. File shares.go decides.
package gate

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	servicev3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cldmnky/oooi/envoy/listen"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

const (
	// macsFor is how long a MAC that was found is used.
	macsFor = 10 * time.Second
	// maxQuestion is the largest question of Envoy, in bytes.
	maxQuestion = 4 << 10
)

// A Gate limits the connections of each source. Envoy asks it before it carries a connection. If the gate does not answer, Envoy
// carries the connection. Set the fields before Run. A Gate is safe for concurrent use.
type Gate struct {
	Limits resources.Limits
	// Each calls f with both addresses of each open connection of this host.
	Each func(f func(local, remote netip.AddrPort)) error
	// Sockets, if set, returns an upper bound of this host's TCP sockets. While there are few, no source is near its share, and
	// connections are counted only when Envoy asks.
	Sockets func() (int, error)
	// MACOf returns the MAC of an address of the network. Empty: not known.
	MACOf func(netip.Addr) string
	// SetAsked is called in Run and at each change, with the percentage of connections that Envoy must ask about. While no limit is
	// near, that is a sample, so most connections do not wait for an answer.
	SetAsked func(percent uint32)
	// Reset, if set, makes the kernel reset new connections of full sources to some listeners. Envoy's questions come too late, only
	// after a ClientHello. Without sources, the kernel resets nothing. See CountReset.
	Reset func([]Senders) error
	// Denied counts the connections that were closed, by reason: share or connections. Port is api or other.
	Denied *prometheus.CounterVec
	Log    *slog.Logger

	servicev3.UnimplementedRateLimitServiceServer

	mu     sync.Mutex
	shares shares
	// macs are the MACs by address that were found since the time known.
	macs  map[netip.Addr]string
	known time.Time
	cidr  netip.Prefix
	// owners are the sources of the connections of the last count. An address may get another MAC later.
	owners map[arrival]string
	// ports are the listeners, and whether each is for the API server alone.
	ports map[netip.AddrPort]bool
	// failed is why the last count failed, and failedAt when. Empty: the last count succeeded.
	failed   string
	failedAt time.Time
	// full are the holders that were full in the last count.
	full map[holder]struct{}
	// Field said has the times at which full sources were last logged, at ports of the API server (true) and at others (false).
	said map[bool]time.Time
}

// Serve replaces the network whose connections are counted.
func (g *Gate) Serve(n network.Network) {
	ports, api := map[netip.AddrPort]bool{}, resources.APIPorts(n)
	for _, l := range n.Listeners {
		ports[netip.AddrPortFrom(l.Address, l.Port)] = slices.Contains(api, l.Name())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ports, g.cidr, g.shares.apart = ports, n.CIDR, len(api) > 0
}

// source returns the source of an address. In the network, that is the MAC, so all addresses of a VM are one source. All
// addresses without a known MAC are one source. Each address beyond the gateway is a source. The caller locks.
func (g *Gate) source(a netip.Addr, now time.Time) string {
	if !g.cidr.Contains(a) {
		return a.String()
	}
	if now.Sub(g.known) >= macsFor {
		g.macs, g.known = map[netip.Addr]string{}, now
	}
	mac, has := g.macs[a]
	if !has {
		if mac = g.MACOf(a); mac != "" {
			g.macs[a] = mac
		}
	}
	return mac
}

// ShouldRateLimit answers Envoy about one connection.
func (g *Gate) ShouldRateLimit(_ context.Context, q *servicev3.RateLimitRequest) (*servicev3.RateLimitResponse, error) {
	c, err := arrivalOf(q)
	if err != nil {
		return nil, err
	}
	answer := &servicev3.RateLimitResponse{OverallCode: servicev3.RateLimitResponse_OK}
	if why := g.admit(c, time.Now()); why != admitted {
		answer.OverallCode = servicev3.RateLimitResponse_OVER_LIMIT
	}
	return answer, nil
}

func (g *Gate) admit(c arrival, now time.Time) verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	api, served := g.ports[c.Listener]
	if !served || g.failed != "" && now.Sub(g.failedAt) < countEvery {
		return admitted
	}
	h, percent := holder{g.source(c.Client.Addr(), now), api}, g.shares.percent()
	why, count := g.shares.admit(c, h, now)
	if count {
		if !g.count(now) {
			return admitted
		}
		why, _ = g.shares.admit(c, h, now)
	}
	if why != admitted {
		g.Denied.WithLabelValues(string(why), portName(api)).Inc()
	}
	g.setAsked(percent)
	return why
}

// setAsked calls SetAsked if the percentage differs from its previous value. The caller locks.
func (g *Gate) setAsked(percent uint32) {
	if now := g.shares.percent(); now != percent {
		g.SetAsked(now)
	}
}

// count counts connections, and reports whether that succeeded. The caller locks.
func (g *Gate) count(now time.Time) bool {
	err := g.read(now)
	if err != nil {
		g.uncounted(err, now)
		return false
	}
	g.failed = ""
	return true
}

// uncounted records and logs err, the reason why connections cannot be counted. The caller locks.
func (g *Gate) uncounted(err error, now time.Time) {
	g.shares.forget()
	if what := err.Error(); what != g.failed {
		g.Log.Warn("connections cannot be counted, so VMs have no limit of their own. All are accepted up to the limits of Envoy", "err", err)
		g.failed = what
	}
	g.failedAt = now
}

// Counts reports whether connections can be counted. If not, sources have no shares.
func (g *Gate) Counts() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed == ""
}

// read counts the kernel's connections to all ports. Each belongs to the source that had the client's address when it was first
// counted. The caller locks.
func (g *Gate) read(now time.Time) error {
	g.shares.reset(now)
	g.macs, g.known = map[netip.Addr]string{}, now // New connections are charged to the current MAC.
	owners, unknown := map[arrival]string{}, map[netip.Addr]bool{}
	err := g.Each(func(local, remote netip.AddrPort) {
		api, ok := g.ports[local]
		if !ok {
			return
		}
		c := arrival{Listener: local, Client: remote}
		source := g.owners[c]
		if source == "" && !unknown[remote.Addr()] {
			source = g.source(remote.Addr(), now)
			unknown[remote.Addr()] = source == ""
		}
		owners[c] = source
		g.shares.count(c, holder{source, api})
	})
	if err != nil {
		return err
	}
	g.owners = owners
	g.shares.settle(now)
	return nil
}

// Run serves on l until ctx ends. See listen.Serve.
func (g *Gate) Run(ctx context.Context, l net.Listener) error {
	g.mu.Lock()
	g.shares.limits = g.Limits
	if err := g.Each(func(netip.AddrPort, netip.AddrPort) {}); err != nil {
		g.uncounted(err, time.Now())
	}
	g.SetAsked(g.shares.percent())
	g.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var resets sync.WaitGroup
	defer resets.Wait()
	defer cancel()
	if g.Reset != nil {
		resets.Go(func() { g.reset(ctx) })
	}
	return listen.Serve(ctx, l, listen.MaxThreads, func(s *grpc.Server) { servicev3.RegisterRateLimitServiceServer(s, g) },
		grpc.MaxRecvMsgSize(maxQuestion), grpc.NumStreamWorkers(resources.Workers), grpc.MaxConcurrentStreams(resources.MaxConnections))
}

// arrivalOf returns the connection that a question is about.
func arrivalOf(q *servicev3.RateLimitRequest) (c arrival, err error) {
	for _, d := range q.GetDescriptors() {
		for _, e := range d.GetEntries() {
			switch e.GetKey() {
			case resources.FromKey:
				c.Client, err = netip.ParseAddrPort(e.GetValue())
			case resources.ToKey:
				c.Listener, err = netip.ParseAddrPort(e.GetValue())
			}
			if err != nil {
				return c, status.Error(codes.InvalidArgument, err.Error())
			}
		}
	}
	if !c.Client.Addr().Is4() || !c.Listener.Addr().Is4() {
		return c, status.Error(codes.InvalidArgument, "a request must have both IPv4 addresses of a connection")
	}
	return c, nil
}
