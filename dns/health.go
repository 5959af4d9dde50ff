// This file decides which upstream servers are asked, from what is known of each. It is pure.

package dns

import (
	"slices"

	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// missesUntilDown are the probes without an answer after which a server is known to be dead. Only probes count: a
	// name whose own servers do not answer says nothing about the resolver, and a VM can ask for such names.
	missesUntilDown = 2
	// sampled are the clients whose last question is part of a probe.
	sampled = 6
)

// A health is what is known of one server.
type health struct {
	// misses are probes without an answer, one after the other.
	misses int
	// lost: the edge has no way to the server.
	lost bool
}

// after returns the health after a probe or a question. Any answer proves that the server lives.
func (h health) after(answered bool) health {
	if answered {
		return health{lost: h.lost}
	}
	return health{misses: min(h.misses+1, missesUntilDown), lost: h.lost}
}

// down reports whether the server is not asked.
func (h health) down() bool { return h.lost || h.misses >= missesUntilDown }

// suspected reports whether the server must be probed.
func (h health) suspected() bool { return !h.lost && h.misses > 0 }

// order returns the servers to ask, one after the other: those that are not known to be dead, from the preferred
// one on. Empty: no server lives.
func order(all []health, preferred int) []int {
	var out []int
	for i := range all {
		if at := (preferred + i) % len(all); !all[at].down() {
			out = append(out, at)
		}
	}
	return out
}

// attempt returns which server is asked at the n-th attempt. A server that is alone is asked again, since a packet may be
// lost. False: no more are asked.
func attempt(in []int, n int) (server int, ok bool) {
	if len(in) == 0 || n >= max(len(in), leastAttempts) {
		return 0, false
	}
	return in[n%len(in)], true
}

// allDown reports whether no server lives.
func allDown(all []health) bool {
	return !slices.ContainsFunc(all, func(h health) bool { return !h.down() })
}

// A sample has the last question of each of a few clients. It is for probes: a resolver may answer the questions of
// clients and drop the one for the root's servers. No client fills it alone.
type sample struct{ shares *shares.Shares[question] }

func newSample() sample { return sample{shares.New[question](sampled, false)} }

// add replaces the question of a client.
func (s sample) add(c shares.Client, q question) {
	if own := s.shares.Oldest(c); own != nil {
		own.Value = q
		return
	}
	s.shares.Take(c, 1, q)
}

// questions are those of all clients, in no order.
func (s sample) questions() []question { return s.shares.OldestOfEach() }
