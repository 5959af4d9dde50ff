// This file renames answers while they are read: a list one item at a time, a watch one event at a time, and anything else
// as one document. It holds one item, whatever the size of the list.

package apirewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// Largest is the default of the largest item or document, in bytes.
	Largest = 64 << 20
	// LargestPossible is the largest limit that can be set. It keeps what is known of each value small.
	LargestPossible = 512 << 20
)

// ErrTooLarge is the error of an item or a document beyond the limit.
var ErrTooLarge = errors.New("too large")

const (
	// piece is how much is read, and written, at once, in bytes.
	piece = 64 << 10
	// firstPiece is how much is read first. It grows to piece if there is more.
	firstPiece = 4 << 10
	// large is the size of an item from which it needs a turn to be parsed, and from which its memory is not kept for the next one.
	large = 4 * piece
)

// A Reader renames what it reads from an answer of the API server. Use Answer.
type Reader struct {
	d       doc
	source  io.Reader
	target  Target
	largest int
	hidden  [][]byte // names that are hidden in this answer
	limits  Limits
	told    int // to limits.Hold

	buffer []byte
	in     []byte // read and not consumed: a part of buffer
	filled bool   // the last read filled buffer
	ended  error  // what the source ended with
	out    []byte // to be read
	given  int    // of out
	err    error  // after out
	step   func() error

	find    finder
	item    scanner
	scanned int    // of in, by item
	parsed  bool   // d has what was scanned
	kind    Kind   // of items
	version []byte // the list's apiVersion with quotes
	before  []byte // renamed, and not to be read before an item is: the first may be too large
	gap     []byte // between the last item and the next
	written int    // items or events
}

// Answer renames the answer to a request for target, which is in the client's words. largest is the limit for one item in
// bytes. An answer that is cut off ends with an error and never with io.EOF. What is not JSON is read as it is.
func (r *Rules) Answer(source io.Reader, target Target, largest int) *Reader {
	out := &Reader{d: doc{r: r, direction: ToClient}, source: source, target: target, largest: min(largest, LargestPossible), buffer: make([]byte, firstPiece)}
	for o := range r.hidden {
		if o.Group == target.Group && o.Resource == target.Resource {
			out.hidden = append(out.hidden, []byte(o.Name))
		}
	}
	out.step = out.begin
	if target.Watch {
		out.step = out.event
	}
	return out
}

// Read reads what is renamed so far, and waits only if there is nothing.
func (r *Reader) Read(p []byte) (int, error) {
	if err := r.Prime(); err != nil {
		return 0, err
	}
	n := copy(p, r.out[r.given:])
	r.given += n
	return n, nil
}

// Prime waits until something can be read, and returns the error if nothing can. So a server knows of an error before it
// writes the status.
func (r *Reader) Prime() error {
	if r.given == len(r.out) {
		if cap(r.out) > large {
			r.out = nil
		}
		r.out, r.given = r.out[:0], 0
	}
	for len(r.out) == 0 && r.err == nil {
		r.err = r.step()
		if err := r.hold(); err != nil {
			r.out, r.given, r.err = nil, 0, err
		}
	}
	if r.given < len(r.out) {
		return nil
	}
	return r.err
}

// more reads on. It returns the source's error once there is nothing more.
func (r *Reader) more() error {
	if r.ended != nil {
		return r.ended
	}
	if len(r.buffer) > large && len(r.in) < piece {
		r.buffer = make([]byte, piece)
	}
	used := copy(r.buffer, r.in)
	if free := len(r.buffer) - used; free < len(r.buffer)/4 || r.filled && len(r.buffer) < piece {
		r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		if err := r.hold(); err != nil {
			return err
		}
	}
	n, err := r.source.Read(r.buffer[used:])
	r.in, r.ended, r.filled = r.buffer[:used+n], err, used+n == len(r.buffer)
	if n == 0 && err != nil {
		return err
	}
	return nil
}

