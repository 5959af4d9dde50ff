// This file runs the DNS server of an edge while its address is admissible, and passes it
// plan changes.

package servers

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/dns"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
)

const dnsPort = 53

// A DNS runs the DNS server of one edge.
type DNS struct {
	Interface serving.Interface
	Source    *inforce.Source
	Handler   *dns.Handler
	Log       *slog.Logger
	// Listen is the address to serve at. Zero: the service VIP, port 53.
	Listen netip.AddrPort
	// Resolvers returns the name servers of the pod.
	Resolvers func() []network.ReservedDestination
	// Status is kept by Run: whether the server serves.
	Status serving.Status
}

// Run serves until ctx ends.
func (d *DNS) Run(ctx context.Context) error {
	triggers := serving.Triggers{Interface: d.Interface.Changed, Plan: d.Source.Changed}
	// The routes of the interface decide which upstream servers are asked.
	serving.AtEach(ctx, triggers, func() {
		n := d.Source.Current().Network
		d.Handler.Serve(n, d.Interface.Lost(n)...)
	})
	return serving.While(ctx, &d.Status, d.Log, triggers, d.admissible, d.serve)
}

func (d *DNS) at() netip.AddrPort { return serving.ServiceAddress(d.Source, d.Listen, dnsPort) }

// admissible returns nil if DNS may be served. The resolvers must be reachable only if the
// plan forwards queries to them.
func (d *DNS) admissible() error {
	n := d.Source.Current().Network
	if n.DNS.Upstreams.Mode == network.UpstreamManagement {
		if err := d.Interface.Reaches(n, d.Resolvers()...); err != nil {
			return err
		}
	}
	return d.Interface.Admissible(d.at().Addr())
}

// serve answers at one address, until ctx ends or the plan changes the address.
func (d *DNS) serve(ctx context.Context, ready func()) error {
	ctx, stop, here := serving.UntilMoved(ctx, d.Source, d.at)
	defer stop()
	return runDNS(ctx, d.Handler, d.Interface.Name, here, d.Log, ready)
}

// runDNS answers at one address of device, until ctx ends.
func runDNS(ctx context.Context, h *dns.Handler, device string, at netip.AddrPort, log *slog.Logger, ready func()) error {
	tcp, err := socket.Listen(ctx, device, at)
	if err != nil {
		return err
	}
	udp, err := socket.ListenShared(ctx, device, at, dns.Sockets)
	if err != nil {
		_ = tcp.Close()
		return err
	}
	defer udp.Close()
	if udp.Unprotected != nil {
		log.Warn("another container of this edge could receive DNS queries", "err", udp.Unprotected)
	}
	ready()
	log.Info("serving", "address", at, "interface", device)
	return dns.Run(ctx, h, udp.Conns, tcp)
}
