// This file keeps new connections of full sources away from Envoy. It also counts connections without a question of
// Envoy, since Envoy does not ask about a client that sends no ClientHello.

package gate

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/envoy/resources"
)

const (
	// lookEvery is the interval of counts without a question of Envoy. Near a limit it is countEvery.
	lookEvery = 250 * time.Millisecond
	// calmEvery is how often sockets are counted while there are few. That takes some 10 µs.
	calmEvery = 50 * time.Millisecond
	// After a count, the next one waits lookPart times as long as the count took, but at most longestPause.
	lookPart     = 10
	longestPause = time.Second
	// sayEvery is the least time between two log lines about full sources. Each names at most sayMost of them.
	sayEvery, sayMost = time.Minute, 8
)

// Senders are full sources, and the listeners at which their new connections are reset.
type Senders struct {
	Listeners []netip.AddrPort
	// Addresses are those of the sources, behind the gateway and in Network.
	Addresses []netip.Addr
	// MACs are those of the sources in Network.
	MACs    []net.HardwareAddr
	Network netip.Prefix
}

// CountReset counts a connection that the kernel reset, if the client's source was full there at the last count.
func (g *Gate) CountReset(listener netip.AddrPort, client netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	api := g.ports[listener]
	if _, full := g.full[holder{g.source(client, time.Now()), api}]; full {
		g.Denied.WithLabelValues(string(overShare), portName(api)).Inc()
	}
}

// reset calls Reset with the full sources until ctx ends, and with nothing at the end.
func (g *Gate) reset(ctx context.Context) {
	failed := ""
	set := func(s []Senders) {
		err := g.Reset(s)
		if err == nil {
			failed = ""
		} else if failed != err.Error() {
			failed = err.Error()
			g.Log.Warn("connections without a ClientHello are not limited", "err", err)
		}
	}
	defer set(nil)
	for {
		began := time.Now()
		senders, every := g.look(began)
		set(senders)
		next := time.NewTimer(max(every, min(lookPart*time.Since(began), longestPause)))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
	}
}

// look counts connections, and returns which sources are full at which listeners, and how long until the next look.
func (g *Gate) look(now time.Time) ([]Senders, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ports) == 0 || g.calm() {
		g.full = nil
		return nil, calmEvery
	}
	percent := g.shares.percent()
	if now.Sub(g.shares.counted) >= countEvery && !g.count(now) {
		g.full = nil
		return nil, lookEvery
	}
	g.setAsked(percent)
	g.full = g.shares.full()
	var out []Senders
	for _, api := range []bool{false, true} {
		full := g.fullAt(api)
		g.sayFull(full, api, now)
		out = append(out, g.sendersOf(full, api, now))
	}
	if g.shares.watched {
		return out, countEvery
	}
	return out, lookEvery
}

// sayFull logs the sources that are full at one kind of ports. The caller locks.
func (g *Gate) sayFull(sources []string, api bool, now time.Time) {
	if len(sources) == 0 || now.Sub(g.said[api]) < sayEvery {
		return
	}
	g.Log.Warn("sources have reached their share of the connections", "port", portName(api), "sources", len(sources),
		"first", sources[:min(len(sources), sayMost)], "share", resources.Enough(g.shares.share()))
	if g.said == nil {
		g.said = map[bool]time.Time{}
	}
	g.said[api] = now
}

// fullAt returns the sources that are full at one kind of ports, sorted. The empty source stands for all addresses without a
// known MAC. The caller locks.
func (g *Gate) fullAt(api bool) (sources []string) {
	for h := range g.full {
		if h.api == api {
			sources = append(sources, h.source)
		}
	}
	slices.Sort(sources)
	return sources
}

// calm reports whether there are so few sockets that no source is near its share. The caller locks.
func (g *Gate) calm() bool {
	if g.Sockets == nil || g.shares.watched {
		return false
	}
	n, err := g.Sockets()
	return err == nil && uint32(n) <= g.shares.share()/2
}

// sendersOf returns the MACs and addresses of sources. The sorted addresses include the current addresses of each MAC. The
// caller locks.
func (g *Gate) sendersOf(sources []string, api bool, now time.Time) Senders {
	out := Senders{Network: g.cidr}
	for at, leadsToAPI := range g.ports {
		if leadsToAPI == api {
			out.Listeners = append(out.Listeners, at)
		}
	}
	slices.SortFunc(out.Listeners, netip.AddrPort.Compare)
	for _, source := range sources {
		if mac, err := net.ParseMAC(source); err == nil {
			out.MACs = append(out.MACs, mac)
		} else if a, err := netip.ParseAddr(source); err == nil {
			out.Addresses = append(out.Addresses, a)
		}
	}
	// A host may send frames from another MAC than the one in its ARP replies.
	addresses := map[netip.Addr]bool{}
	for c, source := range g.owners {
		a := c.Client.Addr()
		if _, full := slices.BinarySearch(sources, source); full && !addresses[a] && g.source(a, now) == source {
			addresses[a] = true
		}
	}
	for _, a := range out.Addresses {
		addresses[a] = true
	}
	out.Addresses = slices.SortedFunc(maps.Keys(addresses), netip.Addr.Compare)
	return out
}
