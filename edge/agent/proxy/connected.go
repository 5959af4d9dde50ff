// This file observes whether VMs use this edge: a node always has connections with its API server.

package proxy

import (
	"context"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/reported"
)

// connectedInterval is how often connections are listed. A list of 20,000 takes about 20 ms.
const connectedInterval = 10 * time.Second

// FollowConnected calls function set with the value for Connected of reported.EdgeReport, until ctx ends. The
// value is empty if the kernel does not list connections.
func (p *Proxy) FollowConnected(ctx context.Context, set func(connected string)) {
	for ctx.Err() == nil {
		set(connectedOf(p.Source.Current().Network, p.Gate.Each))
		signal.Sleep(ctx, connectedInterval)
	}
}

// connectedOf returns whether one of the connections that function each lists is to a listener of n, as the
// value for Connected.
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
