// This file decides which upstream servers are asked, from the health of each. It is pure.

package dns

import (
	"slices"

	"github.com/cldmnky/oooi/dns/shares"
)

const (
	// missesUntilDown is how many probes in a row without an answer show that a server is dead. Other questions do not count:
	// a VM can ask for names whose own servers do not answer.
	missesUntilDown = 2
	// sampled is how many clients' last questions are part of a probe.
	sampled = 6
)

// A health is the known state of one server.
type health struct {
	// misses counts probes in a row without an answer.
	misses int
	// lost reports that the edge has no route to the server.
	lost bool
}

// after returns the health after a probe, or any answer.
func (h health) after(answered bool) health {
	if answered {
		return health{lost: h.lost}
	}
	return health{misses: min(h.misses+1, missesUntilDown), lost: h.lost}
}

// down reports that the server must not be asked.
func (h health) down() bool { return h.lost || h.misses >= missesUntilDown }

// suspected reports whether the server must be probed.
func (h health) suspected() bool { return !h.lost && h.misses > 0 }

// order returns the servers to ask in order, without those that are down, starting with the preferred one. Empty: all are
// down.
func order(all []health, preferred int) []int {
	var out []int
	for i := range all {
		if at := (preferred + i) % len(all); !all[at].down() {
			out = append(out, at)
		}
	}
	return out
}

// attempt returns the server to ask at the n-th attempt, each in turn. There are at least leastAttempts attempts,
// since packets may be lost. False: there are no more attempts.
func attempt(in []int, n int) (server int, ok bool) {
	if len(in) == 0 || n >= max(len(in), leastAttempts) {
		return 0, false
	}
	return in[n%len(in)], true
}

// allDown reports whether all servers are down.
func allDown(all []health) bool {
	return !slices.ContainsFunc(all, func(h health) bool { return !h.down() })
}

// A sample has the last questions of a few clients, for probes: a resolver may answer these, but drop a question for the
// root's servers. No client fills a sample alone.
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

// questions returns the questions of all clients, in no order.
func (s sample) questions() []question { return s.shares.OldestOfEach() }
