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

// A lineLimit counts the lines of one period, in total and by source. The zero value is a period that is over:
// call turn before take.
type lineLimit struct {
	began  time.Time
	logged int
	by     map[netip.Addr]int
	missed int
}

// take reports whether a line about source may be logged. limit is how many lines the period may have.
func (l *lineLimit) take(source netip.Addr, limit int) bool {
	if l.logged >= limit || l.by[source] >= limit/sourceShare {
		l.missed++
		return false
	}
	l.logged++
	l.by[source]++
	return true
}

// turn begins a new period if the previous one is over, and returns how many lines were left out in that period.
func (l *lineLimit) turn(now time.Time) (missed int) {
	if age := now.Sub(l.began); age >= 0 && age < lineWindow {
		return 0
	}
	missed = l.missed
	*l = lineLimit{began: now, by: map[netip.Addr]int{}}
	return missed
}

// eachWindow calls function do at the end of each period, until ctx ends.
func eachWindow(ctx context.Context, do func(now time.Time)) error {
	tick := time.NewTicker(lineWindow)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			do(now)
		}
	}
}

// An AccessLog logs connections. Create it with NewAccessLog.
type AccessLog struct {
	log   *slog.Logger
	level func() network.AccessLog
	// Connections counts connections by outcome. It is set before the first connection.
	Connections *prometheus.CounterVec

	mu    sync.Mutex
	limit lineLimit
}

// NewAccessLog returns a log of connections at level.
func NewAccessLog(log *slog.Logger, level func() network.AccessLog) *AccessLog {
	return &AccessLog{log: log, level: level}
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
	a.mu.Lock()
	missed := a.limit.turn(now)
	take := a.limit.take(c.Source.Addr(), limit)
	a.mu.Unlock()
	a.tell(missed)
	if !take {
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
func (a *AccessLog) Run(ctx context.Context) error {
	return eachWindow(ctx, func(now time.Time) {
		a.mu.Lock()
		missed := a.limit.turn(now)
		a.mu.Unlock()
		a.tell(missed)
	})
}

func (a *AccessLog) tell(missed int) {
	if missed > 0 {
		a.log.Warn("connections were not logged: the limit of lines was reached", "connections", missed)
	}
}
