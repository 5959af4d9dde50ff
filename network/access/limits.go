// This file counts connections, so that one caller cannot use up what all share. It does no I/O.

package access

import (
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// The limits of an edge.
const (
	maxTunnels       = 1000
	maxTunnelsCaller = 64
	maxWaiting       = 512
	// maxBalanced is for tunnels of load balancers, in addition to maxTunnels.
	maxBalanced = 2000
)

// waiting are the callers that have sent no complete request, each caller's oldest first.
type waiting struct {
	by    map[netip.Addr][]*call
	count int
}

// add adds c. If there are most already, it evicts the oldest connection of the caller that has most of them. Of two such callers
// it is the one whose connection is older. Not ok: that one came after young, so c must wait. A burst of requests evicts none.
func (w *waiting) add(c *call, most int, young time.Time) (evicted *call, ok bool) {
	if w.by == nil {
		w.by = map[netip.Addr][]*call{}
	}
	if w.count >= most {
		var of []*call
		for _, all := range w.by {
			if len(all) > len(of) || len(all) == len(of) && all[0].since.Before(of[0].since) {
				of = all
			}
		}
		if evicted = of[0]; evicted.since.After(young) {
			return nil, false
		}
		w.remove(evicted)
	}
	at := c.from.Addr()
	w.by[at] = append(w.by[at], c)
	w.count++
	return evicted, true
}

// remove removes c if it waits.
func (w *waiting) remove(c *call) {
	at := c.from.Addr()
	i := slices.Index(w.by[at], c)
	if i < 0 {
		return
	}
	w.count--
	if w.by[at] = slices.Delete(w.by[at], i, i+1); len(w.by[at]) == 0 {
		delete(w.by, at)
	}
}

// carried counts tunnels, also those whose destination is being dialed.
type carried struct {
	count int
	of    map[netip.Addr]int
}

// reserve counts one more tunnel of a caller, or refuses it.
func (t *carried) reserve(caller netip.Addr, most, mostCaller int) *Refusal {
	switch {
	case t.of[caller] >= mostCaller:
		return &Refusal{http.StatusServiceUnavailable, CallerLimit, ""}
	case t.count >= most:
		return &Refusal{http.StatusServiceUnavailable, EdgeLimit, ""}
	}
	if t.of == nil {
		t.of = map[netip.Addr]int{}
	}
	t.count++
	t.of[caller]++
	return nil
}

// share counts one more tunnel of a source, or refuses it: a source may have as many as there is room left, of most. So one source
// alone gets half of all, two get a third each, and a further one always finds room. Sources may be nodes that hide many clients, so a
// fixed number would be too small for these.
func (t *carried) share(source netip.Addr, most int) *Refusal {
	if t.of[source] >= most-t.count {
		return &Refusal{0, ShareLimit, ""}
	}
	return t.reserve(source, most, most)
}

func (t *carried) release(caller netip.Addr) {
	t.count--
	if t.of[caller]--; t.of[caller] == 0 {
		delete(t.of, caller)
	}
}
