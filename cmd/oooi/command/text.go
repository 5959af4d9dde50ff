// This file writes lines that a terminal may get, whatever values from the cluster are in them.

package command

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Section writes a title if n lines follow.
func Section(w io.Writer, title string, n int) {
	if n > 0 {
		Line(w, "")
		Line(w, "%s", title)
	}
}

// Line writes one line, whatever is in the values of format.
func Line(w io.Writer, format string, values ...any) {
	fmt.Fprintln(w, Printable(fmt.Sprintf(format, values...)))
}

// Printable is s as a terminal may get it. A Lease and a condition can have anything in it, as an edge that an
// attacker controls writes Leases. What is not printable, as control and bidi characters, tabs and newlines, becomes U+FFFD.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Escaped is the same JSON with each character that is not printable as its escape. JSON permits C1 control and bidi
// characters as they are.
func Escaped(b []byte) []byte {
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
