// This file keeps new connections of sources that are full from Envoy. It finds them without Envoy's
// questions: a client that sends no ClientHello causes none.

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
	// lookEvery is how often the kernel's connections are counted without a question. Near a limit it is countEvery.
	lookEvery = 250 * time.Millisecond
	// calmEvery is how often sockets are counted while they are few. That takes some 10 µs.
	calmEvery = 50 * time.Millisecond
	// lookPart is the part of the time that counts may take, unless that is a pause of more than longestPause.
	lookPart     = 10
	longestPause = time.Second
	// sayEvery is how often full sources of one kind of ports are logged, at most, and sayMost how many of them.
	sayEvery, sayMost = time.Minute, 8
)

// Senders are sources that are full, and the listeners that they may not open connections to.
type Senders struct {
	Listeners []netip.AddrPort
	// Addresses of the sources: of hosts behind the gateway, and of those in Network.
	Addresses []netip.Addr
	// MACs of the hosts in Network.
	MACs    []net.HardwareAddr
	Network netip.Prefix
}

// CountReset counts a connection of a client to a listener that the kernel reset, if its source was full there when connections
// were counted last.
func (g *Gate) CountReset(listener netip.AddrPort, client netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	api := g.ports[listener]
	if _, full := g.full[holder{g.source(client, time.Now()), api}]; full {
		g.Denied.WithLabelValues(string(overShare), portName(api)).Inc()
	}
}

// reset calls Reset until ctx ends. Then nothing is reset.
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

// look counts, and returns which sources are full where, and when to look again.
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

// fullAt returns the sources that are full at one kind of ports, sorted. An empty one: those whose MAC is not known. The caller
// locks.
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

// sendersOf returns what identifies the packets of sources to one kind of ports, sorted: for a MAC, also the addresses
// that it has now. The caller locks.
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
	// The frames of a host may have another MAC than it answers ARP with.
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
