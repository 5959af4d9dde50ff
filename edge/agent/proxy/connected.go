// This file observes whether VMs use this edge. Each VM uses the edge that announced last, and a node
// always has connections with its API server.

package proxy

import (
	"context"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// connectedInterval is how often connections are looked at. A look at 20,000 takes some 20 ms.
const connectedInterval = 10 * time.Second

// FollowConnected passes reported.EdgeReport's Connected to set, until ctx ends. If the kernel does not list connections,
// it is unknown.
func (p *Proxy) FollowConnected(ctx context.Context, set func(connected string)) {
	for ctx.Err() == nil {
		set(connectedOf(p.Source.Current().Network, p.Gate.Each))
		signal.Sleep(ctx, connectedInterval)
	}
}

// connectedOf reports whether each has a connection of a VM or a client with a listener of n.
func connectedOf(n network.Network, each func(func(local, remote netip.AddrPort)) error) string {
	listens := map[netip.AddrPort]bool{}
	for _, l := range n.Listeners {
		listens[netip.AddrPortFrom(l.Address, l.Port)] = true
	}
	out := reported.ConnectedNo
	err := each(func(local, _ netip.AddrPort) {
		if listens[local] {
			out = reported.ConnectedYes
		}
	})
	if err != nil {
		return ""
	}
	return out
}
