// This file runs the DHCP server of an edge while its interface is admissible. Package
// network/dhcp decides about addresses.

package agent

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"github.com/cldmnky/oooi/edge"
	"github.com/cldmnky/oooi/network"
)

const dhcpPort = 67

// A DHCP runs the DHCP server of one edge.
type DHCP struct {
	Interface Interface
	Source    *edge.Source
	Log       *slog.Logger
	// Needs are the destinations that serving depends on.
	Needs []network.ReservedDestination
	// Serve answers on a socket until ctx ends.
	Serve func(context.Context, *net.UDPConn) error
	// Status is kept by Run: whether the server serves.
	Status Status
}

// Run serves until ctx ends.
func (d *DHCP) Run(ctx context.Context) error {
	// The server sends from the service VIP.
	admissible := func() error {
		n := d.Source.Current().Network
		if err := d.Interface.Reaches(n, d.Needs...); err != nil {
			return err
		}
		return d.Interface.Admissible(n.DHCP.ServerID)
	}
	triggers := Triggers{Interface: d.Interface.Changed, Plan: d.Source.Changed}
	return ServeWhile(ctx, &d.Status, d.Log, triggers, admissible, func(ctx context.Context, ready func()) error {
		conn, err := edge.ListenPacket(ctx, d.Interface.Name, netip.AddrPortFrom(netip.IPv4Unspecified(), dhcpPort))
		if err != nil {
			return err
		}
		ready()
		d.Log.Info("serving", "interface", d.Interface.Name)
		return d.Serve(ctx, conn)
	})
}
