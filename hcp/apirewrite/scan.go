// This file finds where JSON values end in a stream, without parsing them.

package apirewrite

import "bytes"

// A scanner follows the nesting of one value over any number of pieces.
type scanner struct {
	depth             int
	inString, escaped bool
	begun             bool
}

// scan reads on in text. done reports whether the value has ended, before text[n].
func (s *scanner) scan(text []byte) (n int, done bool) {
	for i := 0; i < len(text); {
		if s.inString {
			j := s.skipString(text[i:])
			i += j
			if !s.inString && s.depth == 0 {
				return i, true
			}
			continue
		}
		switch c := text[i]; c {
		case '"':
			s.inString, s.begun = true, true
		case '{', '[':
			s.depth++
			s.begun = true
		case '}', ']':
			if s.depth == 0 {
				return i, true // The end of a number in an array.
			}
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		case ',', ' ', '\n', '\r', '\t':
			if s.depth == 0 && s.begun {
				return i, true
			}
		default:
			s.begun = true
		}
		i++
	}
	return len(text), false
}

// skipString reads to the end of a string, or of text.
func (s *scanner) skipString(text []byte) int {
	i := 0
	if s.escaped && len(text) > 0 {
		s.escaped, i = false, 1
	}
	for end := -1; i < len(text); {
		if end < i { // Otherwise the quote at end is not escaped so far.
			if end = bytes.IndexByte(text[i:], '"'); end < 0 {
				end = len(text)
			} else {
				end += i
			}
		}
		k := bytes.IndexByte(text[i:end], '\\')
		switch {
		case k >= 0 && i+k+1 >= len(text):
			s.escaped = true
			return len(text)
		case k >= 0:
			i += k + 2
		case end < len(text):
			s.inString = false
			return end + 1
		default:
			return len(text)
		}
	}
	return len(text)
}

// A finder looks for the array of a list's items among the members of the outermost object.
type finder struct {
	s          scanner
	at         int // how much of the text is read
	nameStart  int // of the last string on the first level
	name       string
	afterColon bool
	passed     bool // only the end is looked for: what is before the array makes no list, and each look costs all of it
}

// find reads on in text, which begins with the object and grows from call to call. It stops after the bracket of an array
// called items or rows, or after the object.
func (f *finder) find(text []byte) (array, done bool) {
	for f.at < len(text) {
		if f.s.inString {
			f.at += f.s.skipString(text[f.at:])
			if !f.s.inString && f.s.depth == 1 && !f.afterColon {
				f.name = string(plain(text[f.nameStart+1 : f.at-1]))
			}
			continue
		}
		c := text[f.at]
		f.at++
		switch c {
		case '"':
			f.s.inString = true
			if f.s.depth == 1 {
				f.nameStart = f.at - 1
			}
		case ':':
			f.afterColon = f.afterColon || f.s.depth == 1
		case ',':
			f.afterColon = f.afterColon && f.s.depth != 1
		case '{', '[':
			f.s.depth++
			if c == '[' && !f.passed && f.s.depth == 2 && f.afterColon && (f.name == "items" || f.name == "rows") {
				return true, false
			}
		case '}', ']':
			if f.s.depth--; f.s.depth == 0 {
				return false, true
			}
		}
	}
	return false, false
}
