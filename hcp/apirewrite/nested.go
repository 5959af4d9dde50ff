// This file renames in a document that stands in a string of another one.

package apirewrite

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// inner returns the document in a string of d. False: it is none.
func (d *doc) inner(text []byte) (doc, bool) {
	out := doc{r: d.r, direction: d.direction}
	err := out.read(text)
	return out, err == nil
}

// nest makes the edits of the document in the string at start..end, within its quotes. What they do not replace keeps its
// escapes.
func (d *doc) nest(start, end int, inner *doc) {
	raw := d.src[start:end]
	if !utf8.Valid(raw) { // It is not of the same length without escapes.
		if len(inner.edits) > 0 {
			d.edits = append(d.edits, edit{start, end, quoted(string(inner.write(nil)))})
		}
		return
	}
	at, read := 0, 0 // in raw, and in the inner document
	place := func(to int) int {
		for read < to && at < len(raw) {
			n, m := character(raw[at:])
			at, read = at+n, read+m
		}
		return start + at
	}
	slices.SortStableFunc(inner.edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	for _, e := range inner.edits {
		if e.start >= read {
			from := place(e.start)
			d.edits = append(d.edits, edit{from, place(e.end), quoted(e.with)})
		}
	}
}

// character returns how many bytes the character or the escape at the beginning of raw has, and how many without the escape.
func character(raw []byte) (escaped, plain int) {
	if raw[0] != '\\' {
		return 1, 1
	}
	first, ok := codeUnit(raw)
	if !ok {
		return 2, 1
	}
	if second, ok := codeUnit(raw[6:]); ok {
		if c := utf16.DecodeRune(first, second); c != utf8.RuneError {
			return 12, utf8.RuneLen(c)
		}
	}
	if utf16.IsSurrogate(first) {
		first = utf8.RuneError
	}
	return 6, utf8.RuneLen(first)
}

// codeUnit returns what an escape such as \u003c stands for.
func codeUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}
