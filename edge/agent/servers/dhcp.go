// Package servers runs the servers of an edge other than Envoy, while their interface and addresses are admissible.
// This file runs the DHCP server.
package servers

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/dhcp/udp"
	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/network"
)

const (
	dhcpPort = 67
	// broadcastSockets share the broadcasts of VMs. Together they hold the messages of 500 VMs that start in one
	// instant, even with the kernel's default of 212,992 bytes each.
	broadcastSockets = 4
	// receiveBuffer in bytes is requested from the kernel for each socket. It may grant less.
	receiveBuffer = 4 << 20
)

// A DHCP runs the DHCP server of one edge.
type DHCP struct {
	Interface serving.Interface
	Source    *inforce.Source
	Log       *slog.Logger
	// Needs are the destinations that serving depends on.
	Needs []network.ReservedDestination
	// Serve answers on sockets until ctx ends.
	Serve func(context.Context, udp.Sockets) error
	// Status is kept by Run: whether the server serves.
	Status serving.Status
}

// at returns the address to serve at. The server sends from it.
func (d *DHCP) at() netip.AddrPort {
	return netip.AddrPortFrom(d.Source.Current().Network.DHCP.ServerID, dhcpPort)
}

// Run serves until ctx ends.
func (d *DHCP) Run(ctx context.Context) error {
	admissible := func() error {
		n := d.Source.Current().Network
		if err := d.Interface.Reaches(n, d.Needs...); err != nil {
			return err
		}
		return d.Interface.Admissible(d.at().Addr())
	}
	triggers := serving.Triggers{Interface: d.Interface.Changed, Plan: d.Source.Changed}
	return serving.While(ctx, &d.Status, d.Log, triggers, admissible, func(ctx context.Context, ready func()) error {
		ctx, stop, here := serving.UntilMoved(ctx, d.Source, d.at)
		defer stop()
		sockets, err := listenDHCP(ctx, d.Interface.Name, here.Addr())
		if err != nil {
			return err
		}
		ready()
		d.Log.Info("serving", "address", here.Addr(), "interface", d.Interface.Name)
		return d.Serve(ctx, sockets)
	})
}

// listenDHCP opens the sockets of a DHCP server on device, which has the service VIP.
func listenDHCP(ctx context.Context, device string, serviceVIP netip.Addr) (udp.Sockets, error) {
	at := []netip.AddrPort{netip.AddrPortFrom(serviceVIP, dhcpPort)}
	for range broadcastSockets {
		at = append(at, netip.AddrPortFrom(netip.IPv4Unspecified(), dhcpPort))
	}
	conns, err := socket.ListenPackets(ctx, device, at...)
	if err != nil {
		return udp.Sockets{}, err
	}
	for _, c := range conns {
		_ = c.SetReadBuffer(receiveBuffer)
	}
	sockets, err := udp.New(conns[0], conns[1:]...)
	if err != nil {
		sockets.Close()
	}
	return sockets, err
}
