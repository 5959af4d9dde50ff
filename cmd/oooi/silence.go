// This file decides what counts of a server that does not answer in time. It is a
// function of what was answered and the time; it asks nobody.

package main

import (
	"time"

	"github.com/cldmnky/oooi/edge"
)

// silenceLimit is how long a server must not answer until that is a no. It may be
// there and serve, and have no time: machines that are moved to the other edge
// lose every long connection.
const silenceLimit = 3 * time.Second

// A lastWord is what a server answered last. The zero value is that of one which
// has never answered.
type lastWord struct {
	answered bool
	err      error
	// silent is when the first question was asked that it has not answered since.
	// Zero: it answers.
	silent time.Time
}

// next takes in what came of a question, and is why the server does not serve at
// now, nil where it does.
func (w lastWord) next(err error, asked, now time.Time) (lastWord, error) {
	if !edge.Unanswered(err) {
		return lastWord{answered: true, err: err}, err
	}
	if w.silent.IsZero() {
		w.silent = asked
	}
	if !w.answered || now.Sub(w.silent) >= silenceLimit {
		return w, err
	}
	return w, w.err
}
