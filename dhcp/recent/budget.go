// This file limits what is spent in a time: for each key, and for all keys together.

package recent

import (
	"hash/maphash"
	"time"
)

const (
	// linesPerSecond are logged about all keys together, and one about each key.
	linesPerSecond = 50
	// counters bounds the memory of a budget: two bytes each.
	counters = 1 << 16
)

// A Budget is a limit for each key, in any window of time: it counts what was spent in two periods, each as
// long as the window. Two keys that have one counter share its limit for at most two periods: their next
// counters differ. The zero value is full. It is not safe for concurrent use.
type Budget struct{ periods[spent] }

// spent is what was spent in one period.
type spent struct {
	seed maphash.Seed
	by   [counters]uint8
}

func newSpent() spent { return spent{seed: maphash.MakeSeed()} }

func (s *spent) of(key string) *uint8 { return &s.by[maphash.String(s.seed, key)%counters] }

// Spend takes cost from what is left for a key of a limit in any window. False: too little is left.
func (b *Budget) Spend(key string, cost, limit uint8, window time.Duration, now time.Time) bool {
	b.turn(now, window, newSpent)
	n := b.current.of(key)
	if int(*n)+int(*b.former.of(key))+int(cost) > int(limit) {
		return false
	}
	*n += cost
	return true
}

// An Allowance is a limit for all keys together, in any window of time. The zero value is full.
type Allowance struct{ periods[int] }

// Spend takes one from what is left of a limit in any window. False: nothing is left.
func (a *Allowance) Spend(limit int, window time.Duration, now time.Time) bool {
	a.turn(now, window, func() int { return 0 })
	if a.current+a.former >= limit {
		return false
	}
	a.current++
	return true
}

// Lines counts what is logged in a second.
type Lines struct {
	budget  Budget
	second  time.Time
	logged  int
	leftOut int
}

// Permit reports whether a line about a key is logged now, and how many were left out in the second
// before.
func (l *Lines) Permit(key string, now time.Time) (_ bool, leftOut int) {
	if since := now.Sub(l.second); since < 0 || since >= time.Second {
		leftOut = l.leftOut
		l.second, l.logged, l.leftOut = now, 0, 0
	}
	if l.logged >= linesPerSecond || !l.budget.Spend(key, 1, 1, time.Second, now) {
		l.leftOut++
		return false, leftOut
	}
	l.logged++
	return true, leftOut
}
