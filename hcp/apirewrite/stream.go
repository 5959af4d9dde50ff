// This file renames answers of the API server while they are read: a list item by item, a watch event by event, and anything
// else as one document. Of a list, it holds only one item in memory.

package apirewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// Largest is the default limit of an item or a document, in bytes.
	Largest = 64 << 20
	// LargestPossible is the largest limit that can be set, in bytes. Positions in a document must fit in an int32.
	LargestPossible = 512 << 20
)

// ErrTooLarge is wrapped by the error for an item, an event or a document that is larger than the limit.
var ErrTooLarge = errors.New("too large")

const (
	// piece is the size of a read from the source, and of the output that is collected before it is read, in bytes.
	piece = 64 << 10
	// firstPiece is the size of the first read, in bytes. Later reads grow up to piece.
	firstPiece = 4 << 10
	// large is a size in bytes. An item above it waits for limits.Turn before it is parsed, and its memory is not reused.
	large = 4 * piece
)

// A Reader returns an answer of the API server with the client's names. Method Answer of Rules creates it. The Reader works
// in steps: each step appends to the output or sets the next step.
type Reader struct {
	d       doc
	source  io.Reader
	target  Target
	largest int
	hidden  [][]byte // names of objects that are hidden in this answer
	limits  Limits
	told    int // the last argument of limits.Hold

	buffer  []byte // for reads of the source
	left    []byte // input that the decoder has not read yet
	filled  bool   // the last read filled buffer
	ended   error  // the error with which the source ended
	decoder *jsontext.Decoder
	fed     int64  // how many bytes the decoder has read
	most    int    // the largest number of bytes that the decoder has held
	spaced  int64  // position in the decoder's input after the whitespace that is in the output
	out     []byte // output
	given   int    // how much of out was read
	err     error  // returned after the caller has read all output
	step    func() error

	rows    bool   // the list is a Table
	kind    Kind   // kind of the items
	version []byte // the list's apiVersion with quotes
	before  []byte // text before the items; it is output only with the first item, which may be too large
	between []byte // text before the next item
	written int    // how many items or events are in the output
}

// Answer returns a Reader of source, the API server's answer to a request for target. target is in the client's words.
// largest limits each item, event or document, in bytes. If source is incomplete, reads end with an error other than io.EOF.
// An answer that is not JSON is not renamed.
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
	out.restart(nil)
	return out
}

// Read implements io.Reader. It waits for the source only if there is no output.
func (r *Reader) Read(p []byte) (int, error) {
	if err := r.Prime(); err != nil {
		return 0, err
	}
	n := copy(p, r.out[r.given:])
	r.given += n
	return n, nil
}

// Prime waits until there is output. If there will be none, it returns the error that Read would return. So a server can
// answer with the status code of an error.
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

// begin is the first step, unless the answer is a watch. It decides whether the answer is a list that can be renamed item by
// item. Any other answer is renamed as one document.
func (r *Reader) begin() error {
	if r.decoder.PeekKind() != '{' {
		return r.pass()
	}
	r.before = append(bytes.Clone(r.gap()), '{')
	_, err := r.decoder.ReadToken()
	for err == nil && len(r.before) <= r.largest && r.decoder.PeekKind() == '"' {
		var quoted []byte
		if quoted, err = r.copied(); err != nil {
			break
		}
		name := string(plain(quoted[1 : len(quoted)-1]))
		if r.decoder.PeekKind() == '[' && r.isList(name, slices.Concat(r.before, r.gap(), []byte("["))) {
			r.step = r.list
			_, err = r.decoder.ReadToken()
			return err
		}
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "columnDefinitions"}, name) {
			break // No list has this member before its items.
		}
		_, err = r.copied()
	}
	r.restart(r.before)
	r.before, r.step = nil, r.whole
	return nil
}

// copied reads a member name or a value, appends it and the text before it to r.before, and returns it.
func (r *Reader) copied() ([]byte, error) {
	r.decoder.PeekKind()
	with := append(r.before, r.gap()...)
	start := len(with)
	read, err := r.decoder.ReadValue()
	if err != nil {
		return nil, err
	}
	r.before = append(with, read...)
	return r.before[start:], nil
}

// whole is the step that renames one document. Text that is not JSON does not change.
func (r *Reader) whole() error {
	r.decoder.PeekKind()
	gap := bytes.Clone(r.gap())
	text, err := r.decoder.ReadValue()
	switch err = r.failed(err); {
	case errors.Is(err, errSyntax):
		return r.pass()
	case err != nil:
		return err
	case len(text) > r.largest:
		return fmt.Errorf("document of more than %d bytes: %w", r.largest, ErrTooLarge)
	}
	r.out = append(r.out, gap...)
	if err := r.inTurn(len(text), func() { r.rename(text, func() { r.d.special(0, r.target.kind()) }) }); err != nil {
		return err
	}
	return r.pass()
}

