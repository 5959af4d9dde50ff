// This file reads an answer for the decoder that finds where its values end, and limits what the answer holds while its
// reader waits, and what is parsed at the same time.

package apirewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits are what an answer asks before it takes more memory. A nil function: there is no limit.
type Limits struct {
	// Hold is called with how many bytes the answer holds, when that has changed. It holds them while its reader waits. An error ends the answer.
	Hold func(bytes int) error
	// Turn waits until a large item of so many bytes may be parsed, which takes many times its size. done is due after that.
	Turn func(bytes int) (done func(), err error)
}

// Limit sets the limits. Call it before the first Read or Prime.
func (r *Reader) Limit(l Limits) { r.limits = l }

// hold says what the answer holds now. The decoder has up to twice the size of a value.
func (r *Reader) hold() error {
	held := len(r.buffer) + 2*r.most + cap(r.out) + cap(r.before) + cap(r.between)
	if r.limits.Hold == nil || held == r.told {
		return nil
	}
	r.told = held
	return r.limits.Hold(held)
}

// inTurn renames an item or a document of n bytes. Only then is it parsed.
func (r *Reader) inTurn(n int, rename func()) error {
	if n <= large {
		rename()
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

// errPause says that there is something to be read before the source is waited for.
var errPause = errors.New("paused")

// A feed is what the decoder reads from.
type feed struct{ *Reader }

// Read implements io.Reader.
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

// fill waits until something is left. It returns the source's error once there is nothing more.
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

// restart continues with a new decoder, which reads the text before, and then the rest of the input. So the memory of the
// previous decoder is free.
func (r *Reader) restart(before []byte) {
	r.left = slices.Concat(before, r.unread(), r.left)
	r.decoder, r.fed, r.spaced, r.most = jsontext.NewDecoder(feed{r}, anyJSON...), 0, 0, 0
}

// unread is what the decoder has read, and has not returned. Whitespace that is passed on already is no part of it.
func (r *Reader) unread() []byte {
	if r.decoder == nil {
		return nil
	}
	return r.decoder.UnreadBuffer()[max(0, r.spaced-r.decoder.InputOffset()):]
}

// gap is the text between the last value and the next one, as far as it is read.
func (r *Reader) gap() []byte {
	unread := r.unread()
	return unread[:len(unread)-len(bytes.TrimLeft(unread, " \n\r\t,:"))]
}

// space passes on whitespace before the next value.
func (r *Reader) space() {
	unread := r.unread()
	n := space(unread, 0)
	r.out = append(r.out, unread[:n]...)
	r.spaced = max(r.spaced, r.decoder.InputOffset()) + int64(n)
}

// pass passes the rest on as it is.
func (r *Reader) pass() error {
	r.left, r.decoder, r.most = slices.Concat(r.unread(), r.left), nil, 0
	r.step = func() error {
		err := r.fill()
		r.out, r.left = append(r.out, r.left...), nil
		return err
	}
	return nil
}

// failed returns why the decoder cannot read a value.
func (r *Reader) failed(err error) error {
	syntax := (*jsontext.SyntacticError)(nil)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the answer is incomplete: %w", io.ErrUnexpectedEOF)
	case r.ended != nil && errors.Is(err, r.ended):
		return r.ended // The decoder's own error says nothing more.
	case errors.As(err, &syntax):
		return errSyntax
	}
	return err
}
