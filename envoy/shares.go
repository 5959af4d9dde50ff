// This file decides whether a new connection keeps to the limits of its source and of all. It is pure: counts and the
// time come from its caller.

package envoy

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

const (
	// countEvery is how often the kernel's connections are counted, at most. A count of 20,000 takes some 20 ms.
	countEvery = 100 * time.Millisecond
	// recountEvery is how old a count may be when Envoy asks. It has connections, too, that it has not asked about yet.
	recountEvery = 500 * time.Millisecond
	// watchedFor is how long every connection is asked about, at least.
	watchedFor = 10 * time.Second
	// unasked is how many connections of a source open between two questions, on average, while every source has
	// far less than its share.
	unasked = 40
)

// sample is the percentage of connections that Envoy asks about while sources are far from their share.
func (l Limits) sample() uint32 { return max(1, 100/max(1, l.PerSource/unasked)) }

// An arrival is one of a client to a listener. No two that are open are equal.
type arrival struct{ Listener, Client netip.AddrPort }

// A verdict is why a connection is closed. Empty: it is carried.
type verdict string

const (
	admitted verdict = ""
	// overShare: its source has Limits.PerSource.
	overShare verdict = "share"
	// overAll: all ports but those of the API server have Limits.Others together. Envoy itself keeps to that, but
	// in a pod it does not know how many files it may open.
	overAll verdict = "connections"
)

// shares are the connections that are open: those of the last count, and what was admitted since. So the kernel is
// asked only when a limit may be reached. While no source has half of its share, questions are a sample.
type shares struct {
	limits Limits
	// watched is whether every connection is asked about, since then.
	watched bool
	since   time.Time
	// of each source, and of all ports but the API server's.
	of     map[string]uint32
	others uint32
	// asking are in the count, and their admission was not decided when they were counted.
	asking map[arrival]struct{}
	// counted is when. Zero: never.
	counted time.Time
}

// percent is the percentage of connections that Envoy is to ask about.
func (s *shares) percent() uint32 {
	if s.watched {
		return 100
	}
	return s.limits.sample()
}

// admit decides about c, of a source, to a port of the API server or to another one. Count is whether to call
// reset, count and settle first, and then admit again: the limits may not be reached any more.
func (s *shares) admit(c arrival, source string, api bool, now time.Time) (why verdict, count bool) {
	age, fresh := now.Sub(s.counted), recountEvery
	if s.counted.Sub(s.since) < countEvery || len(s.of) > maxConnections {
		fresh = countEvery // Envoy did not ask about all that it has accepted since, or invents sources.
	}
	if s.counted.IsZero() || age >= fresh {
		return admitted, true
	}
	if _, has := s.asking[c]; has {
		delete(s.asking, c)
	} else {
		s.add(source, api, int(100/s.percent()))
	}
	if s.percent() == 100 {
		if why = s.over(source, api); why != admitted {
			s.add(source, api, -1) // It ends now.
		}
		return why, why != admitted && age >= countEvery
	}
	near := s.near(source)
	if near && age < countEvery {
		s.watched, s.since = true, now
	}
	return admitted, near && age >= countEvery
}

// near reports whether source has half of its share, or all ports but the API server's have half of theirs.
func (s *shares) near(source string) bool {
	return s.of[source] > s.limits.PerSource/2 || s.others > s.limits.Others()/2
}

func (s *shares) over(source string, api bool) verdict {
	switch {
	case s.of[source] > s.limits.PerSource:
		return overShare
	case !api && s.others > s.limits.Others():
		return overAll
	}
	return admitted
}

func (s *shares) add(source string, api bool, n int) {
	if !api {
		s.others = uint32(max(0, int(s.others)+n))
	}
	if s.of[source] = uint32(max(0, int(s.of[source])+n)); s.of[source] == 0 {
		delete(s.of, source)
	}
}

// reset replaces the count with one that begins now: count each connection after it, and then settle.
func (s *shares) reset(now time.Time) {
	s.of, s.asking, s.others, s.counted = map[string]uint32{}, map[arrival]struct{}{}, 0, now
}

// forget forgets all connections: the next admit asks for a count.
func (s *shares) forget() {
	s.reset(time.Time{})
	s.watched = false
}

func (s *shares) count(c arrival, source string, api bool) {
	s.add(source, api, 1)
	s.asking[c] = struct{}{}
}

// settle ends a count: Envoy asks about every connection from now on, or no longer.
func (s *shares) settle(now time.Time) {
	switch near := slices.ContainsFunc(slices.Collect(maps.Keys(s.of)), s.near); {
	case near && !s.watched:
		s.watched, s.since = true, now
	case !near && now.Sub(s.since) >= watchedFor:
		s.watched = false
	}
}

// full returns the sources that have enough.
func (s *shares) full() map[string]struct{} {
	out := map[string]struct{}{}
	for source, n := range s.of {
		if n >= s.limits.enough() {
			out[source] = struct{}{}
		}
	}
	return out
}
