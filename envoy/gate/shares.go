// This file decides whether a new connection keeps to the limits of its source and of all. It is pure: counts and the
// time come from its caller.

package gate

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/cldmnky/oooi/envoy/resources"
)

const (
	// countEvery is how often the kernel's connections are counted, at most. A count of 20,000 takes some 20 ms.
	countEvery = 100 * time.Millisecond
	// recountEvery is how old a count may be when Envoy asks. It has connections, too, that it has not asked about yet.
	recountEvery = 500 * time.Millisecond
	// watchedFor is how long every connection is asked about, at least.
	watchedFor = 10 * time.Second
)

// An arrival is one of a client to a listener. No two that are open are equal.
type arrival struct{ Listener, Client netip.AddrPort }

// A holder is a source at one kind of ports, where it has a share: at those of the API server, or at all others. What it
// has at one does not count at the other.
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

// A verdict is why a connection is closed. Empty: it is carried.
type verdict string

const (
	admitted verdict = ""
	// overShare: its source has its share at such ports. See resources.Limits.Share.
	overShare verdict = "share"
	// overAll: all ports but those of the API server have resources.Limits.Others together. Envoy itself keeps to that, but
	// in a pod it does not know how many files it may open.
	overAll verdict = "connections"
)

// shares are the connections that are open: those of the last count, and what was admitted since. So the kernel is
// asked only when a limit may be reached. While no source has half of its share, questions are a sample.
type shares struct {
	limits resources.Limits
	// apart: some ports are for the API server alone.
	apart bool
	// watched is whether Envoy asks about every connection, and since is the time from which it does.
	watched bool
	since   time.Time
	// of each source, and of all ports but the API server's.
	of     map[holder]uint32
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
	return s.limits.Sample()
}

// share is that of each holder.
func (s *shares) share() uint32 { return s.limits.Share(s.apart) }

// admit decides about c, a connection of h. Count is whether to call reset, count and settle first, and then admit
// again: the limits may no longer be reached.
func (s *shares) admit(c arrival, h holder, now time.Time) (why verdict, count bool) {
	age, fresh := now.Sub(s.counted), recountEvery
	if s.counted.Sub(s.since) < countEvery || len(s.of) > resources.MaxConnections {
		fresh = countEvery // Envoy did not ask about all that it has accepted since, or invents sources.
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
			s.add(h, -1) // It ends now.
		}
		return why, why != admitted && age >= countEvery
	}
	near := s.near(h)
	if near && age < countEvery {
		s.watched, s.since = true, now
	}
	return admitted, near && age >= countEvery
}

// near reports whether h has half of its share, or all ports but the API server's have half of theirs.
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

// reset replaces the count with one that begins now: count each connection after it, and then settle.
func (s *shares) reset(now time.Time) {
	s.of, s.asking, s.others, s.counted = map[holder]uint32{}, map[arrival]struct{}{}, 0, now
}

// forget forgets all connections: the next admit asks for a count.
func (s *shares) forget() {
	s.reset(time.Time{})
	s.watched = false
}

func (s *shares) count(c arrival, h holder) {
	s.add(h, 1)
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

// full returns those that have enough.
func (s *shares) full() map[holder]struct{} {
	out := map[holder]struct{}{}
	for h, n := range s.of {
		if n >= resources.Enough(s.share()) {
			out[h] = struct{}{}
		}
	}
	return out
}
