// This file limits the answers to each client. The result depends only on questions, time and
// chance.

package ntp

import (
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"time"
)

const (
	// limit is how many questions of one client are answered in a window. A client that starts
	// asks eight times in 16 s, and some clients ask 16 times in a second.
	limit = 32
	// window is the period in which questions are counted.
	window = time.Second
	// Above the limit, one in leak questions is answered, at random: a VM can forge sources, and so
	// use up another VM's limit.
	leak = 4
	// counters is the number of counters of a Limiter. Each counter takes one byte.
	counters = 1 << 16
)

// A Limiter counts the questions of clients. It is not safe for concurrent use. Clients with
// the same counter share its limit for at most a window: each window hashes clients
// differently.
type Limiter struct {
	began time.Time
	seed  maphash.Seed
	asked [counters]uint8
}

// NewLimiter returns a Limiter that has seen no client.
func NewLimiter() *Limiter { return &Limiter{seed: maphash.MakeSeed()} }

// Permits counts one question of client at now, and reports whether it is answered.
func (l *Limiter) Permits(client netip.Addr, now time.Time) bool {
	if since := now.Sub(l.began); since < 0 || since >= window {
		l.began, l.seed = now, maphash.MakeSeed()
		clear(l.asked[:])
	}
	address := client.As16()
	n := &l.asked[maphash.Bytes(l.seed, address[:])%counters]
	if *n < limit {
		*n++
		return true
	}
	return rand.N(leak) == 0
}
