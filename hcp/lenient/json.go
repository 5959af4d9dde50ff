// This file reads single values of a JSON text without decoding the rest of it.

package lenient

import (
	"bytes"
	"encoding/json"
)

// members calls do with each member of the JSON object b. b must be valid JSON.
func members(b []byte, do func(name, value []byte)) {
	for i := next(b, 1); i < len(b) && b[i] == '"'; i = next(b, i) {
		nameEnd := end(b, i)
		name := textOf(b[i:nameEnd])
		start := next(b, nameEnd)
		i = end(b, start)
		do(name, b[start:i])
	}
}

// elements calls do with each element of the JSON array b. b must be valid JSON.
func elements(b []byte, do func(value []byte)) {
	for i := next(b, 1); i < len(b) && b[i] != ']'; i = next(b, i) {
		start := i
		i = end(b, start)
		do(b[start:i])
	}
}

// separates reports whether c is a space or a separator of values.
func separates(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ':'
}

// next returns the index of the first byte at or after i that is neither a space nor a separator.
func next(b []byte, i int) int {
	for i < len(b) && separates(b[i]) {
		i++
	}
	return i
}

// end returns the index after the value that begins at i.
func end(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i = endOfString(b, i)
		case c == '{' || c == '[':
			depth++
			i++
			continue
		case c == '}' || c == ']':
			depth--
			i++
		case separates(c):
			i++
			continue
		default:
			for i++; i < len(b) && !separates(b[i]) && b[i] != ']' && b[i] != '}'; i++ {
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return i
}

// endOfString returns the index after the string that begins at i.
func endOfString(b []byte, i int) int {
	for at := i + 1; at < len(b); {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return len(b)
		}
		at += n + 1
		escapes := 0
		for at-2-escapes > i && b[at-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
	return len(b)
}

// textOf returns the value of the JSON string quoted.
func textOf(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && len(quoted) >= 2 {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return nil
	}
	return []byte(text)
}
