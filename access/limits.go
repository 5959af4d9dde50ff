// This file limits connections, so that no caller uses up what all callers share.

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
	maxWaiting       = 512
	maxWaitingCaller = 128
	// maxBalanced limits tunnels of load balancers, in addition to maxTunnels.
	maxBalanced = 2000
)

// waiting holds the connections without a complete request, by caller, the oldest first.
type waiting struct {
	by    map[netip.Addr][]*call
	count int
}

// add adds c, a connection without a complete request. If the caller of c already has mostCaller connections, add evicts c
// itself, so that other callers do not wait behind c. If the number of connections has reached parameter most, add evicts one:
// the oldest of the caller with the most connections. Of several callers with equally many, it evicts the oldest connection. If
// that connection came after young, add evicts it only for a caller with less than an equal part, and only from a caller with
// more. A caller that has its part loses c. If no caller has more than one connection, add evicts nothing, and returns false.
// Then c must wait, so that requests of many callers at once evict nothing.
func (w *waiting) add(c *call, most, mostCaller int, young time.Time) (evicted *call, ok bool) {
	if w.by == nil {
		w.by = map[netip.Addr][]*call{}
	}
	at := c.from.Addr()
	if len(w.by[at]) >= mostCaller {
		return c, true
	}
	if w.count >= most {
		var of []*call
		for _, all := range w.by {
			if len(all) > len(of) || len(all) == len(of) && all[0].since.Before(of[0].since) {
				of = all
			}
		}
		evicted = of[0]
		part := max(1, most/(len(w.by)+1))
		switch mine := len(w.by[at]); {
		case !evicted.since.After(young), mine < part && len(of) > part:
		case mine >= part:
			return c, true
		default:
			return nil, false
		}
		w.remove(evicted)
	}
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

// shares counts tunnels by source, also while their destination is dialed. A source may be a node that hides
// many clients, so a fixed number for each would be too small.
type shares struct {
	count int
	of    map[netip.Addr]map[*tunnel]struct{}
}

// add counts t, or refuses it. A source may have as many tunnels as are still free. So one source alone gets half of all, and two
// sources get a third each. A source with less than that always gets a tunnel. If none is free, the source with the most tunnels
// loses the one that has been silent longest.
func (s *shares) add(t *tunnel, most int) (evicted *tunnel, refused *Refusal) {
	source := t.Caller.Addr()
	mine, sources := len(s.of[source]), len(s.of)
	if mine == 0 {
		sources++
	}
	room := most - s.count
	switch poor := mine < most/(sources+1); {
	case !poor && mine >= room:
		return nil, &Refusal{http.StatusServiceUnavailable, ShareLimit, ""}
	case room <= 0:
		evicted = s.silent()
		s.remove(evicted)
	}
	if s.of == nil {
		s.of = map[netip.Addr]map[*tunnel]struct{}{}
	}
	if mine == 0 {
		s.of[source] = map[*tunnel]struct{}{}
	}
	s.of[source][t] = struct{}{}
	s.count++
	return evicted, nil
}

// silent returns the tunnel that has been silent longest, of the source with the most tunnels.
func (s *shares) silent() *tunnel {
	var all map[*tunnel]struct{}
	for _, of := range s.of {
		if len(of) > len(all) {
			all = of
		}
	}
	var out *tunnel
	var since time.Time
	for t := range all {
		if at := t.silentSince(); out == nil || at.Before(since) {
			out, since = t, at
		}
	}
	return out
}

// remove removes t if t is counted.
func (s *shares) remove(t *tunnel) {
	source := t.Caller.Addr()
	if _, ok := s.of[source][t]; !ok {
		return
	}
	s.count--
	if delete(s.of[source], t); len(s.of[source]) == 0 {
		delete(s.of, source)
	}
}
