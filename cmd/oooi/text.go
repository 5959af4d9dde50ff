// This file writes lines that a terminal may get, whatever values from the cluster are in them.

package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// section writes a title if n lines follow.
func section(w io.Writer, title string, n int) {
	if n > 0 {
		line(w, "")
		line(w, "%s", title)
	}
}

// line writes one line, whatever is in the values of format.
func line(w io.Writer, format string, values ...any) {
	fmt.Fprintln(w, printable(fmt.Sprintf(format, values...)))
}

// printable is s as a terminal may get it. A Lease and a condition can have anything in it, as an edge that an
// attacker controls writes Leases. What is not printable, as control and bidi characters, tabs and newlines, becomes U+FFFD.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// escaped is the same JSON with each character that is not printable as its escape. JSON permits C1 control and bidi
// characters as they are.
func escaped(b []byte) []byte {
	var out []byte
	for _, r := range string(b) {
		switch {
		case unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		default:
			for _, half := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, half)
			}
		}
	}
	return out
}
