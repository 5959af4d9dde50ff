// This file writes one log line for each tunnel that has ended, and for each refused caller. Any host may call a load balancer,
// so the lines about its callers have their own limits. No line contains a request header.

package connlog

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/network"
)

// A TunnelLog logs tunnels and refused callers of the access proxy.
type TunnelLog struct {
	log                                            *slog.Logger
	ended, refused, balancedEnded, balancedRefused lineLimit
}

// NewTunnelLog returns a TunnelLog that writes to log.
func NewTunnelLog(log *slog.Logger) *TunnelLog {
	return &TunnelLog{
		log: log, ended: lineLimit{log: log, what: "tunnels"}, refused: lineLimit{log: log, what: "refused callers"},
		balancedEnded: lineLimit{log: log, what: "tunnels of load balancers"}, balancedRefused: lineLimit{log: log, what: "refused callers of load balancers"},
	}
}

// Ended logs a tunnel, if the limit permits it.
func (l *TunnelLog) Ended(t access.Tunnel) {
	limit := &l.ended
	if t.Target.Name == network.AccessLoadBalancers {
		limit = &l.balancedEnded
	}
	if !limit.take(t.Caller.Addr(), allLines, time.Now()) {
		return
	}
	l.log.Info("tunnel ended", append(callerOf(t.Caller, t.Account, t.Asked, t.Listen),
		"destination", t.Target.Name, "destinationPort", t.Target.Port, "dialed", t.Dialed,
		"sent", t.Sent, "received", t.Received, "seconds", t.Took.Seconds(), "end", t.End)...)
}

// Refused logs a caller that got no tunnel, if the limit permits it. A caller that has sent no request is a probe, and is not
// logged.
func (l *TunnelLog) Refused(r access.Refused) {
	limit := &l.refused
	if r.LoadBalancer {
		limit = &l.balancedRefused
	}
	if r.Refusal.Why == access.Abandoned || !limit.take(r.Caller.Addr(), failureLines, time.Now()) {
		return
	}
	l.log.Warn("caller refused", append(callerOf(r.Caller, r.Account, r.Asked, r.Listen), "status", r.Refusal.Status, "why", r.Refusal.Error())...)
}

// callerOf returns log keys and values about the caller and its request.
func callerOf(caller netip.AddrPort, account, asked string, listen uint16) []any {
	out := []any{"caller", caller}
	if account != "" {
		out = append(out, "account", account)
	}
	if asked != "" {
		out = append(out, "asked", asked)
	}
	if listen != 0 {
		out = append(out, "port", listen)
	}
	return out
}

// Run logs how many lines were left out in each period, until ctx ends.
func (l *TunnelLog) Run(ctx context.Context) error {
	return run(ctx, &l.ended, &l.refused, &l.balancedEnded, &l.balancedRefused)
}
