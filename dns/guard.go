// This file keeps a panic in one question from ending the process for all.

package dns

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// panicsEvery is how often a panic is logged, at most. A client may know how to cause one.
const panicsEvery = time.Minute

// A guard counts and logs panics. It is safe for concurrent use.
type guard struct {
	panics prometheus.Counter
	log    *slog.Logger

	mu     sync.Mutex
	logged time.Time
}

// run reports whether do ended without a panic.
func (g *guard) run(do func()) (ok bool) {
	defer func() {
		if why := recover(); why != nil {
			g.note(why, debug.Stack())
		}
	}()
	do()
	return true
}

func (g *guard) note(why any, stack []byte) {
	g.panics.Inc()
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); g.logged.IsZero() || now.Sub(g.logged) >= panicsEvery {
		g.logged = now
		g.log.Error("panic while answering a query", "err", why, "stack", string(stack))
	}
}
