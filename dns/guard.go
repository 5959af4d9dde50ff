// This file keeps a panic in one question from ending the whole process.

package dns

import (
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/cldmnky/oooi/network/metrics"
)

// panicsEvery is the least time between two log lines about panics, which a client may cause.
const panicsEvery = time.Minute

// A guard counts and logs panics. It is safe for concurrent use.
type guard struct {
	panics prometheus.Counter
	log    *slog.Logger
	often  rate.Sometimes
}

func newGuard(m *Metrics, log *slog.Logger) *guard {
	return &guard{panics: m.Counter(metrics.DNSPanics).WithLabelValues(), log: log, often: rate.Sometimes{Interval: panicsEvery}}
}

// run reports whether function do ended without a panic.
func (g *guard) run(do func()) (ok bool) {
	defer func() {
		if why := recover(); why != nil {
			g.panics.Inc()
			g.often.Do(func() { g.log.Error("panic while answering a query", "err", why, "stack", string(debug.Stack())) })
		}
	}()
	do()
	return true
}
