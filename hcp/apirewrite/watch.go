// This file renames the events of a watch while they are read.

package apirewrite

import (
	"errors"
	"fmt"
	"io"
)

// event is the step that renames events, and copies the whitespace between them. It ends when there is output and the next
// event is incomplete.
func (r *Reader) event() error {
	for len(r.out) < piece {
		if r.most > large && len(r.out) == 0 {
			r.restart(nil) // Free the memory of a large event: the next one may come after hours.
		}
		kind := r.decoder.PeekKind()
		if r.space(); kind != '{' && r.written == 0 && len(r.unread()) > 0 {
			return r.pass()
		}
		text, err := r.decoder.ReadValue()
		switch {
		case errors.Is(err, errPause):
			return nil
		case errors.Is(err, io.EOF):
			return io.EOF
		case err != nil:
			return fmt.Errorf("event %d: %w", r.written+1, r.failed(err))
		case len(text) > r.largest:
			return fmt.Errorf("event %d has more than %d bytes: %w", r.written+1, r.largest, ErrTooLarge)
		case kind != '{':
			return fmt.Errorf("event %d: %w", r.written+1, errSyntax)
		}
		if err := r.inTurn(len(text), func() { r.oneEvent(text) }); err != nil {
			return fmt.Errorf("event %d: %w", r.written+1, err)
		}
	}
	return nil
}

func (r *Reader) oneEvent(text []byte) {
	written := len(r.out)
	if r.hides(text) {
		r.space()
		r.out = r.out[:written]
		return
	}
	r.rename(text, func() {
		if o := r.d.member(0, "object"); o != 0 {
			r.d.special(o, r.target.kind())
		}
	})
	r.space()
	r.written++
}
