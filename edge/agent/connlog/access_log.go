// Package connlog writes one log line for each connection through an edge. VMs and callers decide how many
// connections there are, so lines are limited. No VM or caller can fill the log, or use up the lines of all
// others. This file logs the connections that Envoy reports.
package connlog

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/envoy/accesslog"
	"github.com/cldmnky/oooi/network"
)

const (
	// lineWindow is the period of the limits: failureLines lines, or allLines with network.AccessLogAll. One source
	// gets at most a fifth of these lines.
	lineWindow   = 10 * time.Second
	failureLines = 100
	allLines     = 1000
	sourceShare  = 5
)

// A lineLimit limits the lines about one subject in a period, in total and by source.
type lineLimit struct {
	log  *slog.Logger
	what string

	mu     sync.Mutex
	began  time.Time
	logged int
	by     map[netip.Addr]int
	missed int
}

// take reports whether a line about source may be logged. Parameter most is how many lines the period may have.
func (l *lineLimit) take(source netip.Addr, most int, now time.Time) bool {
	l.turn(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logged >= most || l.by[source] >= most/sourceShare {
		l.missed++
		return false
	}
	l.logged++
	l.by[source]++
	return true
}

// turn begins a new period if the previous one is over, and logs how many lines were left out in that period.
func (l *lineLimit) turn(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.began); age >= 0 && age < lineWindow {
		return
	}
	if l.missed > 0 {
		l.log.Warn("lines were not logged: the limit of lines was reached", "what", l.what, "lines", l.missed)
	}
	l.began, l.logged, l.by, l.missed = now, 0, map[netip.Addr]int{}, 0
}

// run calls turn at the end of each period, until ctx ends.
func run(ctx context.Context, all ...*lineLimit) error {
	tick := time.NewTicker(lineWindow)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			for _, l := range all {
				l.turn(now)
			}
		}
	}
}

// An AccessLog logs connections. Create it with NewAccessLog.
type AccessLog struct {
	log   *slog.Logger
	level func() network.AccessLog
	// Connections counts connections by outcome. It is set before the first connection.
	Connections *prometheus.CounterVec
	limit       lineLimit
}

// NewAccessLog returns a log of connections at level.
func NewAccessLog(log *slog.Logger, level func() network.AccessLog) *AccessLog {
	return &AccessLog{log: log, level: level, limit: lineLimit{log: log, what: "connections"}}
}

// Ended logs c, if the limits permit it.
func (a *AccessLog) Ended(c accesslog.Connection) { a.ended(c, time.Now()) }

func (a *AccessLog) count(outcome string) { a.Connections.WithLabelValues(outcome).Inc() }

func (a *AccessLog) ended(c accesslog.Connection, now time.Time) {
	limit := failureLines
	switch a.level().Level() {
	case network.AccessLogNone:
		return // Envoy does not have the new level yet.
	case network.AccessLogFailures:
		if !c.Failed() {
			return
		}
	case network.AccessLogAll:
		limit = allLines
	}
	if !a.limit.take(c.Source.Addr(), limit, now) {
		a.count("dropped")
		return
	}
	a.count("logged")
	what := []any{
		"source", c.Source, "address", c.Address, "serverName", c.ServerName, "backend", c.Backend, "upstream", c.Upstream,
		"received", c.Received, "sent", c.Sent, "seconds", c.Duration.Seconds(), "flags", c.Flags,
	}
	if c.Detail != "" {
		what = append(what, "detail", c.Detail)
	}
	a.log.Info("connection ended", what...)
}

// Run logs how many lines were left out in each period, until ctx ends.
func (a *AccessLog) Run(ctx context.Context) error { return run(ctx, &a.limit) }
