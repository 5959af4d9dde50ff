// Package recent remembers for a time, in bounded memory, what a DHCP server heard, offered, wrote and spent. The
// results depend only on messages, time and chance. Nothing is safe for concurrent use.
package recent

import "time"

// periods hold what was recorded in the current period and in the one before. Together these cover at least one
// whole period.
type periods[T any] struct {
	current, former T
	began           time.Time // Of current
}

// turn begins a period at now if the current one is over, or if the clock was set back. empty returns the content
// of a new period.
func (p *periods[T]) turn(now time.Time, length time.Duration, empty func() T) {
	since := now.Sub(p.began)
	if since >= 0 && since < length {
		return
	}
	p.former = p.current
	if since < 0 || since >= 2*length {
		p.former = empty()
	}
	p.current, p.began = empty(), now
}