// cut is the error of an answer that ended within a value.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("the answer is incomplete: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// take consumes n bytes.
func (r *Reader) take(n int) { r.in = r.in[n:] }

// pass passes on n bytes as they are.
func (r *Reader) pass(n int) {
	r.out = append(r.out, r.in[:n]...)
	r.take(n)
}

// passing passes the rest on as it is.
func (r *Reader) passing() error {
	if len(r.in) == 0 {
		if err := r.more(); err != nil {
			return err
		}
	}
	r.pass(len(r.in))
	return nil
}

// begin finds out whether the answer is an object, and a list.
func (r *Reader) begin() error {
	start := space(r.in, 0)
	for ; start == len(r.in); start = space(r.in, 0) {
		if start > r.largest {
			return fmt.Errorf("whitespace of more than %d bytes: %w", r.largest, ErrTooLarge)
		}
		if err := r.more(); err != nil {
			r.pass(len(r.in))
			return err
		}
	}
	if r.in[start] != '{' {
		r.step = r.passing
		return nil
	}
	for {
		array, done := r.find.find(r.in)
		switch {
		case r.find.at > r.largest:
			return fmt.Errorf("document of more than %d bytes: %w", r.largest, ErrTooLarge)
		case done:
			return r.inTurn(r.find.at, func() error { r.whole(r.find.at); return nil })
		case array:
			err := r.inTurn(r.find.at, func() error { r.find.passed = !r.head(r.find.at); return nil })
			if err == nil && r.find.passed {
				continue
			}
			r.step = r.list
			return err
		}
		if err := r.more(); err != nil {
			return cut(err)
		}
	}
}

// whole renames one document of n bytes. What is not JSON is not changed.
func (r *Reader) whole(n int) {
	if err := r.rename(r.in[:n], func() { r.d.special(0, r.target.kind()) }); err != nil {
		r.out = append(r.out, r.in[:n]...)
	}
	r.take(n)
	r.step = r.passing
}

// rename appends a document to what is read. special renames in it what no shape covers.
func (r *Reader) rename(text []byte, special func()) error {
	if !r.d.r.mayRename(text) && !(r.target.kind().namesOthers() && bytes.Contains(text, []byte(`"cells"`))) {
		r.out = append(r.out, text...)
		return nil
	}
	if err := r.parse(text); err != nil {
		return err
	}
	r.d.value(0, plainRole)
	special()
	r.out = r.d.write(r.out)
	return nil
}

// head renames what is before the items of a list. It reports whether the list can be renamed item by item: if not, it is
// one document.
func (r *Reader) head(n int) bool {
	d := doc{r: r.d.r, direction: ToClient}
	if d.read(append(bytes.Clone(r.in[:n]), "]}"...)) != nil {
		return false
	}
	version, kind := d.member(0, "apiVersion"), d.member(0, "kind")
	if version == 0 {
		return false
	}
	r.version = d.src[d.nodes[version].start:d.nodes[version].end]
	r.kind = r.target.kind()
	list := string(d.text(kind))
	switch {
	case r.find.name == "rows" && list == "Table":
	case r.find.name == "items" && kind == 0: // It follows.
	case r.find.name == "items" && list == "PartialObjectMetadataList":
	case r.find.name == "items" && strings.HasSuffix(list, "List"):
		r.kind = itemKind(d.kindOf(0, Kind{}))
	default:
		return false
	}
	d.value(0, plainRole)
	renamed := d.write(nil)
	r.before = renamed[:len(renamed)-2]
	r.take(n)
	return true
}

