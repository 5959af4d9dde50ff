// Package recent remembers for a time, in bounded memory, what a DHCP server heard, offered, wrote and spent. All of it
// depends on the messages and the time only. Nothing is safe for concurrent use.
package recent

import "time"

// periods hold what came in the present period, and in the one before. So what came in the last period's length
// is always there. The zero value has no period yet.
type periods[T any] struct {
	current, former T
	began           time.Time // Of current
}

// turn begins a period at now if the present one is over, or if the clock was set back. Empty makes what a
// period begins with.
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
