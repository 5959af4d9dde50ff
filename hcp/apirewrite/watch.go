// This file renames the events of a watch while they are read.

package apirewrite

import "fmt"

// event renames the events that are complete, and what is between them. It waits only if there is nothing to be read.
func (r *Reader) event() error {
	for len(r.out) < piece {
		if r.scanned == 0 {
			r.pass(space(r.in, 0))
			if len(r.in) > 0 && r.in[0] != '{' {
				if r.written > 0 {
					return fmt.Errorf("event %d: %w", r.written, errSyntax)
				}
				r.step = r.passing
				return nil
			}
		}
		done := r.complete()
		switch {
		case r.scanned > r.largest:
			return fmt.Errorf("event %d has more than %d bytes: %w", r.written, r.largest, ErrTooLarge)
		case done:
			if err := r.inTurn(r.scanned, func() error { return r.oneEvent(r.in[:r.scanned]) }); err != nil {
				return fmt.Errorf("event %d: %w", r.written, err)
			}
			continue
		case len(r.out) > 0:
			return nil
		}
		if r.scanned == 0 && len(r.buffer) > piece {
			// A watch may wait for hours after a large event.
			r.buffer, r.in, r.out, r.given, r.d = make([]byte, firstPiece), nil, nil, 0, doc{r: r.d.r, direction: ToClient}
		}
		if err := r.more(); err != nil {
			if r.scanned > 0 {
				return cut(err)
			}
			return err
		}
	}
	return nil
}

// oneEvent writes an event, unless it is of a hidden object.
func (r *Reader) oneEvent(text []byte) error {
	end := space(r.in, len(text))
	if !r.hides(text) {
		if err := r.rename(text, r.specialOfEvent); err != nil {
			return err
		}
		r.out = append(r.out, r.in[len(text):end]...)
		r.written++
	}
	r.take(end)
	r.item, r.scanned, r.parsed = scanner{}, 0, false
	return nil
}

func (r *Reader) specialOfEvent() {
	if o := r.d.member(0, "object"); o != 0 {
		r.d.special(o, r.target.kind())
	}
}
