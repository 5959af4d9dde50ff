// This file decides which upstream servers are asked, from what is known of each. It is pure.

package dns

import "slices"

// missesUntilDown are the probes without an answer after which a server is known to be dead. Only probes count: a
// name whose own servers do not answer says nothing about the resolver, and a VM can ask for such names.
const missesUntilDown = 2

// A health is what the probes of one server showed.
type health struct{ misses int }

// after returns the health after a probe or a question. Any answer proves that the server lives.
func (h health) after(answered bool) health {
	if answered {
		return health{}
	}
	return health{misses: min(h.misses+1, missesUntilDown)}
}

func (h health) down() bool { return h.misses >= missesUntilDown }

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
