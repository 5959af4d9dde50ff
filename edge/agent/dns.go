// This file runs the DNS server of an edge while its address is admissible, and passes
// plan changes to the handler. Package network/dns decides about names.

package agent

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/dns"
)

const dnsPort = 53

// A DNS runs the DNS server of one edge.
type DNS struct {
	Interface Interface
	Source    *edge.Source
	Handler   *dns.Handler
	Log       *slog.Logger
	// Listen is the address to serve at. Zero: the service VIP, port 53.
	Listen netip.AddrPort
	// Resolvers returns the name servers of the pod.
	Resolvers func() []network.ReservedDestination
	// Status is kept by Run: whether the server serves.
	Status Status
}

// Run serves until ctx ends.
func (d *DNS) Run(ctx context.Context) error {
	changed := d.Source.Changed()
	d.Handler.Serve(d.Source.Current().Network)
	go d.atEach(ctx, changed, func() { d.Handler.Serve(d.Source.Current().Network) })
	triggers := Triggers{Interface: d.Interface.Changed, Plan: d.Source.Changed}
	return ServeWhile(ctx, &d.Status, d.Log, triggers, d.admissible, d.serve)
}

// atEach calls do at each change of the plan, until ctx ends. Changed is the channel of
// the first change.
func (d *DNS) atEach(ctx context.Context, changed <-chan struct{}, do func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		changed = d.Source.Changed()
		do()
	}
}

// at returns the address to serve at.
func (d *DNS) at() netip.AddrPort {
	if d.Listen.IsValid() {
		return d.Listen
	}
	return netip.AddrPortFrom(d.Source.Current().Network.ServiceVIP, dnsPort)
}

// admissible returns nil if DNS may be served. The resolvers must be reachable only if
// the plan forwards queries to them.
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
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changed, here := d.Source.Changed(), d.at()
	p, err := edge.ListenPacket(ctx, d.Interface.Name, here)
	if err != nil {
		return err
	}
	l, err := edge.Listen(ctx, d.Interface.Name, here)
	if err != nil {
		_ = p.Close()
		return err
	}
	go d.atEach(ctx, changed, func() {
		if d.at() != here {
			stop()
		}
	})
	ready()
	d.Log.Info("serving", "address", here, "interface", d.Interface.Name)
	return dns.Run(ctx, d.Handler, p, l)
}
