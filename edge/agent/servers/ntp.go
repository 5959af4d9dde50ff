// This file runs the NTP server of an edge while its address is admissible. While the
// clock is not synchronized, the server replies that it has no time.

package servers

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/cldmnky/oooi/edge/agent/serving"
	"github.com/cldmnky/oooi/edge/inforce"
	"github.com/cldmnky/oooi/edge/socket"
	"github.com/cldmnky/oooi/ntp"
)

const ntpPort = 123

// An NTP runs the NTP server of one edge.
type NTP struct {
	Interface serving.Interface
	Source    *inforce.Source
	Server    *ntp.Server
	Log       *slog.Logger
	// Listen is the address to serve at. Zero: the service VIP, port 123.
	Listen netip.AddrPort
	// Status is kept by Run: whether the server serves.
	Status serving.Status
}

// Run serves until ctx ends.
func (s *NTP) Run(ctx context.Context) error {
	serving.AtEach(ctx, serving.Triggers{Plan: s.Source.Changed}, func() { s.Server.Serve(s.Source.Current().Network) })
	triggers := serving.Triggers{Interface: s.Interface.Changed, Plan: s.Source.Changed}
	return serving.While(ctx, &s.Status, s.Log, triggers, s.admissible, s.serve)
}

func (s *NTP) at() netip.AddrPort { return serving.ServiceAddress(s.Source, s.Listen, ntpPort) }

// admissible returns nil if NTP may be served.
func (s *NTP) admissible() error { return s.Interface.Admissible(s.at().Addr()) }

// serve answers at one address, until ctx ends or the plan changes the address.
func (s *NTP) serve(ctx context.Context, ready func()) error {
	ctx, stop, here := serving.UntilMoved(ctx, s.Source, s.at)
	defer stop()
	c, err := socket.ListenPacket(ctx, s.Interface.Name, here)
	if err != nil {
		return err
	}
	ready()
	s.Log.Info("serving", "address", here, "interface", s.Interface.Name)
	return s.Server.Run(ctx, c)
}