// rename appends text, renamed, to the output. special renames in it what is particular to its kind.
func (r *Reader) rename(text []byte, special func()) {
	if !r.rows && !r.d.r.mayRename(text) && !(r.target.kind().namesOthers() && bytes.Contains(text, []byte(`"cells"`))) {
		r.out = append(r.out, text...)
		return
	}
	r.d.parse(text)
	r.d.value(0, plainRole)
	special()
	r.out = r.d.write(r.out)
}

// isList reports whether the array with this member name contains the items of a list. If so, it also sets r.before to head,
// the renamed text before the items.
func (r *Reader) isList(name string, head []byte) bool {
	if name != "items" && name != "rows" {
		return false
	}
	d := doc{r: r.d.r, direction: ToClient}
	d.parse(append(head, "]}"...))
	version, kind := d.member(0, "apiVersion"), d.member(0, "kind")
	if version == 0 {
		return false
	}
	r.kind = r.target.kind()
	list := string(d.text(kind))
	switch r.rows = name == "rows"; {
	case r.rows && list == "Table":
	case !r.rows && kind == 0: // The kind follows the items.
	case !r.rows && list == "PartialObjectMetadataList":
	case !r.rows && strings.HasSuffix(list, "List"):
		r.kind = itemKind(d.kindOf(0, Kind{}))
	default:
		r.rows = false
		return false
	}
	r.version = d.src[d.nodes[version].start:d.nodes[version].end]
	d.value(0, plainRole)
	renamed := d.write(nil)
	r.before = renamed[:len(renamed)-2]
	return true
}

// list is the step that renames items. It ends when there is output and the next item is incomplete.
func (r *Reader) list() error {
	for len(r.out) < piece {
		kind := r.decoder.PeekKind()
		r.between = append(r.between[:0], r.gap()...)
		if kind == ']' {
			_, err := r.decoder.ReadToken()
			r.out = append(append(append(r.out, r.before...), bytes.Trim(r.between, ",")...), ']')
			r.restart(append([]byte(`{"apiVersion":`), r.version...))
			r.step = r.tail
			return err
		}
		text, err := r.decoder.ReadValue()
		switch {
		case errors.Is(err, errPause):
			return nil
		case err != nil:
			return fmt.Errorf("item %d of the list: %w", r.written+1, r.failed(err))
		case len(text) > r.largest:
			return fmt.Errorf("item %d of the list has more than %d bytes: %w", r.written+1, r.largest, ErrTooLarge)
		}
		if err := r.inTurn(len(text), func() { r.one(text) }); err != nil {
			return fmt.Errorf("item %d of the list: %w", r.written+1, err)
		}
		if r.most > large {
			r.restart([]byte("[{}")) // The new decoder must have read an item, so that it expects a comma next.
			_, _ = r.decoder.ReadToken()
			_, _ = r.decoder.ReadValue()
		}
	}
	return nil
}

func (r *Reader) one(text []byte) {
	if r.hides(text) {
		return
	}
	if r.written == 0 {
		r.between = bytes.ReplaceAll(r.between, []byte{','}, nil)
	}
	r.out = append(append(r.out, r.before...), r.between...)
	r.before = nil
	r.written++
	r.rename(text, func() {
		if r.rows {
			r.d.row(0, r.kind)
		} else {
			r.d.special(0, r.kind)
		}
	})
}

// hides reports whether text is about a hidden object. text is an item, a row or an event.
func (r *Reader) hides(text []byte) bool {
	if !slices.ContainsFunc(r.hidden, func(name []byte) bool { return bytes.Contains(text, name) }) {
		return false
	}
	r.d.parse(text)
	return r.d.hidden(0, r.target.Group, r.target.Resource)
}

// tail is the step that renames the text after the items of a list. The kind may be in it. It is parsed as an object that
// begins with the apiVersion.
func (r *Reader) tail() error {
	text, err := r.decoder.ReadValue()
	before := len(`{"apiVersion":`) + len(r.version)
	switch {
	case errors.Is(err, errPause):
		return nil
	case err != nil:
		return fmt.Errorf("content after the items: %w", r.failed(err))
	case len(text)-before > r.largest:
		return fmt.Errorf("content after the items has more than %d bytes: %w", r.largest, ErrTooLarge)
	}
	err = r.inTurn(len(text), func() {
		r.d.parse(text)
		r.d.value(0, plainRole)
		r.d.edits = slices.DeleteFunc(r.d.edits, func(e edit) bool { return e.start < before })
		r.d.edits = append(r.d.edits, edit{0, before, ""})
		r.out = r.d.write(r.out)
	})
	if err != nil {
		return err
	}
	return r.pass()
}
