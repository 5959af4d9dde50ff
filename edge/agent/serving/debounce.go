// This file decides what a missing answer of a server means, from the answers and the time.

package serving

import (
	"time"

	"github.com/cldmnky/oooi/edge/health"
)

// SilenceLimit is how long a server may be silent before it counts as not serving. It is long,
// since a failover resets every long connection.
const SilenceLimit = 3 * time.Second

// A Debounce is the last answer of one server. The zero value has never answered.
type Debounce struct {
	answered bool
	err      error
	// Silent is when the first unanswered question was asked. Zero: the server answers.
	Silent time.Time
}

// Next records err, the result of the question that was sent at the time asked. It returns why
// the server does not serve at now.
func (d Debounce) Next(err error, asked, now time.Time) (Debounce, error) {
	if !health.Unanswered(err) {
		return Debounce{answered: true, err: err}, err
	}
	if d.Silent.IsZero() {
		d.Silent = asked
	}
	if !d.answered || now.Sub(d.Silent) >= SilenceLimit {
		return d, err
	}
	return d, d.err
}

// Counts returns when the present silence begins to count as not serving. Zero: the server answers.
func (d Debounce) Counts() time.Time {
	if d.Silent.IsZero() {
		return time.Time{}
	}
	return d.Silent.Add(SilenceLimit)
}
