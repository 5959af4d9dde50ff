// This file limits spending in a window of time: for each key, such as a MAC, and for all keys together.

package recent

import (
	"hash/maphash"
	"time"
)

const (
	// linesPerSecond limits the lines about all keys together. About each key, one line is logged per second.
	linesPerSecond = 50
	// counters is the number of counters in each period of a budget. Each counter takes one byte.
	counters = 1 << 16
)

// A Budget limits how much each key spends in any window of time. It counts two periods, each as long as the
// window. Two keys with the same counter share its limit for at most two periods. In the zero Budget, nothing
// is spent.
type Budget struct{ periods[spent] }

// spent holds what was spent in one period.
type spent struct {
	seed maphash.Seed
	by   [counters]uint8
}

func newSpent() spent { return spent{seed: maphash.MakeSeed()} }

func (s *spent) of(key string) *uint8 { return &s.by[maphash.String(s.seed, key)%counters] }

// Spend records that key spends cost, and returns true. If key would spend more than limit in the window, it
// records nothing, and returns false.
func (b *Budget) Spend(key string, cost, limit uint8, window time.Duration, now time.Time) bool {
	b.turn(now, window, newSpent)
	n := b.current.of(key)
	if int(*n)+int(*b.former.of(key))+int(cost) > int(limit) {
		return false
	}
	*n += cost
	return true
}

// An Allowance limits spending for all keys together, in any window of time.
type Allowance struct{ periods[int] }

// Spend records one use, and returns true. If there were limit uses in the window, it records nothing, and
// returns false.
func (a *Allowance) Spend(limit int, window time.Duration, now time.Time) bool {
	a.turn(now, window, func() int { return 0 })
	if a.current+a.former >= limit {
		return false
	}
	a.current++
	return true
}

// Lines limits how many lines are logged in a second.
type Lines struct {
	budget  Budget
	second  time.Time
	logged  int
	leftOut int
}

// Permit reports whether a line about a key may be logged now. At the first call in a second, it also returns how
// many lines were left out since the previous second began.
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
