// This file decides what a missing answer of a server means. It is a function of the
// answers and the time.

package agent

import (
	"time"

	"github.com/cldmnky/oooi/edge/health"
)

// silenceLimit is how long a server may be silent before that counts as a no. A busy
// server still serves, and a failover resets every long connection.
const silenceLimit = 3 * time.Second

// A Debounce is the last answer of one server. The zero value is a server that has never
// answered.
type Debounce struct {
	answered bool
	err      error
	// silent is when the first unanswered question was asked. Zero: the server answers.
	silent time.Time
}

// Next takes in the result of a question that was asked at asked. The error is why the
// server does not serve at now, nil if it does.
func (d Debounce) Next(err error, asked, now time.Time) (Debounce, error) {
	if !health.Unanswered(err) {
		return Debounce{answered: true, err: err}, err
	}
	if d.silent.IsZero() {
		d.silent = asked
	}
	if !d.answered || now.Sub(d.silent) >= silenceLimit {
		return d, err
	}
	return d, d.err
}

// counts returns when the present silence counts. Zero: the server answers.
func (d Debounce) counts() time.Time {
	if d.silent.IsZero() {
		return time.Time{}
	}
	return d.silent.Add(silenceLimit)
}