// list renames items until there is something to be read and the next item is not complete.
func (r *Reader) list() error {
	for len(r.out) < piece {
		if r.scanned == 0 {
			n := 0
			for n < len(r.in) && (r.in[n] == ',' || r.in[n] <= ' ') {
				n++
			}
			r.gap = append(r.gap, r.in[:n]...)
			r.take(n)
			if len(r.gap) > r.largest {
				return fmt.Errorf("more than %d bytes before item %d of the list: %w", r.largest, r.written, ErrTooLarge)
			}
			if len(r.in) > 0 && r.in[0] == ']' {
				r.out = append(append(r.out, r.before...), bytes.Trim(r.gap, ",")...)
				r.pass(1)
				r.item, r.step = scanner{depth: 1, begun: true}, r.tail
				return nil
			}
		}
		done := r.complete()
		switch {
		case r.scanned > r.largest:
			return fmt.Errorf("item %d of the list has more than %d bytes: %w", r.written, r.largest, ErrTooLarge)
		case done && r.scanned == 0:
			return fmt.Errorf("item %d of the list: %w", r.written, errSyntax)
		case done:
			if err := r.inTurn(r.scanned, func() error { return r.one(r.in[:r.scanned]) }); err != nil {
				return fmt.Errorf("item %d of the list: %w", r.written, err)
			}
			r.take(r.scanned)
			r.item, r.scanned, r.parsed, r.gap = scanner{}, 0, false, r.gap[:0]
			continue
		case len(r.out) > 0:
			return nil
		}
		if err := r.more(); err != nil {
			return cut(err)
		}
	}
	return nil
}

// complete reports whether all of the value that is next has been read. One that came as a whole, as most do, is parsed at
// once. What cannot be parsed is scanned.
func (r *Reader) complete() bool {
	if r.scanned == 0 && len(r.in) > 0 && len(r.in) <= large && r.in[0] == '{' {
		if end, err := r.d.first(r.in); err == nil {
			r.scanned, r.parsed = end, true
			return true
		}
	}
	n, done := r.item.scan(r.in[r.scanned:])
	r.scanned += n
	return done
}

// parse parses an item or a document, unless d has it.
func (r *Reader) parse(text []byte) error {
	if r.parsed {
		return nil
	}
	return r.d.read(text)
}

// one writes an item, unless it is hidden.
func (r *Reader) one(text []byte) error {
	if r.hides(text) {
		return nil
	}
	if r.written == 0 {
		r.gap = bytes.ReplaceAll(r.gap, []byte{','}, nil)
	}
	r.out = append(append(r.out, r.before...), r.gap...)
	r.before = nil
	r.written++
	if r.find.name != "rows" {
		return r.rename(text, func() { r.d.special(0, r.kind) })
	}
	if err := r.parse(text); err != nil {
		return err
	}
	r.d.value(0, plainRole)
	r.d.row(0, r.kind)
	r.out = r.d.write(r.out)
	return nil
}

// hides reports whether an item, a row or an event is of a hidden object.
func (r *Reader) hides(text []byte) bool {
	if !slices.ContainsFunc(r.hidden, func(name []byte) bool { return bytes.Contains(text, name) }) || r.parse(text) != nil {
		return false
	}
	return r.d.hidden(0, r.target.Group, r.target.Resource)
}

// tail renames what is after the items of a list, which may be its kind.
func (r *Reader) tail() error {
	for {
		n, done := r.item.scan(r.in[r.scanned:])
		if r.scanned += n; r.scanned > r.largest {
			return fmt.Errorf("content after the items has more than %d bytes: %w", r.largest, ErrTooLarge)
		}
		if done {
			break
		}
		if err := r.more(); err != nil {
			return cut(err)
		}
	}
	return r.inTurn(r.scanned, r.end)
}

// end renames what is after the items, once it is complete.
func (r *Reader) end() error {
	before := append([]byte(`{"apiVersion":`), r.version...)
	d := doc{r: r.d.r, direction: ToClient}
	if err := d.read(append(before, r.in[:r.scanned]...)); err != nil {
		return fmt.Errorf("content after the items: %w", err)
	}
	d.value(0, plainRole)
	d.edits = slices.DeleteFunc(d.edits, func(e edit) bool { return e.start < len(before) })
	d.edits = append(d.edits, edit{0, len(before), ""})
	r.out = d.write(r.out)
	r.take(r.scanned)
	r.step = r.passing
	return nil
}
