// This file keeps new connections of sources that are full from Envoy. It finds them without Envoy's
// questions: a client that sends no ClientHello causes none.

package envoy

import (
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	// lookEvery is how often the kernel's connections are counted without a question. Near a limit it is countEvery.
	lookEvery = 250 * time.Millisecond
	// calmEvery is how often sockets are counted while they are few. That takes some 10 µs.
	calmEvery = 50 * time.Millisecond
	// lookPart is which part of the time counts may take, unless that is a pause of more than longestPause.
	lookPart     = 10
	longestPause = time.Second
	// sayEvery is how often full sources are logged, at most, and sayMost how many of them.
	sayEvery, sayMost = time.Minute, 8
)

// Senders are the sources that are full, and the listeners that they may not open connections to.
type Senders struct {
	Listeners []netip.AddrPort
	// Addresses of the sources: of hosts behind the gateway, and of those in Network.
	Addresses []netip.Addr
	// MACs of the hosts in Network.
	MACs    []net.HardwareAddr
	Network netip.Prefix
}

// CountReset counts a connection of a client that the kernel reset, if its source was full when connections were counted last.
func (g *Gate) CountReset(client netip.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, full := g.full[g.source(client, time.Now())]; full {
		g.Denied.WithLabelValues(string(overShare)).Inc()
	}
}

// reset calls Reset until ctx ends. Then nothing is reset any more.
func (g *Gate) reset(ctx context.Context) {
	failed := ""
	set := func(s Senders) {
		err := g.Reset(s)
		if err == nil {
			failed = ""
		} else if failed != err.Error() {
			failed = err.Error()
			g.Log.Warn("connections without a ClientHello have no limit", "err", err)
		}
	}
	defer set(Senders{})
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

// look counts, and returns which sources are full and when to look again.
func (g *Gate) look(now time.Time) (Senders, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.ports) == 0 || g.calm() {
		g.full = nil
		return Senders{}, calmEvery
	}
	percent := g.shares.percent()
	if now.Sub(g.shares.counted) >= countEvery && !g.count(now) {
		g.full = nil
		return Senders{}, lookEvery
	}
	g.setAsked(percent)
	g.full = g.shares.full()
	if len(g.full) > 0 && now.Sub(g.said) >= sayEvery {
		all := slices.Sorted(maps.Keys(g.full)) // Empty: the MAC is not known.
		g.Log.Warn("sources have their share of the connections", "sources", len(all), "first", all[:min(len(all), sayMost)], "share", g.Limits.enough())
		g.said = now
	}
	out, every := g.sendersOf(g.full, now), lookEvery
	if g.shares.watched {
		every = countEvery
	}
	return out, every
}

// calm reports whether there are so few sockets that no source is near its share. The caller locks.
func (g *Gate) calm() bool {
	if g.Sockets == nil || g.shares.watched {
		return false
	}
	n, err := g.Sockets()
	return err == nil && uint32(n) <= g.Limits.PerSource/2
}

// sendersOf returns what tells the packets of sources, sorted: for a MAC, also the addresses that it has now. The caller locks.
func (g *Gate) sendersOf(sources map[string]struct{}, now time.Time) Senders {
	out := Senders{Network: g.cidr, Listeners: slices.SortedFunc(maps.Keys(g.ports), netip.AddrPort.Compare)}
	for _, source := range slices.Sorted(maps.Keys(sources)) {
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
		if _, full := sources[source]; full && !addresses[a] && g.source(a, now) == source {
			addresses[a] = true
		}
	}
	for _, a := range out.Addresses {
		addresses[a] = true
	}
	out.Addresses = slices.SortedFunc(maps.Keys(addresses), netip.Addr.Compare)
	return out
}
