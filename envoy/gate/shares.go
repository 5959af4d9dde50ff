// This file decides whether a new connection is within the limits of its source and of all sources. It is pure.

package gate

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/envoy/resources"
)

const (
	// countEvery is the least time between two counts of the kernel's connections. Counting 20,000 takes some 20 ms.
	countEvery = 100 * time.Millisecond
	// recountEvery is how old a count may be when Envoy asks. Envoy also has connections that it has not asked about yet.
	recountEvery = 500 * time.Millisecond
	// watchedFor is for how long, at least, Envoy asks about every connection.
	watchedFor = 10 * time.Second
)

// An arrival is a connection of a client to a listener. No two open connections are equal.
type arrival struct{ Listener, Client netip.AddrPort }

// A holder is a source at one kind of ports: the ports of the API server, or all others. Each kind has a share of its own.
type holder struct {
	source string
	api    bool
}

// portName names a kind of ports in metrics and logs.
func portName(api bool) string {
	if api {
		return "api"
	}
	return "other"
}

// A verdict is why a connection is closed. Empty: Envoy carries it.
type verdict string

const (
	admitted verdict = ""
	// overShare: the source has used up its share of these ports. See resources.Limits.Share.
	overShare verdict = "share"
	// overAll: all ports except the API server's have reached resources.Limits.Others together. Envoy enforces this limit,
	// too, but in a pod it does not know how many files it may open.
	overAll verdict = "connections"
)

// shares counts the open connections: those of the last count, and those admitted since. So the kernel's connections are
// counted only when a limit may be reached.
type shares struct {
	limits resources.Limits
	// apart: some ports are for the API server alone, so each source has two shares.
	apart bool
	// watched is whether Envoy asks about every connection, and since is when that started.
	watched bool
	since   time.Time
	// Field of has the number of connections of each holder. Field others is the number of connections to all ports except
	// the API server's.
	of     map[holder]uint32
	others uint32
	// asking are the counted connections that Envoy has not asked about since.
	asking map[arrival]struct{}
	// counted is the time of the last count. Zero: never.
	counted time.Time
}

// percent returns the percentage of connections that Envoy must ask about.
func (s *shares) percent() uint32 {
	if s.watched {
		return 100
	}
	return s.limits.Sample()
}

// share returns how many connections each holder may have.
func (s *shares) share() uint32 { return s.limits.Share(s.apart) }

// admit decides about c, a connection of h. If result count is true, the caller calls methods reset, count and settle, and
// then admit again: the limits may no longer be reached.
func (s *shares) admit(c arrival, h holder, now time.Time) (why verdict, count bool) {
	age, fresh := now.Sub(s.counted), recountEvery
	if s.counted.Sub(s.since) < countEvery || len(s.of) > resources.MaxConnections {
		fresh = countEvery // Envoy has not asked about all connections that it accepted since, or a compromised Envoy invents sources.
	}
	if s.counted.IsZero() || age >= fresh {
		return admitted, true
	}
	if _, has := s.asking[c]; has {
		delete(s.asking, c)
	} else {
		s.add(h, int(100/s.percent()))
	}
	if s.percent() == 100 {
		if why = s.over(h); why != admitted {
			s.add(h, -1) // Envoy closes the connection now.
		}
		return why, why != admitted && age >= countEvery
	}
	near := s.near(h)
	if near && age < countEvery {
		s.watched, s.since = true, now
	}
	return admitted, near && age >= countEvery
}

// near reports whether h has more than half of its share. It also returns true if all ports except the API server's
// together have more than half of Limits.Others.
func (s *shares) near(h holder) bool {
	return s.of[h] > s.share()/2 || s.others > s.limits.Others()/2
}

func (s *shares) over(h holder) verdict {
	switch {
	case s.of[h] > s.share():
		return overShare
	case !h.api && s.others > s.limits.Others():
		return overAll
	}
	return admitted
}

func (s *shares) add(h holder, n int) {
	if !h.api {
		s.others = uint32(max(0, int(s.others)+n))
	}
	if s.of[h] = uint32(max(0, int(s.of[h])+n)); s.of[h] == 0 {
		delete(s.of, h)
	}
}

// reset begins a new count. The caller then calls count for each connection, and settle at the end.
func (s *shares) reset(now time.Time) {
	s.of, s.asking, s.others, s.counted = map[holder]uint32{}, map[arrival]struct{}{}, 0, now
}

// forget forgets all connections, so that the next admit requests a count.
func (s *shares) forget() {
	s.reset(time.Time{})
	s.watched = false
}

func (s *shares) count(c arrival, h holder) {
	s.add(h, 1)
	s.asking[c] = struct{}{}
}

// settle ends a count, and decides whether Envoy asks about every connection from now on.
func (s *shares) settle(now time.Time) {
	switch near := slices.ContainsFunc(slices.Collect(maps.Keys(s.of)), s.near); {
	case near && !s.watched:
		s.watched, s.since = true, now
	case !near && now.Sub(s.since) >= watchedFor:
		s.watched = false
	}
}

// full returns the holders that are full (resources.Enough).
func (s *shares) full() map[holder]struct{} {
	out := map[holder]struct{}{}
	for h, n := range s.of {
		if n >= resources.Enough(s.share()) {
			out[h] = struct{}{}
		}
	}
	return out
}
