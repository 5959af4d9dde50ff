// This file writes one log line for each tunnel that has ended, and for each refused caller. Any host may call a load balancer,
// so the lines about its callers have their own limits. No line contains a request header.

package connlog

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/network"
)

// A TunnelLog logs tunnels and refused callers of the access proxy.
type TunnelLog struct {
	log *slog.Logger

	mu                             sync.Mutex
	ended, refused                 namedLimit
	balancedEnded, balancedRefused namedLimit
}

// A namedLimit limits the lines about one subject.
type namedLimit struct {
	lineLimit
	what string
}

// NewTunnelLog returns a TunnelLog that writes to log.
func NewTunnelLog(log *slog.Logger) *TunnelLog {
	return &TunnelLog{
		log: log, ended: namedLimit{what: "tunnels"}, refused: namedLimit{what: "refused callers"},
		balancedEnded: namedLimit{what: "tunnels of load balancers"}, balancedRefused: namedLimit{what: "refused callers of load balancers"},
	}
}

func (l *TunnelLog) limits() []*namedLimit {
	return []*namedLimit{&l.ended, &l.refused, &l.balancedEnded, &l.balancedRefused}
}

// Ended logs a tunnel, if the limit permits it.
func (l *TunnelLog) Ended(t access.Tunnel) {
	limit := &l.ended
	if t.Target.Name == network.AccessLoadBalancers {
		limit = &l.balancedEnded
	}
	if !l.take(limit, allLines, t.Caller.Addr(), time.Now()) {
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
	if r.Refusal.Why == access.Abandoned || !l.take(limit, failureLines, r.Caller.Addr(), time.Now()) {
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

// take reports whether a line of source may be logged. It logs how many lines were left out in the previous period.
func (l *TunnelLog) take(limit *namedLimit, most int, source netip.Addr, now time.Time) bool {
	l.mu.Lock()
	missed := limit.turn(now)
	take := limit.take(source, most)
	l.mu.Unlock()
	l.tell(limit.what, missed)
	return take
}

// Run logs how many lines were left out in each period, until ctx ends.
func (l *TunnelLog) Run(ctx context.Context) error {
	return eachWindow(ctx, func(now time.Time) {
		for _, limit := range l.limits() {
			l.mu.Lock()
			missed := limit.turn(now)
			l.mu.Unlock()
			l.tell(limit.what, missed)
		}
	})
}

func (l *TunnelLog) tell(what string, missed int) {
	if missed > 0 {
		l.log.Warn("lines were not logged: the limit of lines was reached", "what", what, "lines", missed)
	}
}
