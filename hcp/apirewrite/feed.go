// This file feeds an answer of the API server to the decoder that finds where values end. It limits how much memory an
// answer holds while its reader waits, and how many items are parsed at the same time.

package apirewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits are functions that a Reader calls before it uses more memory. If a function is nil, there is no limit.
type Limits struct {
	// Hold is called with the number of bytes that the Reader holds between reads, whenever the number changes. If Hold
	// returns an error, the answer ends with it.
	Hold func(bytes int) error
	// Turn waits until a large item with this number of bytes may be parsed. A parsed item needs many times its size in
	// memory. The Reader calls done after parsing.
	Turn func(bytes int) (done func(), err error)
}

// Limit sets the limits. It must be called before the first Read or Prime.
func (r *Reader) Limit(l Limits) { r.limits = l }

// hold calls limits.Hold with the number of bytes that r holds now. It estimates the decoder's buffer, which may be twice
// as large as the largest value.
func (r *Reader) hold() error {
	held := len(r.buffer) + 2*r.most + cap(r.out) + cap(r.before) + cap(r.between) + nodeSize*cap(r.d.nodes) + editSize*cap(r.d.edits)
	if r.limits.Hold == nil || held == r.told {
		return nil
	}
	r.told = held
	return r.limits.Hold(held)
}

// inTurn calls rename for an item or a document of n bytes. If it is large, inTurn waits for limits.Turn first.
func (r *Reader) inTurn(n int, rename func()) error {
	if n <= large {
		rename()
		clear(r.d.edits) // Their new values may be long.
		return nil
	}
	if r.limits.Turn != nil {
		done, err := r.limits.Turn(n)
		if err != nil {
			return err
		}
		defer done()
	}
	rename()
	r.d = doc{r: r.d.r, direction: ToClient}
	return nil
}

// errPause interrupts the decoder: the Reader still has output that its caller has not read.
var errPause = errors.New("paused")

type feed struct{ *Reader }

// Read implements io.Reader for the decoder. It returns errPause if there is output and no input is left.
func (f feed) Read(p []byte) (int, error) {
	if len(f.left) == 0 && len(f.out) > 0 {
		return 0, errPause
	}
	if err := f.fill(); err != nil {
		return 0, err
	}
	n := copy(p, f.left)
	f.left = f.left[n:]
	f.fed += int64(n)
	unread := int(f.fed - f.decoder.InputOffset())
	if f.most = max(f.most, unread); unread > f.largest+piece {
		f.left, f.ended = nil, fmt.Errorf("a value of more than %d bytes: %w", f.largest, ErrTooLarge)
	}
	if err := f.hold(); err != nil {
		f.ended = err
		return 0, err
	}
	return n, nil
}

// fill reads from the source if no input is left. It returns the error with which the source ended.
func (r *Reader) fill() error {
	if len(r.left) > 0 {
		return nil
	}
	if r.ended != nil {
		return r.ended
	}
	if r.filled && len(r.buffer) < piece {
		r.buffer = make([]byte, 2*len(r.buffer))
	}
	n, err := r.source.Read(r.buffer)
	r.left, r.ended, r.filled = r.buffer[:n], err, n == len(r.buffer)
	if n == 0 {
		return err
	}
	return nil
}

// restart replaces the decoder, which frees its memory. The next decoder reads first the text in parameter before, and
// then the input.
func (r *Reader) restart(before []byte) {
	r.left = slices.Concat(before, r.unread(), r.left)
	r.decoder, r.fed, r.spaced, r.most = jsontext.NewDecoder(feed{r}, anyJSON...), 0, 0, 0
}

// unread returns the input that the decoder has read but not returned, without whitespace that is already in the output.
func (r *Reader) unread() []byte {
	if r.decoder == nil {
		return nil
	}
	return r.decoder.UnreadBuffer()[max(0, r.spaced-r.decoder.InputOffset()):]
}

// gap returns the text between the last value and the next one, as far as it was read.
func (r *Reader) gap() []byte {
	unread := r.unread()
	return unread[:len(unread)-len(bytes.TrimLeft(unread, " \n\r\t,:"))]
}

// space copies the whitespace before the next value to the output.
func (r *Reader) space() {
	unread := r.unread()
	n := space(unread, 0)
	r.out = append(r.out, unread[:n]...)
	r.spaced = max(r.spaced, r.decoder.InputOffset()) + int64(n)
}

// pass makes the next steps copy the rest of the answer to the output.
func (r *Reader) pass() error {
	r.left, r.decoder, r.most = slices.Concat(r.unread(), r.left), nil, 0
	r.d = doc{r: r.d.r, direction: ToClient}
	r.step = func() error {
		err := r.fill()
		r.out, r.left = append(r.out, r.left...), nil
		return err
	}
	return nil
}

// failed returns the error with which the answer ends. err is the decoder's error for a value that it could not read.
func (r *Reader) failed(err error) error {
	syntax := (*jsontext.SyntacticError)(nil)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the answer is incomplete: %w", io.ErrUnexpectedEOF)
	case r.ended != nil && errors.Is(err, r.ended):
		return r.ended // The decoder has only wrapped it.
	case errors.As(err, &syntax):
		return errSyntax
	}
	return err
}
